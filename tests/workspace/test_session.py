"""A session is a search session and a pinned corpus: everything it returned can be proved."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest

from evalnb.errors import NotFoundError
from evalnb.search.request import QueryRequest, Scope
from evalnb.search.system import PinnedCorpus, SearchContext
from evalnb.workspace.session import WorkspaceSession
from evalnb.workspace.system import Workspace, open_workspace

NOBODY = 65534


@pytest.fixture
def session(handbook: Workspace):
    opened = handbook.open(SearchContext())
    yield opened
    opened.close()


def test_it_is_a_pinned_corpus(session: WorkspaceSession) -> None:
    assert isinstance(session, PinnedCorpus)


def test_units_come_in_id_order(session: WorkspaceSession) -> None:
    units = list(session.units())
    assert [unit.unit_id for unit in units] == sorted(unit.unit_id for unit in units)
    assert {unit.document_name for unit in units} == {
        "refunds.md",
        "charges.md",
        "old/charges.md",
        "fees.md",
    }
    assert len(units) == 5


def test_the_language_of_a_unit_is_its_records_or_the_workspaces(
    workspace: Workspace,
) -> None:
    documents = [{"path": "a", "text": "one", "language": "en"}, {"path": "b", "text": "iki"}]
    workspace.ingest_corpus(
        {"sources": [{"key": "s", "documents": documents}]}, settings={"language": "tr"}
    )
    units = workspace.open(SearchContext()).units()
    assert {unit.document_name: unit.language for unit in units} == {"a": "en", "b": "tr"}


def test_every_hit_can_be_proved(session: WorkspaceSession) -> None:
    hits = session.ask(QueryRequest(query="payment fee charge")).hits
    assert len(hits) == 5
    bindings = session.bindings([hit.ids.unit_id for hit in hits])
    for hit in hits:
        extraction = session.extraction(bindings[hit.ids.unit_id].extraction_id)
        assert hit.span is not None
        assert hit.span.extraction_id == extraction.extraction_id
        assert extraction.text[hit.span.start : hit.span.end] == hit.text
        assert extraction.units[hit.ids.unit_id] == (hit.span.start, hit.span.end)
        assert hashlib.sha256(hit.text.encode()).hexdigest() == hit.text_sha256
        assert extraction.path == hit.document_name == hit.locator.path
        assert extraction.file_id == hit.ids.file_id
        assert extraction.revision_id == hit.ids.revision_id
        assert extraction.document_id == hit.ids.document_id
        assert extraction.source_id == hit.ids.source_id


def test_bindings_are_measured(session: WorkspaceSession) -> None:
    unit = next(unit for unit in session.units() if unit.document_name == "refunds.md")
    (binding,) = session.bindings([unit.unit_id, "unit_unknown"]).values()
    assert binding.payload_bytes == len(unit.text.encode())
    assert binding.rows == 2  # the extraction and its one unit


def test_spans_count_codepoints(workspace: Workspace) -> None:
    text = "😀 ş e\u0301 first.\n\n" + "filler " * 200 + "\n\n😀 second needle."
    workspace.ingest_corpus({"sources": [{"key": "s", "documents": [{"path": "a", "text": text}]}]})
    session = workspace.open(SearchContext())
    (hit,) = session.ask(QueryRequest(query="needle")).hits
    assert text[hit.span.start : hit.span.end] == hit.text
    assert hit.text.endswith("😀 second needle.")


def test_a_scope_hides_units_and_bindings(handbook: Workspace) -> None:
    everything = {u.document_name: u.unit_id for u in handbook.open(SearchContext()).units()}
    scope = handbook.resolve_scope(["archive"])
    session = handbook.open(SearchContext(scope=scope))
    assert {unit.document_name for unit in session.units()} == {"old/charges.md", "fees.md"}
    assert session.bindings([everything["refunds.md"]]) == {}
    assert set(session.bindings(everything.values())) < set(everything.values())


def test_extractions_of_other_snapshots_are_not_there(session: WorkspaceSession) -> None:
    with pytest.raises(NotFoundError, match="no extraction 'ext_x'"):
        session.extraction("ext_x")


def test_a_session_keeps_its_snapshot(workspace: Workspace) -> None:
    def corpus(text: str) -> dict[str, object]:
        return {"sources": [{"key": "s", "documents": [{"path": "a", "text": text}]}]}

    workspace.ingest_corpus(corpus("old words"))
    session = workspace.open(SearchContext())
    cut = session.cut()
    workspace.ingest_corpus(corpus("new words"))
    assert session.cut() == cut
    assert [hit.text for hit in session.ask(QueryRequest(query="words")).hits] == ["old words"]
    assert [unit.text for unit in session.units()] == ["old words"]
    new = workspace.open(SearchContext())
    assert new.cut() != cut
    assert [hit.text for hit in new.ask(QueryRequest(query="words")).hits] == ["new words"]


def test_closing_twice_does_nothing(handbook: Workspace) -> None:
    session = handbook.open(SearchContext())
    session.close()
    session.close()


def test_threads_may_share_a_session(session: WorkspaceSession) -> None:
    request = QueryRequest(query="payment charge fee")
    expected = session.ask(request)
    results = []

    def work() -> None:
        results.extend(session.ask(request) for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 40


class TestResolveScope:
    def test_keys_and_ids(self, handbook: Workspace) -> None:
        by_key = handbook.resolve_scope(["archive"])
        assert handbook.resolve_scope(by_key.source_ids) == by_key

    def test_documents_by_path_last_part_or_id(self, handbook: Workspace) -> None:
        (path,) = handbook.resolve_scope(documents=["old/charges.md"]).document_ids
        assert handbook.resolve_scope(documents=[path]) == Scope(document_ids=(path,))
        both = handbook.resolve_scope(documents=["charges.md"]).document_ids
        assert len(both) == 2
        assert path in both

    def test_documents_inside_a_source(self, handbook: Workspace) -> None:
        scope = handbook.resolve_scope(["archive"], ["charges.md"])
        assert len(scope.source_ids) == len(scope.document_ids) == 1
        with pytest.raises(NotFoundError, match=r"no document 'refunds\.md'"):
            handbook.resolve_scope(["archive"], ["refunds.md"])

    def test_unknown_names_have_near_ones(self, handbook: Workspace) -> None:
        with pytest.raises(
            NotFoundError, match="no knowledge base 'archiv'; did you mean 'archive'"
        ):
            handbook.resolve_scope(["archiv"])
        with pytest.raises(NotFoundError, match=r"did you mean 'refunds\.md'"):
            handbook.resolve_scope(documents=["refund.md"])


def test_hits_of_a_pdf_name_the_page(workspace: Workspace, tmp_path: Path) -> None:
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    with PdfPages(tmp_path / "report.pdf") as pdf:
        for line in ("Introduction", "Revenue grew", "Appendix"):
            figure = Figure()
            figure.text(0.5, 0.5, line)
            pdf.savefig(figure)
    workspace.ingest([tmp_path / "report.pdf"], settings={"chunk_size": 15, "chunk_overlap": 0})
    (hit,) = workspace.open(SearchContext()).ask(QueryRequest(query="revenue")).hits
    assert hit.document_name == "report.pdf"
    assert hit.metadata["page"] == 2


def test_hits_under_a_heading_name_it(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Guide\n\nintro\n\n## Fees\n\nTwo percent.\n")
    workspace.ingest([tmp_path / "guide.md"])
    session = workspace.open(SearchContext())
    (hit,) = session.ask(QueryRequest(query="percent")).hits
    assert hit.metadata == {"title": "Guide", "heading": "Guide > Fees"}
    by_heading = session.ask(QueryRequest(query="guide")).hits
    assert {h.text for h in by_heading} == {"# Guide\n\nintro", "## Fees\n\nTwo percent."}


def test_source_code_is_a_kind_of_hit(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "refund.py").write_text("def refund(payment):\n    return payment\n")
    (tmp_path / "refund.txt").write_text("A refund returns a payment.")
    workspace.ingest([tmp_path / "refund.py", tmp_path / "refund.txt"])
    session = workspace.open(SearchContext())
    found = {
        kinds: sorted(
            hit.document_name
            for hit in session.ask(QueryRequest(query="refund", modalities=kinds)).hits
        )
        for kinds in ((), ("code",), ("text",), ("code", "text"), ("image",))
    }
    both = ["refund.py", "refund.txt"]
    assert found == {
        (): both,
        ("code",): ["refund.py"],
        ("text",): ["refund.txt"],
        ("code", "text"): both,
        ("image",): [],
    }


def test_a_workspace_on_a_read_only_medium_is_searched(handbook: Workspace) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "a ? # workspace"
        shutil.copytree(handbook.folder, folder)
        asked = QueryRequest(query="payment fee charge")
        found = open_workspace(folder).open(SearchContext()).ask(asked)
        for path in (Path(place), *Path(place).rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(NOBODY)  # the superuser may write everywhere
            with pytest.raises(PermissionError):
                (folder / "new").touch()
            assert open_workspace(folder).open(SearchContext()).ask(asked) == found
            with pytest.raises(PermissionError):
                open_workspace(folder).index("lexical:plain")
        finally:
            if root:
                os.seteuid(0)
            for path in (Path(place), *Path(place).rglob("*")):
                path.chmod(0o755)
