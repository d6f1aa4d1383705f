"""What is evaluated: variants of systems over one split of one gold set."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from evalnb.gold.cases import Split
from evalnb.search.request import Id, Limit, Overrides, Record, Text, _as_tuple

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "R@10")
REPORTED_MEASURES = (
    "Success@1",
    "Success@3",
    "Success@5",
    "Judged@10",
    "ForbiddenLeakage",
    "LocatorValidity",
)


# Up to some thirty years: clocks and locks overflow on much more.
Seconds = Annotated[float, Field(gt=0, le=1e9)]


class Variant(Record):
    """One way to search: a system and the controls it changes; the label only names it."""

    name: Id
    label: Text | None = None
    system: Id = "workspace"
    overrides: Overrides = Overrides()


class EvaluationRequest(Record):
    """One evaluation, as ``--request-file`` carries it; the gold set is given or named.

    ``limit`` is the depth where neither the variant nor the case names one.
    """

    dataset_id: str | None = None
    version_sha: str | None = None
    split: Split = "development"
    snapshot_id: Id | None = None
    variants: Annotated[tuple[Variant, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    baseline: Id | None = None
    measures: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] | None = None
    limit: Limit | None = None
    seed: NonNegativeInt = 0
    repetitions: PositiveInt = 1
    offline: bool = False
    timeout_s: Seconds | None = None
    deadline_s: Seconds | None = None
    allow_unavailable: bool = False
    limits: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        repeated = [name for name, n in Counter(v.name for v in self.variants).items() if n > 1]
        if repeated:
            raise ValueError(f"variant name {repeated[0]!r} is used more than once")
        if self.baseline is not None and self.baseline not in {v.name for v in self.variants}:
            names = ", ".join(v.name for v in self.variants)
            raise ValueError(f"baseline {self.baseline!r} is no variant; variants: {names}")
        return self


VARIANTS_FORMAT = "evalnb-variants@1"


class SystemSpec(Record):
    """Where a variants file, or ``--system FILE.toml``, finds a system: exactly one of these."""

    workspace: Text | None = None
    callable: Text | None = None
    run: Text | None = None
    toml: Text | None = None
    version: Text | None = None
    timeout_s: Seconds | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        given = [k for k in ("workspace", "callable", "run", "toml") if getattr(self, k)]
        if len(given) != 1:
            raise ValueError(
                f"give exactly one of workspace, callable, run and toml, found {given or 'none'}"
            )
        if not self.callable and (self.version or self.timeout_s):
            raise ValueError("version and timeout_s belong to a callable")
        return self


class VariantsFile(Record):
    """The file of ``--variants``; paths in it are relative to its folder."""

    format: Literal["evalnb-variants@1"]
    systems: dict[Id, SystemSpec] = {}
    variants: Annotated[tuple[Variant, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
