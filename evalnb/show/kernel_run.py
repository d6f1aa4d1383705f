"""The child process that runs one notebook: ``python -m evalnb.show.kernel_run < job.json``.

It is a process of its own so that a hung or dying kernel takes nobody with it. What it says about
success is not believed: :mod:`evalnb.show.notebooks` reads the saved notebook.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

LOOK_S = 1.0  # how often the child looks whether its parent still lives


def main() -> None:
    """Run the job that stands on stdin."""
    parent = os.getppid()
    job: dict[str, Any] = json.load(sys.stdin)
    threading.Thread(target=_outlive_nobody, args=(parent, job["output"]), daemon=True).start()

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


def _outlive_nobody(parent: int, output: str) -> None:
    """End with the parent: one that was killed could not end its kernel itself."""
    import psutil

    while os.getppid() == parent:
        time.sleep(LOOK_S)
    for process in psutil.Process().children(recursive=True):
        process.kill()
    Path(output).unlink(missing_ok=True)
    os._exit(1)


if __name__ == "__main__":
    main()
