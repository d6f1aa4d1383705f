"""A process that runs notebooks for this one: watched, limited, and ended with all it started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from evalnb.errors import NotebookError
from evalnb.show.text import one_line

_START_S = 90.0  # for imports and the kernel on a busy machine; papermill itself gives it 60
_GRACE_S = 3.0  # between asking a process to end and ending it
_LOOK_S = 0.5  # how often the kernel's processes are listed while it runs
_RUNNING = b'"status": "running"'
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Kernel|Interrupt)\b.*")

Ended = tuple[int | None, str]
"""An exit status, None if the time was up, and the exception that a job ended with."""


class NotebookRunner:
    """Runs one notebook at a time; the second one finds everything loaded."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> NotebookRunner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; a job that runs in it ends too."""
        process, home = self._process, self._home
        self._process = self._home = None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        if home is not None:
            home.cleanup()

    def run(self, job: Mapping[str, Any], timeout_s: float) -> Ended:
        """Run a job to its end or its time, of which loading and the kernel's start are no part.

        Raises
        ------
        NotebookError
            If there is no place for temporary files.
        """
        process, home = self._started()
        complaints = Path(home) / "complaints"
        family: dict[int, Any] = {}
        status: int | None = None
        reusable = False
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps({**job, "complaints": str(complaints)}).encode() + b"\n")
            if started := _said(process, _START_S):
                output = job.get("output")
                status = _watch(process, int(started), family, output=output, timeout_s=timeout_s)
                reusable = status is not None
        except (BrokenPipeError, EOFError):
            status = 1
        finally:
            _end(family, gently=status is None)
            lines = complaints.read_text("utf-8", "replace").splitlines()
            if not reusable:
                self.close()
        raised = [line for line in lines if _EXCEPTION.fullmatch(line)]
        said = (raised or [line for line in lines if line.strip()] or [""])[-1]
        return status, one_line(said, 300)

    def _started(self) -> tuple[subprocess.Popen[bytes], str]:
        if self._process is not None and self._home is not None:
            return self._process, self._home.name
        try:
            tempfile.gettempdir()
        except OSError as error:
            raise NotebookError(
                f"a kernel needs a folder for its temporary files: {error.strerror}",
                remedy="free some space, or set TMPDIR to a folder that can be written",
            ) from None
        self._home = tempfile.TemporaryDirectory(prefix="evalnb-jupyter-")
        with (Path(self._home.name) / "complaints").open("wb") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "evalnb.show.kernel_run"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=_environment(self._home.name),
                start_new_session=True,  # Ctrl-C reaches us alone, and we end the child
                bufsize=0,
            )
        return self._process, self._home.name


def _said(process: subprocess.Popen[bytes], seconds: float) -> str | None:
    """Return the next line that a process says; None if none comes in time."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], max(0.0, seconds))
    if not ready:
        return None
    line = process.stdout.readline()
    if not line:
        raise EOFError
    return line.decode()


def _watch(
    process: subprocess.Popen[bytes],
    child: int,
    family: dict[int, Any],
    *,
    output: str | None,
    timeout_s: float,
) -> int | None:
    """Wait for the end of a job; None if its time was up first."""
    import psutil

    deadline, started = time.monotonic() + _START_S, output is None
    while True:
        # The kernel has a session of its own: it is known only while its parent lives.
        with contextlib.suppress(psutil.NoSuchProcess):
            job = psutil.Process(child)
            family.update({p.pid: p for p in (job, *job.children(recursive=True))})
        if output is not None and not started and _RUNNING in Path(output).read_bytes():
            deadline, started = time.monotonic() + timeout_s, True
        left = deadline - time.monotonic()
        said = _said(process, min(_LOOK_S, left))
        if said is not None:
            return int(said)
        if left <= 0:
            return None


def _environment(home: str) -> dict[str, str]:
    """Keep a user's kernels, settings and start-up files out of the run."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"JUPYTER_PATH", "JUPYTER_PREFER_ENV_PATH", "JUPYTER_CONFIG_PATH"}
    }
    own = str(Path(__file__).resolve().parents[2])
    places = [own, *filter(None, [environment.get("PYTHONPATH")])]
    return environment | {
        "PYTHONPATH": os.pathsep.join(places),
        "JUPYTER_CONFIG_DIR": f"{home}/config",
        "JUPYTER_DATA_DIR": f"{home}/data",
        "JUPYTER_RUNTIME_DIR": f"{home}/runtime",
        "IPYTHONDIR": f"{home}/ipython",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def _end(family: Mapping[int, Any], *, gently: bool) -> None:
    """End a job and everything it started, first asking, then not."""
    import psutil

    processes = list(family.values())
    if gently and processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            processes[0].terminate()  # the job: its kernel is asked by it
        psutil.wait_procs(processes[:1], timeout=_GRACE_S)
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=_GRACE_S)
