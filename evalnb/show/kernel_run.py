"""The process that runs notebooks: ``python -m evalnb.show.kernel_run``, a job a line on stdin.

It loads papermill and nbconvert once and forks for each job, so that a hung or dying notebook takes
nobody with it. On stdout stand the fork's process id, then its exit status. What it says about
success is not believed: :mod:`evalnb.show.notebooks` reads the saved notebook.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

LOOK_S = 0.05  # how often it looks whether a fork has ended, and whether its own parent lives
# Optional parts of what is loaded: readers of remote files, whose threads no fork survives, and a
# grammar of addresses that takes seconds to compile. No notebook runs in this process.
UNUSED = ("pyarrow", "rfc3987_syntax")


def main() -> None:
    """Run the jobs that stand on stdin, one after the other."""
    parent = os.getppid()
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]
    import nbconvert.exporters  # noqa: F401
    import papermill  # noqa: F401

    for line in sys.stdin:
        job: dict[str, Any] = json.loads(line)
        child = os.fork()
        if not child:
            _run(job)
        print(child, flush=True)  # noqa: T201
        print(_wait(child, parent, job), flush=True)  # noqa: T201


def _run(job: dict[str, Any]) -> None:
    """Do one job in a session of its own, and end this process."""
    status = 1
    try:
        os.setsid()  # Ctrl-C reaches the parent's parent alone, and that ends this process
        nothing = os.open(os.devnull, os.O_RDWR)
        complaints = os.open(job["complaints"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for number, stream in enumerate((nothing, nothing, complaints)):
            os.dup2(stream, number)
        if "html" in job:
            from evalnb.show.export import export_html

            export_html(job["notebook"], job["html"], inputs=job["inputs"])
        else:
            _execute(job)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _execute(job: dict[str, Any]) -> None:
    import papermill

    def literally(path: str) -> str:
        # papermill formats paths with the parameters; a brace in a folder's name is only a brace.
        return path.replace("{", "{{").replace("}", "}}")

    papermill.execute_notebook(
        literally(job["notebook"]),
        literally(job["output"]),
        parameters=job["parameters"],
        kernel_name=job["kernel"],
        language="python",
        progress_bar=False,
        cwd=job["folder"],
        # Output that lags is waited for; output that is lost fails the run instead of thinning it.
        iopub_timeout=30,
        raise_on_iopub_timeout=True,
    )


def _wait(child: int, parent: int, job: dict[str, Any]) -> int:
    """Wait for a fork; end with the parent, which was killed and could not end it itself."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if os.getppid() != parent:
            _end(child)
            if "output" in job:
                Path(job["output"]).unlink(missing_ok=True)
            os._exit(1)
        time.sleep(LOOK_S)


def _end(child: int) -> None:
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        fork = psutil.Process(child)
        for process in (*fork.children(recursive=True), fork):
            process.kill()


if __name__ == "__main__":
    main()
