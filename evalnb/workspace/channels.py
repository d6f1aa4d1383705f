"""The lexical channel: a query of the user's words, built without any syntax of theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import tantivy

from evalnb.search.request import Hints
from evalnb.search.result import Candidates
from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.lexical_index import ID_FIELDS, LexicalIndex, digest_of, guarded

FIELDS = ("body", "heading")
DEFAULT_OPERATOR = "any"
DEFAULT_HEADING_WEIGHT = 0.5  # the best of 0, 0.5, 1 and 2 on Cranfield's titles (nDCG@10)

_MUST, _MUST_NOT, _SHOULD = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.Occur.Should
_Clause = tuple[tantivy.Occur, tantivy.Query]


def lexical_ranking(
    index: LexicalIndex, text: str, *, hints: Hints, eligible: Eligibility, pool: int
) -> Candidates:
    """Rank units by BM25 over their text and the headings above it.

    The query is built from analysed tokens, so no character of the user's text is syntax; text
    without any token finds nothing. A token that the query repeats counts as often.
    """
    weight = DEFAULT_HEADING_WEIGHT if hints.heading_weight is None else hints.heading_weight
    tokens = index.tokens(text)
    if not tokens or any(not allowed for allowed in eligible.filters.values()):
        return Candidates()
    with guarded(index.name):
        builder = _QueryBuilder(index.schema, weight)
        query = builder.restricted(builder.matching(tokens, _operator(hints)), eligible)
    return index.top(query, pool)


def lexical_detail(index: LexicalIndex, text: str, hints: Hints) -> str:
    """Say for a trace what was looked for."""
    return f"{index.name}, {_operator(hints)}: {' '.join(index.tokens(text))}"


def _operator(hints: Hints) -> str:
    return hints.lexical_operator or DEFAULT_OPERATOR


@dataclass(frozen=True, slots=True)
class _QueryBuilder:
    schema: tantivy.Schema
    heading_weight: float

    def matching(self, tokens: list[str], operator: str) -> tantivy.Query:
        """Build the part of the query that scores."""
        if operator == "phrase" and len(tokens) > 1:  # tantivy panics on a phrase of one term
            phrase = {f: tantivy.Query.phrase_query(self.schema, f, list(tokens)) for f in FIELDS}
            return tantivy.Query.boolean_query(self._weighted(phrase, 1))
        each = [
            self._weighted(
                {f: tantivy.Query.term_query(self.schema, f, token) for f in FIELDS}, count
            )
            for token, count in Counter(tokens).items()
        ]
        if operator == "any":  # flat, so that tantivy can skip blocks that cannot reach the top
            return tantivy.Query.boolean_query([clause for clauses in each for clause in clauses])
        return tantivy.Query.boolean_query(
            [(_MUST, tantivy.Query.boolean_query(clauses)) for clauses in each]
        )

    def _weighted(self, parts: Mapping[str, tantivy.Query], count: int) -> list[_Clause]:
        weights = {"body": 1.0, "heading": self.heading_weight}
        return [
            (_SHOULD, _boosted(part, weights[field] * count))
            for field, part in parts.items()
            if weights[field] > 0
        ]

    def restricted(self, query: tantivy.Query, eligible: Eligibility) -> tantivy.Query:
        """Add what may be returned, without any influence on the scores."""
        clauses: list[_Clause] = [
            (_MUST, tantivy.Query.const_score_query(self._one_of(field, allowed), 0.0))
            for field, allowed in eligible.filters.items()
        ]
        if eligible.lapsed:
            clauses.append((_MUST_NOT, self._one_of("revision", eligible.lapsed)))
        if not clauses:
            return query
        return tantivy.Query.boolean_query([(_MUST, query), *clauses])

    def _one_of(self, field: str, values: frozenset[str]) -> tantivy.Query:
        prefix = ID_FIELDS.get(field)
        terms = [value if prefix is None else digest_of(value, prefix) for value in sorted(values)]
        return tantivy.Query.term_set_query(self.schema, field, terms)


def _boosted(query: tantivy.Query, weight: float) -> tantivy.Query:
    return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)
