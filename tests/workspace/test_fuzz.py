"""Any text may be asked: nothing in it is syntax, nothing in it fails.

The default run asks a few hundred queries, ``make soak`` thousands.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalnb.search.request import Hints, QueryRequest
from evalnb.search.result import QueryResult
from evalnb.search.system import SearchContext
from evalnb.workspace.session import WorkspaceSession
from evalnb.workspace.system import Workspace, open_workspace

TEXTS = [
    "alpha beta gamma",
    "beta alpha",
    'title:alpha AND NOT "beta" OR (gamma)',
    "İSTANBUL ılık IŞIK",
    "😀 emoji 👩‍👩‍👧 family",
    "C++ and `snake_case` and dotted.name",
    "日本語のテキスト",
    "x" * 70_000 + " longest",
    "a" * 3_000 + " long",
    "e\u0301tude \u202e right to left",
]

SYNTAX = r"""
    alpha beta gamma AND OR NOT + - / && || " ' ( ) [ ] { } * ? ~ ^ : \ title: body:alpha secret:tok
    alpha~2 alph* /al.*/ "alpha beta"~1 [a TO b] >= -- ; DROP TABLE units % _ İ ı I ǅ ﬁ 😀 日本
"""
pieces = st.sampled_from([*SYNTAX.split(), "\n", "\t", "\u200b", "\u0301", "\u202e", "x" * 300])
queries = (
    st.text(max_size=80)
    | st.lists(pieces, min_size=1, max_size=12).map(" ".join)
    | st.lists(pieces, min_size=1, max_size=12).map("".join)
    | st.sampled_from(["?", "...", "x" * 8_000, "alpha " * 1_300, "\u0301", "_" * 500])
)
pytestmark = pytest.mark.soak
fuzz = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = open_workspace(Path(tmp_path_factory.mktemp("hostile")) / "ws", create=True)
    documents = [{"path": str(n), "text": text} for n, text in enumerate(TEXTS)]
    made.ingest_corpus(
        {"sources": [{"key": "s", "documents": documents}]}, settings={"chunk_size": 100_000}
    )
    for name in ("lexical:stem-en", "lexical:stem-tr", "lexical:plain-az"):
        made.index(name)
    return made


@pytest.fixture(scope="module")
def session(hostile: Workspace):
    opened = hostile.open(SearchContext())
    yield opened
    opened.close()


def ask(session: WorkspaceSession, query: str, **request: object) -> QueryResult | None:
    try:
        asked = QueryRequest.model_validate({"query": query, **request})
    except ValueError:  # a query that is blank, too long or no text is refused before it is asked
        return None
    return session.ask(asked)


@fuzz
@given(
    query=queries,
    index=st.sampled_from(["plain", "stem-en", "stem-tr", "plain-az"]),
    weight=st.sampled_from([None, 0.0, 0.5, 100.0]),
)
def test_any_text_is_safe(
    session: WorkspaceSession, query: str, index: str, weight: float | None
) -> None:
    found = {}
    for operator in ("any", "all", "phrase"):
        hints = Hints(
            lexical_operator=operator, lexical_index=f"lexical:{index}", heading_weight=weight
        )
        result = ask(session, query, hints=hints)
        if result is None:
            return
        assert ask(session, query, hints=hints) == result
        found[operator] = {hit.ids.unit_id for hit in result.hits}
    assert found["phrase"] <= found["all"] <= found["any"]


@fuzz
@given(identifier=queries)
def test_any_identifier_is_safe(session: WorkspaceSession, identifier: str) -> None:
    result = ask(session, "alpha", exact_identifiers=(identifier,), exact_only=True)
    for hit in result.hits if result else ():
        assert identifier in hit.text


@fuzz
@given(ids=st.lists(queries, min_size=1, max_size=5), kind=st.sampled_from(["source", "document"]))
def test_any_restriction_is_safe(session: WorkspaceSession, ids: list[str], kind: str) -> None:
    result = ask(session, "alpha", **{f"{kind}_ids": ids})
    assert result is None or result.hits == ()


FOUND = [
    ("longest", 7),
    ("a" * 3_000, 8),
    ("istanbul", 3),
    ("日本語", 6),
    ("étude", 9),
    ("title AND not", 2),
    ("family 👩‍👩‍👧", 4),
]


@pytest.mark.parametrize(("query", "document"), FOUND)
def test_what_is_there_is_found(session: WorkspaceSession, query: str, document: int) -> None:
    result = ask(session, query)
    assert result is not None
    assert result.hits[0].document_name == str(document)
