"""Measure names: one canonical spelling that prints, parses back, and is the only id stored."""

from __future__ import annotations

import difflib
import re
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, NoReturn, get_args

from evalnb.errors import BadInputError, UnknownMeasureError
from evalnb.limits import GRADE_RANGE
from evalnb.search.kinds import KINDS, Kind

Dcg = Literal["log2", "exp-log2"]

# What trec_eval prints for `ndcg_cut` and `map_cut` when no cutoffs are given.
TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Family:
    """What one measure can be asked with, and what its values are."""

    cutoff: bool = False
    tokens: bool = False
    rel: bool = False
    dcg: bool = False
    ranked: bool = False
    higher_is_better: bool = True
    binary: bool = False
    informational: bool = False


_RANKED = Family(cutoff=True, rel=True, ranked=True)

FAMILIES: dict[str, Family] = {
    "nDCG": Family(cutoff=True, dcg=True, ranked=True),
    "RR": _RANKED,
    "R": replace(_RANKED, tokens=True),
    "P": _RANKED,
    "AP": _RANKED,
    "Success": replace(_RANKED, tokens=True, binary=True),
    "Judged": Family(cutoff=True, ranked=True),
    "Rprec": Family(rel=True, ranked=True),
    "Bpref": Family(rel=True, ranked=True),
    "SpanCompleteness": Family(tokens=True),
    "LocatorValidity": Family(),
    "ForbiddenLeakage": Family(higher_is_better=False),
    "ForbiddenCandidates": Family(higher_is_better=False, informational=True),
    "PathP": Family(),
    "PathR": Family(),
    "EdgeP": Family(),
    "ReferenceResolution": Family(),
}

# Spellings of other tools, without underscores and case.
_ALIASES = {
    "ndcgcut": "nDCG",
    "mrr": "RR",
    "reciprank": "RR",
    "reciprocalrank": "RR",
    "recall": "R",
    "precision": "P",
    "map": "AP",
    "mapcut": "AP",
    "averageprecision": "AP",
    "hit": "Success",
    "hits": "Success",
    "hitrate": "Success",
} | {name.lower(): name for name in FAMILIES}

_TREC_SETS = frozenset({"official", "all_trec", "all_prefs", "qrels_jg", "set"})
_DCGS: dict[str, Dcg] = {
    "log2": "log2",
    "linear": "log2",
    "exp-log2": "exp-log2",
    "exp": "exp-log2",
}

_GRAMMAR = re.compile(
    r"(?:(?P<kind>[A-Za-z]+):)?"
    r"(?P<base>[A-Za-z]+(?:_[A-Za-z]+)*)"
    r"(?:\((?P<arguments>[^()]*)\))?"
    r"(?:[@_.](?:tokens=(?P<tokens>[0-9]{1,9})|(?P<cutoffs>[0-9]{1,9}(?:,[0-9]{1,9})*)))?"
)
# Between names: a comma that no cutoff follows, or blanks; never inside parentheses.
_BETWEEN = re.compile(r"\s*,(?![0-9])\s*(?![^()]*\))|\s+(?![^()]*\))")


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its parameters; ``str()`` is its canonical name.

    Attributes
    ----------
    name
        A key of :data:`FAMILIES`.
    rel
        The relevance level: the lowest grade that counts as relevant.
    dcg
        ``log2`` is linear gain; ``exp-log2`` gains 2^grade - 1.
    k
        The cutoff, in ranks.
    tokens
        The context budget that replaces a cutoff.
    kind
        The kind asked for by a prefix; otherwise the data set decides.

    Examples
    --------
    >>> str(Measure("nDCG", dcg="exp-log2", k=10))
    "nDCG(dcg='exp-log2')@10"
    """

    name: str
    _: KW_ONLY
    rel: int = 1
    dcg: Dcg = "log2"
    k: int | None = None
    tokens: int | None = None
    kind: Kind | None = None

    def __str__(self) -> str:
        """Print the one spelling that is stored."""
        prefix = f"{self.kind}:" if self.kind else ""
        argument = f"(rel={self.rel})" if self.rel != 1 else ""
        if self.dcg != "log2":
            argument = f"(dcg='{self.dcg}')"
        cut = f"@{self.k}" if self.k else f"@tokens={self.tokens}" if self.tokens else ""
        return f"{prefix}{self.name}{argument}{cut}"

    @property
    def family(self) -> Family:
        """What this measure can be asked with, and what its values are."""
        return FAMILIES[self.name]

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger value is a better one."""
        return self.family.higher_is_better

    @property
    def bounded(self) -> bool:
        """Whether every value lies in [0, 1]."""
        return True

    @property
    def binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return self.family.binary

    @property
    def ranked(self) -> bool:
        """Whether it reads a ranking of ids of one kind."""
        return self.family.ranked

    @property
    def informational(self) -> bool:
        """Whether it is shown apart, where no gate sees it."""
        return self.family.informational

    def at_level(self, rel: int) -> Measure:
        """Return the measure at a relevance level, unless it has one of its own or takes none."""
        if not self.family.rel or self.rel != 1:
            return self
        return replace(self, rel=_check_level(rel, str(self)))


def parse_measure(text: str) -> Measure:
    """Read one measure, in its canonical spelling or in that of another tool.

    Raises
    ------
    UnknownMeasureError
        If no measure has this name, with the near ones.
    BadInputError
        If the measure does not take what is asked of it, or the text names several.

    Examples
    --------
    >>> [str(parse_measure(name)) for name in ("ndcg_cut.10", "mrr@10", "hit@5", "map", "file:P_5")]
    ['nDCG@10', 'RR@10', 'Success@5', 'AP', 'file:P@5']
    """
    measures = parse_measures(text)
    if len(measures) != 1:
        raise BadInputError(
            f"{text!r} names {len(measures)} measures where one is expected",
            remedy=f"give one of them: {', '.join(map(str, measures[:3]))}" if measures else None,
        )
    return measures[0]


def parse_measures(*texts: str) -> tuple[Measure, ...]:
    """Read the measures that one or several texts name, each once, in order.

    A text may hold several names separated by commas or blanks, and, as trec_eval has it, several
    cutoffs of one name.

    Raises
    ------
    UnknownMeasureError
        If no measure has one of the names, with the near ones.
    BadInputError
        If a measure does not take what is asked of it.

    Examples
    --------
    >>> [str(measure) for measure in parse_measures("ndcg_cut.5,10", "AP RR@10")]
    ['nDCG@5', 'nDCG@10', 'AP', 'RR@10']
    """
    if others := [text for text in texts if not isinstance(text, str)]:
        raise BadInputError(f"a measure is named by a text such as nDCG@10, not {others[0]!r}")
    tight = (re.sub(r"\s*([@(=])\s*", r"\1", text.strip()) for text in texts)
    names = [name for text in tight for name in _BETWEEN.split(text)]
    return tuple(dict.fromkeys(measure for name in names for measure in _parse_name(name)))


def _parse_name(text: str) -> list[Measure]:
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        _refuse_unknown(text)
    base, cutoffs = match["base"], match["cutoffs"]
    name = _ALIASES.get(base.replace("_", "").lower())
    if name is None:
        _refuse_unknown(text)
    measure = Measure(name, kind=_parse_kind(match["kind"], text, name))
    measure = _with_arguments(measure, match["arguments"], text)
    if match["tokens"] is not None:
        return [replace(measure, tokens=_check_cut(match["tokens"], measure, text, tokens=True))]
    if cutoffs is not None:
        cuts = [_check_cut(cut, measure, text) for cut in cutoffs.split(",")]
        return [replace(measure, k=cut) for cut in cuts]
    if base.lower().endswith("_cut"):
        return [replace(measure, k=cut) for cut in TREC_CUTOFFS]
    return [measure]


def _parse_kind(text: str | None, where: str, name: str) -> Kind | None:
    if text is None:
        return None
    if not FAMILIES[name].ranked:
        raise BadInputError(f"{name} reads no ranking, so {where!r} cannot ask for a kind")
    for kind in get_args(Kind):
        if kind == text.lower():
            return kind  # type: ignore[no-any-return]  # get_args loses the Literal
    raise BadInputError(
        f"{text!r} in {where!r} is no kind of id", remedy=f"kinds: {', '.join(KINDS)}"
    )


def _with_arguments(measure: Measure, arguments: str | None, where: str) -> Measure:
    for argument in (arguments or "").split(","):
        if not argument.strip():
            continue
        key, _, value = (part.strip().strip("'\"") for part in argument.partition("="))
        family = measure.family
        if key == "rel" and family.rel and re.fullmatch(r"[0-9]{1,9}", value):
            measure = replace(measure, rel=_check_level(int(value), where))
        elif key in {"dcg", "gain"} and family.dcg and value in _DCGS:
            measure = replace(measure, dcg=_DCGS[value])
        elif key == "rel" and family.dcg:
            raise BadInputError(
                f"nDCG reads the grades themselves, so no relevance level touches it: {where!r}",
                remedy="leave rel out",
            )
        else:
            takes = ["rel=N"] * family.rel + ["dcg='exp-log2'"] * family.dcg
            raise BadInputError(
                f"{measure.name} does not take {argument.strip()!r} in {where!r}",
                remedy=f"it takes {', '.join(takes) or 'no arguments'}",
            )
    return measure


def _check_level(rel: int, where: str) -> int:
    if not 1 <= rel <= GRADE_RANGE:
        raise BadInputError(
            f"the relevance level of {where!r} must be 1 to {GRADE_RANGE}, is {rel}"
        )
    return rel


def _check_cut(text: str, measure: Measure, where: str, *, tokens: bool = False) -> int:
    if tokens and not measure.family.tokens:
        takers = [name for name, family in FAMILIES.items() if family.tokens]
        raise BadInputError(
            f"{measure.name} has no token budget: {where!r}",
            remedy=f"measures that have one: {', '.join(takers)}",
        )
    if not tokens and not measure.family.cutoff:
        raise BadInputError(f"{measure.name} takes no cutoff: {where!r}")
    if int(text) < 1:
        raise BadInputError(f"the cutoff of {where!r} must be at least 1")
    return int(text)


def _refuse_unknown(text: str) -> NoReturn:
    base = re.split(r"[@(.:]|_(?=[0-9])", text.rpartition(":")[2].strip())[0]
    if base.lower() in _TREC_SETS:
        raise UnknownMeasureError(
            f"{text!r} is a set of trec_eval's, not a measure",
            remedy="name the measures, such as -m AP -m nDCG@10 -m P@5 -m RR",
        )
    near = difflib.get_close_matches(base.replace("_", "").lower(), _ALIASES, n=3, cutoff=0.5)
    names = dict.fromkeys(_ALIASES[alias] for alias in near)
    label = "near names" if names else "measures"
    listed = names or [name for name, family in FAMILIES.items() if not family.informational]
    raise UnknownMeasureError(
        f"no measure is called {text!r}", remedy=f"{label}: {', '.join(listed)}"
    )
