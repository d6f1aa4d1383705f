"""What is in a gold set, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from evalnb.gold.cases import GoldCase, GoldDataset
from evalnb.search.request import Record
from evalnb.search.result import KINDS, Kind

_EVIDENCE = ("spans", "content", "paths", "references", "edges")
INDEPENDENT = "no case names a family: all are treated as independent"


class LabelCounts(Record):
    """Labels of one kind over all cases."""

    expected: int
    forbidden: int
    graded: int


class GoldStats(Record):
    """Counts of one set; a case without an intent or language is counted under ``-``.

    Attributes
    ----------
    family_sizes
        How many families have each size.
    labels
        By kind, kinds without any left out.
    evidence
        Spans, content expectations, paths, references and judged edges.
    unlabelled
        Cases that label nothing at all: every measure is undefined for them.
    """

    dataset_id: str
    name: str
    version_sha: str
    cases: int
    splits: dict[str, int]
    intents: dict[str, int]
    languages: dict[str, int]
    methods: dict[str, int]
    families: int
    family_sizes: dict[int, int]
    labels: dict[str, LabelCounts]
    evidence: dict[str, int]
    unlabelled: int
    notes: tuple[str, ...]


def gold_stats(dataset: GoldDataset) -> GoldStats:
    """Count what a set holds."""
    cases = dataset.cases
    families = Counter(case.family for case in cases)
    labels = {kind: _count_labels(cases, kind) for kind in KINDS}
    notes = dataset.notes if dataset.has_families else (*dataset.notes, INDEPENDENT)
    return GoldStats(
        dataset_id=dataset.dataset_id,
        name=dataset.name,
        version_sha=dataset.version_sha,
        cases=len(cases),
        splits=_counts(case.split for case in cases),
        intents=_counts(case.intent for case in cases),
        languages=_counts(case.language for case in cases),
        methods=_counts(
            None if case.label_provenance is None else case.label_provenance.method
            for case in cases
        ),
        families=len(families),
        family_sizes=dict(sorted(Counter(families.values()).items())),
        labels={kind: counts for kind, counts in labels.items() if any(dict(counts).values())},
        evidence={
            name: total
            for name in _EVIDENCE
            if (total := sum(len(getattr(case, name)) for case in cases))
        },
        unlabelled=sum(not is_labelled(case) for case in cases),
        notes=notes,
    )


def format_stats(stats: GoldStats) -> str:
    """Write the counts as plain text."""
    lines = [
        f"{stats.dataset_id}: {stats.name}",
        f"version    {stats.version_sha}",
        f"cases      {stats.cases}",
    ]
    for title, counts in (
        ("split", stats.splits),
        ("intent", stats.intents),
        ("language", stats.languages),
        ("labelled", stats.methods),
    ):
        lines.append(f"{title:<10} " + ", ".join(f"{name} {n}" for name, n in counts.items()))
    sizes = ", ".join(f"{n} with {size}" for size, n in stats.family_sizes.items())
    lines.append(f"families   {stats.families} ({sizes})")
    lines += (
        f"{kind:<10} {found.expected} expected, {found.forbidden} forbidden, {found.graded} graded"
        for kind, found in stats.labels.items()
    )
    lines += (f"{name:<10} {n}" for name, n in stats.evidence.items())
    if stats.unlabelled:
        lines.append(f"unlabelled {stats.unlabelled}: every measure is undefined for them")
    lines += (f"note: {note}" for note in stats.notes)
    return "\n".join(lines)


def _counts(values: Iterable[str | None]) -> dict[str, int]:
    return dict(Counter(value or "-" for value in values).most_common())


def _count_labels(cases: Sequence[GoldCase], kind: Kind) -> LabelCounts:
    expected = sum(len(case.expected.of(kind)) for case in cases)
    forbidden = sum(len(case.forbidden.of(kind)) for case in cases)
    graded = sum(len(getattr(case, f"{kind}_relevance", ())) for case in cases)
    return LabelCounts(expected=expected, forbidden=forbidden, graded=graded)


def is_labelled(case: GoldCase) -> bool:
    """Say whether anything is labelled: of a case without, every measure is undefined."""
    labels = (*_EVIDENCE, *(name for name in GoldCase.model_fields if "relevance" in name))
    return bool(
        any(ids for _, ids in (*case.expected, *case.forbidden))
        or any(getattr(case, name) for name in labels)
    )
