"""The child process that runs one notebook: ``python -m evalnb.show.kernel_run < job.json``.

It is a process of its own so that a hung or dying kernel takes nobody with it. What it says about
success is not believed: :mod:`evalnb.show.notebooks` reads the saved notebook.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Run the job that stands on stdin."""
    import papermill

    job: dict[str, Any] = json.load(sys.stdin)

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


if __name__ == "__main__":
    main()
