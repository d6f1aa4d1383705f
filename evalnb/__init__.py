"""Measure retrieval instead of guessing it.

::

    import evalnb as ev

    gold = ev.load_gold("questions.xlsx")
    report = ev.evaluate(gold, {"today": search, "bigger chunks": search_v2}, limit=10)
    print(ev.compare(report, baseline="today"))
    report.to_html("report.html")

The verbs live in :mod:`evalnb.api` and are loaded when first used, so importing the package costs
next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalnb.api import (
        Comparison,
        Report,
        compare,
        evaluate,
        fused,
        load_gold,
        load_report,
        open_workspace,
        score,
        system,
    )
    from evalnb.errors import EvalnbError
    from evalnb.gold.cases import GoldDataset
    from evalnb.limits import Limits

__all__ = [
    "Comparison",
    "EvalnbError",
    "GoldDataset",
    "Limits",
    "Report",
    "compare",
    "evaluate",
    "fused",
    "load_gold",
    "load_report",
    "open_workspace",
    "score",
    "system",
]

_HOMES = {
    "EvalnbError": "evalnb.errors",
    "GoldDataset": "evalnb.gold.cases",
    "Limits": "evalnb.limits",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home when it is first asked for."""
    from importlib import import_module

    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("evalnb")
    elif name in __all__:
        value = getattr(import_module(_HOMES.get(name, "evalnb.api")), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, "__version__"])
