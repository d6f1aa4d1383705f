"""What the figures ask for, in the order of the decision workflow: records with stable codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.comparison.ablation import Ablation, ablations, compare_pair
from evalnb.comparison.verdicts import verdict_sentence
from evalnb.evaluation.frames import scores_frame
from evalnb.evaluation.report import AnyReport, EvaluationReport, record_of
from evalnb.measures.names import parse_measure
from evalnb.wording import listed

if TYPE_CHECKING:
    import pandas as pd

QUESTIONS = {
    "EV001": "Rerank?",
    "EV002": "Fuse the legs?",
    "EV003": "Language of the keyword leg?",
    "EV004": "Is a leg missing?",
    "EV005": "Is the reranker stable?",
    "EV006": "Does anything leak?",
    "EV007": "Are the chunkings comparable?",
    "EV008": "Is the gold set large enough?",
}
FEW_CASES = 10  # the workflow asks for ten to twenty
FEW_FAMILIES = 6  # fewer cannot reach significance at .05
NEAR_ZERO = 0.10  # of a keyword leg's mean reciprocal rank
ONE_LANGUAGE = 0.9  # of all units
_COMMAND = re.compile(r"with: (evalnb [^()]+)")  # as remedies name it
CHUNK_BOUND = frozenset({"R", "AP", "nDCG", "P", "Rprec", "Bpref"})


@dataclass(frozen=True, slots=True)
class Advice:
    """One decision.

    Attributes
    ----------
    code
        A key of :data:`QUESTIONS`; it never changes its meaning.
    decision
        What to do, as a sentence.
    evidence
        The figures behind it.
    command
        What carries the decision out; empty where nothing is to be done or it is not ours to say.
    """

    code: str
    decision: str
    evidence: str
    command: str = ""

    @property
    def question(self) -> str:
        """What is decided."""
        return QUESTIONS[self.code]


def advise(report: AnyReport, scores: pd.DataFrame | None = None) -> tuple[Advice, ...]:
    """Decide what one report can decide.

    Each question is one paired test of its own at .05, by the reciprocal rank where it was
    measured: "meaningfully better" means the verdict better, nothing less.

    Parameters
    ----------
    scores
        The report's scores frame, where it is at hand.

    Returns
    -------
    tuple of Advice
        In the order of :data:`QUESTIONS`; only what the variants let somebody ask.
    """
    report = record_of(report)
    legs = _Legs(report, scores_frame(report) if scores is None else scores)
    return (*legs.pairs(), *_language(report, legs), *_warnings(report, legs))


class _Legs:
    """The variants by what they executed, and paired tests between them."""

    def __init__(self, report: EvaluationReport, scores: pd.DataFrame) -> None:
        self.report, self.scores = report, scores
        self.controls = {r.variant: r.controls for r in reversed(report.results)}
        self.systems = {variant.name: variant.system for variant in report.variants}
        self.measure = _reciprocal_rank(report)

    def pairs(self) -> Iterator[Advice]:
        """Decide what two variants decide that differ in one control."""
        found = ablations(self.report)
        for pair in found:
            if pair.control == "rerank" and pair.before is False:
                yield from self._rerank(pair)
        for pair in found:
            alone = pair.control == "channels" and len(pair.before) == 1
            if alone and pair.before[0] in pair.after and not self.controls[pair.candidate].rerank:
                yield from self._fuse(pair)

    def _rerank(self, pair: Ablation) -> Iterator[Advice]:
        if (row := self._compared(pair)) is None:
            return
        command = ""
        if row["verdict"] == "better":
            decision = f"Turn the reranker on: {pair.candidate} is better than {pair.baseline}."
            if self.is_workspace(self.systems[pair.candidate]):
                command = "evalnb config set mode hybrid_rerank --workspace DIR"
        elif row["verdict"] == "worse":
            decision = f"Leave the reranker off: {pair.candidate} is worse than {pair.baseline}."
        else:
            decision = f"Leave the reranker off: {pair.candidate} is not shown to be better."
        yield Advice("EV001", decision, verdict_sentence(row), command)

    def _fuse(self, pair: Ablation) -> Iterator[Advice]:
        if (row := self._compared(pair)) is None:
            return
        hybrid, single = pair.candidate, pair.baseline
        if row["verdict"] == "better":
            decision = f"Use {hybrid}: it is better than {single} alone."
        elif row["verdict"] == "worse":
            decision = f"Use {single} alone: {hybrid} is worse."
        else:
            decision = f"{hybrid} is not shown to be better than {single} alone."
        yield Advice("EV002", decision, verdict_sentence(row))

    def _compared(self, pair: Ablation) -> Mapping[str, Any] | None:
        row = compare_pair(
            self.scores, candidate=pair.candidate, baseline=pair.baseline, measure=self.measure
        )
        return row and row | {"note": "", "mde": None}

    def is_workspace(self, system: str) -> bool:
        return any(
            v.system == system and v.identity.get("system") == "workspace"
            for v in self.report.variants
        )

    def mean(self, name: str) -> float | None:
        rows = self.scores
        kept = rows[(rows["variant"] == name) & (rows["measure"] == self.measure)]
        kept = kept[kept["status"] == "ok"]
        return None if kept.empty else float(kept["value"].mean())


def _reciprocal_rank(report: EvaluationReport) -> str:
    """Choose the measure that decides: the first reciprocal rank, else the first compared."""
    names = (*report.compared, *report.measures)
    return next((name for name in names if parse_measure(name).name == "RR"), names[0])


def _language(report: EvaluationReport, legs: _Legs) -> Iterator[Advice]:
    for name, controls in legs.controls.items():
        system = legs.systems[name]
        census, mean = report.languages.get(system), legs.mean(name)
        if controls.channels != ("lexical",) or not census or mean is None or mean >= NEAR_ZERO:
            continue
        language, count = max(census.items(), key=lambda item: item[1])
        share, total = count / sum(census.values()), sum(census.values())
        index = controls.hints.lexical_index or ", ".join(
            known for known in _indexes(report, system) if known.startswith("lexical:")
        )
        evidence = f"{name} has a mean {legs.measure} of {mean:.3f} over {index or 'its index'}"
        if not language:
            decision = "Say which language the documents are in, ingest them again and run again."
            evidence += f"; {count:,} of {total:,} units name no language"
            language = "XX"
        elif share >= ONE_LANGUAGE and f"stem-{language}" not in index:
            decision = f"Search in {language}: ingest again with this language and run again."
            evidence += f"; {share:.0%} of {total:,} units are in {language}"
        else:
            continue
        command = f"evalnb ingest PATH --workspace DIR --language {language}"
        yield Advice("EV003", decision, evidence, command)


def _indexes(report: EvaluationReport, system: str) -> Sequence[str]:
    cut = report.cuts.get(system)
    return () if cut is None else tuple(cut.indexes)


def _warnings(report: EvaluationReport, legs: _Legs) -> Iterator[Advice]:
    yield from _missing(report)
    yield from _unstable(report, legs)
    yield from _leaks(legs.scores)
    yield from _chunkings(report)
    yield from _too_small(report)


def _missing(report: EvaluationReport) -> Iterator[Advice]:
    reasons: dict[str, str] = {}
    answered = {result.variant for result in report.results if result.result.status == "ok"}
    for result in report.results:
        if result.variant not in answered:
            reasons.setdefault(result.variant, result.result.reason or "no reason given")
    for reason in dict.fromkeys(reasons.values()):
        *others, last = (variant for variant, found in reasons.items() if found == reason)
        names = f"{', '.join(others)} and {last} need" if others else f"{last} needs"
        named = _COMMAND.search(reason)
        command = named[1].strip() if named else ""
        yield Advice("EV004", f"Provide what {names}, and run again.", reason, command)


def _unstable(report: EvaluationReport, legs: _Legs) -> Iterator[Advice]:
    if report.request.repetitions < 2:
        return
    ranked = legs.scores[legs.scores["measure"] == legs.measure]
    for name in (name for name, controls in legs.controls.items() if controls.rerank):
        by_case = ranked[ranked["variant"] == name].groupby("case_id")["value"]
        spread = by_case.max() - by_case.min()
        moved = [str(case_id) for case_id in spread.index[spread > 1e-9]]
        if moved:
            yield Advice(
                "EV005",
                f"Do not trust single runs of {name}: ask it several times, or fix its seed.",
                f"{legs.measure} changed between {report.request.repetitions} repetitions in "
                f"{len(moved)} of {len(spread)} cases: {listed(moved, most=5)}",
            )


def _leaks(scores: pd.DataFrame) -> Iterator[Advice]:
    leaked = scores[(scores["measure"] == "ForbiddenLeakage") & (scores["value"] > 0)]
    if leaked.empty:
        return
    by_variant = leaked.groupby("variant", sort=False)["case_id"].nunique()
    counts = ", ".join(f"{variant} in {n}" for variant, n in by_variant.items())
    cases = list(dict.fromkeys(leaked["case_id"]))
    yield Advice(
        "EV006",
        "Keep what is forbidden out before anything else.",
        f"cases in which forbidden ids came back: {counts} ({listed(cases, most=5)})",
    )


def _chunkings(report: EvaluationReport) -> Iterator[Advice]:
    units = {name: found for name, found in report.content_units.items() if any(found.values())}
    bound = [name for name in report.compared if parse_measure(name).name in CHUNK_BOUND]
    bound = [name for name in bound if not parse_measure(name).tokens]
    differ = len({str(sorted(found.items())) for found in units.values()}) > 1
    if differ and bound and "unit" in report.kinds:
        yield Advice(
            "EV007",
            "Compare the chunkings by RR, Success or a token budget only.",
            f"{', '.join(bound)} count units, and {', '.join(units)} are cut differently",
        )


def _too_small(report: EvaluationReport) -> Iterator[Advice]:
    families = {case.family_key or case.case_id for case in report.cases}
    if len(report.cases) < FEW_CASES or len(families) < FEW_FAMILIES:
        yield Advice(
            "EV008",
            f"Write more cases: {FEW_CASES} to 20 of different sources are a start.",
            f"{len(report.cases)} cases in {len(families)} families; "
            + (
                f"fewer than {FEW_FAMILIES} families cannot show any difference"
                if len(families) < FEW_FAMILIES
                else f"fewer than {FEW_CASES} cases show only the largest differences"
            ),
        )
