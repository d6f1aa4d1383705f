"""Which channels, weights and fusion do best, over replay: honest about having looked.

The best of many settings on the cases it was chosen by is too good: cross-validation over whole
families says how good it is on others, and the difference is reported as optimism.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.replay import Replay
from evalnb.errors import BadInputError, CapabilityError, NotEvaluatedError
from evalnb.measures.names import parse_measure

if TYPE_CHECKING:
    import pandas as pd

Setting = dict[str, Any]
Floats = NDArray[np.float64]
FOLDS = 5
MAX_SETTINGS = 10_000  # a minute of replays of two hundred cases


@dataclass(frozen=True, slots=True)
class Tuned:
    """The outcome of a search over settings.

    Attributes
    ----------
    best
        The setting with the best mean over all cases, as a variant's overrides.
    mean
        Its mean, by which it was chosen: too good.
    held_out
        The mean over the cases of each fold under what the other folds chose: what to expect.
    recorded
        The mean of what was run.
    chosen
        What each fold's others chose; if they disagree, the data do not decide.
    n_cases, n_families, n_left_out
        Cases that every setting could be replayed on, their families, and the others.
    tried
        (setting, mean) of all, best first.
    """

    measure: str
    best: Setting
    mean: float
    held_out: float
    recorded: float
    chosen: tuple[Setting, ...]
    n_cases: int
    n_families: int
    n_left_out: int
    tried: tuple[tuple[Setting, float], ...] = field(repr=False)

    @property
    def optimism(self) -> float:
        """How much of the gain was only the choosing."""
        return abs(self.mean - self.held_out)

    def frame(self) -> pd.DataFrame:
        """Return every setting tried with its mean, best first."""
        import json

        import pandas as pd

        rows = [(json.dumps(setting, sort_keys=True), mean) for setting, mean in self.tried]
        return pd.DataFrame(rows, columns=["setting", "mean"])


def grid(
    channels: Sequence[str],
    *,
    weights: Sequence[float] = (0.0, 0.5, 1.0, 2.0),
    rrf_k: Sequence[int] = (10, 60, 200),
    normalisations: Sequence[str] = ("min-max",),
) -> list[Setting]:
    """Return every combination of fusions and weights; those that differ by a factor once.

    Examples
    --------
    >>> len(grid(["a", "b"], weights=(0.0, 1.0, 2.0), rrf_k=(60,), normalisations=()))
    5
    """
    seen: dict[tuple[float, ...], tuple[float, ...]] = {}
    for chosen in itertools.product(weights, repeat=len(channels)):
        if top := max(chosen, default=0.0):
            seen.setdefault(tuple(weight / top for weight in chosen), chosen)
    ways: list[Setting] = [{"fusion": "rrf", "rrf_k": k} for k in rrf_k]
    ways += [{"fusion": "weighted", "normalisation": name} for name in normalisations]
    return [
        {"hints": {**way, "weights": dict(zip(channels, chosen, strict=True))}}
        for way in ways
        for chosen in seen.values()
    ]


def sample(channels: Sequence[str], *, n: int, seed: int = 0) -> list[Setting]:
    """Return random settings: k from 1 to 200 and weights on the simplex, evenly."""
    rng = np.random.default_rng(seed)
    return [
        {
            "hints": {
                "fusion": "rrf",
                "rrf_k": int(np.exp(rng.uniform(0, math.log(200)))),
                "weights": {
                    name: round(float(weight), 4)
                    for name, weight in zip(
                        channels, rng.dirichlet(np.ones(len(channels))), strict=True
                    )
                },
            }
        }
        for _ in range(n)
    ]


def tune(
    replay: Replay, settings: Sequence[Setting], *, measure: str | None = None, seed: int = 0
) -> Tuned:
    """Choose the best setting, and say how good it is on cases that did not choose it.

    Parameters
    ----------
    replay
        Of a report over the development split.
    settings
        Overrides, such as :func:`grid` makes; what was recorded, ``{}``, is tried besides.
    measure
        What is maximised; the replay's first unless given.
    seed
        Of the division into folds.

    Raises
    ------
    BadInputError
        If the report is of the test split, settings are none or too many, or the seed is none.
    CapabilityError
        If a setting fuses by score, and a channel gave none.
    NotEvaluatedError
        If fewer than two families can be replayed under every setting.
    """
    from sklearn.model_selection import GroupKFold

    if replay.report.dataset.split == "test":
        raise BadInputError(
            "settings are not tuned on the test split: its figures would mean nothing afterwards",
            remedy="evaluate the development split, tune there, and test once",
        )
    if not 0 <= seed < 2**32:
        raise BadInputError(f"the seed must lie between 0 and 2^32 - 1, is {seed}")
    if not 0 < len(settings) <= MAX_SETTINGS:
        raise BadInputError(f"{len(settings):,} settings, expected 1 to {MAX_SETTINGS:,}")
    name = str(parse_measure(measure)) if measure else str(replay.measures[0])
    if name not in map(str, replay.measures):
        raise BadInputError(
            f"the replay does not score {name}", remedy=f"Replay(..., measures=[{name!r}])"
        )
    settings = ({}, *settings)  # first, so that what only ties with the recorded does not win
    table = np.array([_values(replay, setting, name) for setting in settings])
    usable = np.isfinite(table).all(axis=0)
    families = np.array([case.family for case in replay.cases])[usable]
    n_families = len(set(families))
    if n_families < 2:
        raise NotEvaluatedError(
            f"{int(usable.sum())} of {len(usable)} cases, in {n_families} families, can be "
            "replayed under every setting; two families are needed",
            remedy="ask for fewer candidates than were kept, or evaluate again with more",
        )
    values = table[:, usable]
    folds = GroupKFold(min(FOLDS, n_families), shuffle=True, random_state=seed)
    held_out = np.empty(values.shape[1])
    chosen = []
    for others, held in folds.split(values.T, groups=families):
        best = int(values[:, others].mean(axis=1).argmax())
        held_out[held] = values[best, held]
        chosen.append(settings[best])
    means = values.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    return Tuned(
        measure=name,
        best=settings[order[0]],
        mean=float(means[order[0]]),
        held_out=float(held_out.mean()),
        recorded=float(means[0]),
        chosen=tuple(chosen),
        n_cases=int(usable.sum()),
        n_families=n_families,
        n_left_out=int((~usable).sum()),
        tried=tuple((settings[at], float(means[at])) for at in order),
    )


def _values(replay: Replay, setting: Mapping[str, Any], measure: str) -> Floats:
    try:
        return replay.run(setting).values()[measure]
    except CapabilityError as error:
        raise CapabilityError(
            error.message,
            remedy="return (id, score) from it, or try fusions by rank alone: "
            "grid(replay.channels, normalisations=())",
        ) from error


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one channel adds.

    Attributes
    ----------
    alone
        The mean of the channel by itself.
    gain_over_alone, lost_without
        What all channels give beyond this one alone, and what is lost if it is left out.
    shapley
        Its share of the whole: its average gain over all orders in which channels could be added
        (Shapley 1953). The shares sum to the mean of all channels together.
    """

    channel: str
    alone: float
    gain_over_alone: float
    lost_without: float
    shapley: float


def attribute(replay: Replay, *, measure: str | None = None) -> tuple[Contribution, ...]:
    """Say what each channel contributes to the mean of a measure, reranking left out.

    Raises
    ------
    BadInputError
        For more than ten channels: every subset is replayed.
    """
    channels = replay.recorded.channels
    if len(channels) > 10:
        raise BadInputError(f"{len(channels)} channels have {2 ** len(channels):,} subsets")
    name = str(parse_measure(measure)) if measure else str(replay.measures[0])
    worth: dict[tuple[str, ...], float] = {(): 0.0}
    for subset in _subsets(channels):
        found = replay.run({"channels": list(subset), "rerank": False})
        worth[subset] = found.means().get(name, 0.0)
    n = len(channels)
    contributions = []
    for channel in channels:
        share = 0.0
        for subset in ((), *_subsets([c for c in channels if c != channel])):
            joined = tuple(c for c in channels if c in subset or c == channel)
            weight = 1 / (n * math.comb(n - 1, len(subset)))
            share += weight * (worth[joined] - worth[subset])
        without = tuple(c for c in channels if c != channel)
        contributions.append(
            Contribution(
                channel,
                alone=worth[channel,],
                gain_over_alone=worth[channels] - worth[channel,],
                lost_without=worth[channels] - worth[without],
                shapley=share,
            )
        )
    return tuple(contributions)


def _subsets(channels: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(1, len(channels) + 1):
        yield from itertools.combinations(channels, size)
