"""Put the ranked lists of several channels together: pure functions from candidates to candidates.

A channel's list is read in its own order; later occurrences of an id are dropped first, and ranks
are the positions 1, 2, 3 ... of what is left. Nothing else is taken for a rank. Sums are exactly
rounded (``math.fsum``), so a result does not depend on the order of the channels. Equal scores are
ordered by id, ascending.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from evalnb.errors import BadInputError, CapabilityError
from evalnb.search.request import Hints
from evalnb.search.result import Candidates

Normalisation = Literal["none", "min-max", "z-score", "max", "sum"]

RRF_K = 60  # Cormack et al. found the results flat around it
DEFAULT_CANDIDATES = 100  # what each channel is asked for, at least the limit
DEFAULT_RERANK_DEPTH = 50
DEFAULT_NORMALISATION: Normalisation = "min-max"


def fuse(channels: Mapping[str, Candidates], hints: Hints) -> Candidates:
    """Fuse as the hints say; unset ones mean RRF with k = 60, weights 1, min-max normalisation.

    Raises
    ------
    BadInputError, CapabilityError
        As :func:`reciprocal_rank_fusion` and :func:`weighted_fusion` do.
    """
    if hints.fusion == "weighted":
        return weighted_fusion(
            channels,
            weights=hints.weights,
            normalisation=hints.normalisation or DEFAULT_NORMALISATION,
        )
    return reciprocal_rank_fusion(
        channels, k=RRF_K if hints.rrf_k is None else hints.rrf_k, weights=hints.weights
    )


def reciprocal_rank_fusion(
    channels: Mapping[str, Candidates],
    *,
    k: int = RRF_K,
    weights: Mapping[str, float] | None = None,
) -> Candidates:
    """Fuse by rank: score(d) = sum over the channels that returned d of w / (k + rank of d).

    Scores are not looked at, so they may be missing.

    Parameters
    ----------
    channels
        Candidates by channel name, best first.
    k
        The larger, the less the first ranks stand out; at least 0.
    weights
        Weights by channel name, at least 0; unnamed channels weigh 1. A channel of weight 0 is left
        out whole. Names of channels that are not given have no effect.

    Returns
    -------
    Candidates
        Every id of every channel once, best first, with its fused score.

    Raises
    ------
    BadInputError
        If k or a weight is negative or not finite, or every weight is 0.

    References
    ----------
    Cormack, Clarke, Büttcher (2009): Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods. SIGIR.

    Examples
    --------
    >>> lists = {"bm25": Candidates(ids=("x", "y")), "dense": Candidates(ids=("y",))}
    >>> [round(score, 6) for score in reciprocal_rank_fusion(lists).scores]  # y: 1/62 + 1/61
    [0.032522, 0.016393]
    """
    if not (math.isfinite(k) and k >= 0):
        raise BadInputError(f"the k of reciprocal rank fusion has to be at least 0, found {k!r}")
    parts: dict[str, list[float]] = {}
    for name, weight in _weights(channels, weights).items():
        for rank, key in enumerate(distinct(channels[name]).ids, 1):
            parts.setdefault(key, []).append(weight / (k + rank))
    return _ranked({key: math.fsum(terms) for key, terms in parts.items()})


def weighted_fusion(
    channels: Mapping[str, Candidates],
    *,
    weights: Mapping[str, float] | None = None,
    normalisation: Normalisation = DEFAULT_NORMALISATION,
) -> Candidates:
    """Fuse by score: score(d) = sum over all channels of w * normalised score of d.

    A channel that did not return d adds w * min(0, the channel's lowest normalised score): what was
    not found is never better than what was found last. An empty channel adds nothing.

    Parameters
    ----------
    channels, weights
        As for :func:`reciprocal_rank_fusion`.
    normalisation
        See :func:`normalise`.

    Raises
    ------
    CapabilityError
        If a channel gives an id without a score, naming both: no number can be made up for it.
    BadInputError
        If a weight is negative or not finite, every weight is 0, or a sum leaves the floats.

    References
    ----------
    Fox, Shaw (1994): Combination of Multiple Searches. TREC-2 (CombSUM).
    Bruch, Gai, Ingber (2023): An Analysis of Fusion Functions for Hybrid Retrieval. TOIS.

    Examples
    --------
    >>> lists = {
    ...     "bm25": Candidates(ids=("x", "y", "z"), scores=(9.0, 6.0, 3.0)),
    ...     "dense": Candidates(ids=("z", "x"), scores=(0.8, 0.4)),
    ... }
    >>> fused = weighted_fusion(lists, weights={"dense": 3.0})
    >>> dict(zip(fused.ids, fused.scores))
    {'z': 3.0, 'x': 1.0, 'y': 0.5}
    """
    chosen = _weights(channels, weights)
    normalised = {name: _normalised(name, channels[name], normalisation) for name in chosen}
    absent = {name: min(0.0, *scores.values()) for name, scores in normalised.items() if scores}
    keys = {key: None for scores in normalised.values() for key in scores}
    return _ranked(
        {
            key: _sum(chosen[name] * normalised[name].get(key, low) for name, low in absent.items())
            for key in keys
        }
    )


def normalise(scores: Sequence[float], method: Normalisation) -> list[float]:
    """Bring one list's scores to a scale that other lists share.

    ========= ========================================== ==================
    method    value of s                                 a constant list
    ========= ========================================== ==================
    none      s                                          s
    min-max   (s - min) / (max - min), in 0..1           1 each
    z-score   (s - mean) / standard deviation (over n)   1 each
    max       s / max of absolute s, in -1..1            1 each
    sum       (s - min) / sum of (s - min), sums to 1    1/n each
    ========= ========================================== ==================

    A constant list, and so one of a single element, says no more than that its documents were
    found; it gets the value above instead of 0/0.

    Raises
    ------
    BadInputError
        For an unknown method or a score that is not finite.

    References
    ----------
    Montague, Aslam (2001): Relevance Score Normalization for Metasearch. CIKM.

    Examples
    --------
    >>> normalise([8.0, 4.0, 0.0], "min-max"), normalise([8.0, 4.0, 0.0], "max")
    ([1.0, 0.5, 0.0], [1.0, 0.5, 0.0])
    >>> normalise([3.0, 1.0], "z-score"), normalise([7.0], "z-score"), normalise([5.0, 5.0], "sum")
    ([1.0, -1.0], [1.0], [0.5, 0.5])
    """
    if method not in get_args(Normalisation):
        raise BadInputError(
            f"no normalisation is named {method!r}", remedy=", ".join(get_args(Normalisation))
        )
    if not all(math.isfinite(score) for score in scores):
        raise BadInputError("scores have to be finite to be normalised")
    if method == "none" or not scores:
        return list(scores)
    # Each method is unmoved by a common factor. A power of two is exact and keeps differences,
    # squares and sums of any floats from overflowing.
    exponent = math.frexp(max(map(abs, scores)))[1]
    scaled = [math.ldexp(score, -exponent) for score in scores]
    if min(scores) == max(scores):
        return [1 / len(scores) if method == "sum" else 1.0] * len(scores)
    if method == "max":
        return _divided(scaled, max(map(abs, scaled)))
    if method == "z-score":
        mean = math.fsum(scaled) / len(scaled)
        centred = [score - mean for score in scaled]
        return _divided(centred, math.sqrt(math.fsum(c * c for c in centred) / len(centred)))
    low = min(scaled)
    shifted = [score - low for score in scaled]
    return _divided(shifted, max(shifted) if method == "min-max" else math.fsum(shifted))


def distinct(candidates: Candidates) -> Candidates:
    """Keep each id at its first occurrence.

    >>> distinct(Candidates(ids=("a", "a", "b"), scores=(2.0, 1.0, 0.5))).scores
    (2.0, 0.5)
    """
    first: dict[str, int] = {}
    for position, key in enumerate(candidates.ids):
        first.setdefault(key, position)
    if len(first) == len(candidates.ids):
        return candidates
    scores = candidates.scores
    return Candidates.model_construct(
        ids=tuple(first),
        scores=tuple(scores[position] for position in first.values()) if scores else (),
    )


def _weights(
    channels: Mapping[str, Candidates], weights: Mapping[str, float] | None
) -> dict[str, float]:
    given = weights or {}
    for name, weight in given.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise BadInputError(f"the weight of {name!r} has to be at least 0, found {weight!r}")
    chosen = {name: float(given.get(name, 1.0)) for name in channels}
    if channels and not any(chosen.values()):
        raise BadInputError(f"every weight is 0: {', '.join(sorted(channels))}")
    return {name: weight for name, weight in chosen.items() if weight}


def _normalised(name: str, candidates: Candidates, method: Normalisation) -> dict[str, float]:
    kept = distinct(candidates)
    scores = kept.scores or (None,) * len(kept.ids)
    given = []
    for key, score in zip(kept.ids, scores, strict=True):
        if score is None:
            raise CapabilityError(
                f"channel {name!r} gives no score for {key!r}; weighted fusion needs every score",
                remedy="return (id, score) from it, or fuse by rank: fusion rrf",
            )
        given.append(score)
    return dict(zip(kept.ids, normalise(given, method), strict=True))


def _divided(values: list[float], divisor: float) -> list[float]:
    return [value / divisor for value in values]


def _sum(terms: Iterable[float]) -> float:
    try:
        total = math.fsum(terms)
    except (OverflowError, ValueError):
        total = math.inf
    if not math.isfinite(total):
        raise BadInputError(
            "a fused score is too large for a float", remedy="normalise, or take smaller weights"
        )
    return total


def _ranked(scores: Mapping[str, float]) -> Candidates:
    order = sorted(scores, key=lambda key: (-scores[key], key))
    # Ids come out of validated candidates, and the sums are finite: nothing is left to validate.
    return Candidates.model_construct(ids=tuple(order), scores=tuple(scores[key] for key in order))
