"""Progress of a long run, where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Give a callback for (done, total): a bar in terminals and notebooks, after a second.

    Elsewhere there is nobody to look, and nothing is drawn.
    """
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield None
        return
    from tqdm.auto import tqdm

    bar: Any = tqdm(unit="search", delay=1, leave=False)

    def progress(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield progress
    finally:
        bar.close()
