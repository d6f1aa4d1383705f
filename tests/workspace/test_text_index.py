"""Text indexes: what they find, what they reuse, and what is no index."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalnb.errors import BadInputError, CapabilityError, MissingExtraError, SearchFailedError
from evalnb.search.request import Hints
from evalnb.search.result import QueryResult
from evalnb.workspace import embedding, models, text_index
from evalnb.workspace.encoders import OnnxEncoder, load_encoder
from evalnb.workspace.index_folders import built_indexes
from evalnb.workspace.models import find_model
from evalnb.workspace.system import Workspace, open_workspace

WORDS = {
    "refund": (1.0, 0.0, 0.0),
    "money": (0.8, 0.6, 0.0),
    "fee": (0.0, 1.0, 0.0),
    "moon": (0.0, 0.0, 1.0),
}
LSA = "text:lsa-256"
SEMANTIC = {"mode": "semantic"}


def corpus(**sources: dict[str, str]) -> dict[str, Any]:
    return {
        "sources": [
            {"key": key, "documents": [{"path": p, "text": t} for p, t in documents.items()]}
            for key, documents in sources.items()
        ]
    }


CORPUS = corpus(
    shop={"a.txt": "refund", "b.txt": "refund fee fee", "c.txt": "moon"},
    bank={"d.txt": "fee", "e.txt": "moon moon"},
)


def names(result: QueryResult) -> list[str | None]:
    return [hit.document_name for hit in result.hits]


@pytest.fixture
def model(make_model, tmp_path: Path) -> Path:
    return make_model(tmp_path / "model", WORDS)


@pytest.fixture
def name(model: Path) -> str:
    return f"text:onnx:{model}"


@pytest.fixture
def indexed(workspace: Workspace, name: str) -> Workspace:
    workspace.ingest_corpus(CORPUS)
    assert workspace.index(name)
    return workspace


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that were given to a model, in order; it goes on growing."""
    seen: list[str] = []
    encode = OnnxEncoder.encode

    def counting(self: OnnxEncoder, texts: list[str], role: str) -> Iterator[np.ndarray]:
        def watched() -> Iterator[np.ndarray]:
            for text, vector in zip(texts, encode(self, texts, role), strict=True):
                seen.append(text)
                yield vector

        return watched()

    monkeypatch.setattr(OnnxEncoder, "encode", counting)
    return seen


def folder_of(workspace: Workspace) -> Path:
    (folder,) = (workspace.folder / "indexes").glob("text:*/*")
    return folder


class TestSearch:
    def test_the_nearest_come_first_with_their_cosines(self, indexed: Workspace, ask) -> None:
        result = ask(indexed, "money", overrides=SEMANTIC)
        found = {hit.document_name: hit.score for hit in result.hits}
        assert found == pytest.approx(
            # money = (.8, .6); b.txt = (1, 2) / 5 ** .5
            {"b.txt": 2 / 5**0.5, "a.txt": 0.8, "d.txt": 0.6, "c.txt": 0, "e.txt": 0},
            abs=1e-6,
        )
        assert names(result)[:3] == ["b.txt", "a.txt", "d.txt"]
        hit = result.hits[0]
        assert hit.channels["text"].rank == 1
        assert hit.channels["text"].score == hit.score
        assert set(result.candidates) == {"text"}

    def test_equal_scores_are_ordered_by_unit_id(self, workspace: Workspace, name, ask) -> None:
        texts = ["moon", "moon moon", "MOON", "refund refund", "refund"]  # three vectors in two
        workspace.ingest_corpus(corpus(s={str(n): texts[n % 5] for n in range(400)}))
        workspace.index(name)
        every = ask(workspace, "moon", overrides=SEMANTIC, limit=400)
        ids = [hit.ids.unit_id for hit in every.hits]
        near = [hit.ids.unit_id for hit in every.hits if hit.score == every.hits[0].score]
        assert len(near) == 240
        assert ids == [*sorted(near), *sorted(set(ids) - set(near))]
        top = ask(workspace, "moon", overrides=SEMANTIC, limit=7, hints=Hints(candidates=7))
        assert [hit.ids.unit_id for hit in top.hits] == ids[:7]
        assert np.load(folder_of(workspace) / "vectors.npy").shape == (3, 2)

    def test_restrictions_are_met_before_the_list_is_cut(
        self, workspace: Workspace, name, ask
    ) -> None:
        crowd = {f"{n}.txt": "refund" for n in range(300)}
        workspace.ingest_corpus(corpus(a=crowd, b={"rare.txt": "moon fee", "r.txt": "fee"}))
        workspace.index(name)
        scope = workspace.resolve_scope(["b"])
        hints = Hints(candidates=2)
        result = ask(workspace, "refund fee", overrides=SEMANTIC, scope=scope, limit=2, hints=hints)
        assert names(result) == ["r.txt", "rare.txt"]
        assert len(result.candidates["text"].ids) == 2

    def test_each_restriction(self, indexed: Workspace, ask) -> None:
        hits = {h.document_name: h.ids for h in ask(indexed, "fee", overrides=SEMANTIC).hits}
        for kind in ("source", "document", "revision"):
            wanted = getattr(hits["d.txt"], f"{kind}_id")
            found = ask(indexed, "fee", overrides=SEMANTIC, **{f"{kind}_ids": (wanted,)})
            expected = ["d.txt", "e.txt"] if kind == "source" else ["d.txt"]
            assert names(found) == expected
        both = ask(
            indexed,
            "fee",
            overrides=SEMANTIC,
            source_ids=(hits["a.txt"].source_id,),
            document_ids=(hits["d.txt"].document_id,),
        )
        assert names(both) == []
        assert names(ask(indexed, "fee", overrides=SEMANTIC, modalities=("image",))) == []

    def test_dates_select_revisions(self, workspace: Workspace, name, ask) -> None:
        documents = [
            {"path": "fee", "text": "fee", "effective_from": "2020-01-01"},
            {"path": "fee", "text": "fee money", "effective_from": "2021-01-01"},
        ]
        workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
        workspace.index(name)
        texts = {
            year: [h.text for h in ask(workspace, "fee", overrides=SEMANTIC, as_of=day).hits]
            for year, day in ((y, dt.date(y, 6, 1)) for y in (2019, 2020, 2021))
        }
        assert texts == {2019: [], 2020: ["fee"], 2021: ["fee money"]}

    def test_where_nothing_is_admitted_no_encoder_is_asked(
        self, indexed: Workspace, ask, embedded
    ) -> None:
        assert names(ask(indexed, "fee", overrides=SEMANTIC, source_ids=("src_none",))) == []
        assert embedded == []

    def test_a_query_without_a_vector_finds_nothing(self, indexed: Workspace, ask) -> None:
        assert names(ask(indexed, "unheard of", overrides=SEMANTIC)) == []

    def test_titles_and_headings_are_embedded_with_the_text(
        self, workspace: Workspace, name, embedded
    ) -> None:
        documents = [{"path": "a", "title": "Refund", "text": "money"}]
        workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
        workspace.index(name)
        assert embedded[-1] == "Refund\nmoney"


class TestBuilding:
    def test_only_new_texts_are_embedded(self, indexed: Workspace, name, ask, embedded) -> None:
        indexed.ingest_corpus(corpus(new={"f.txt": "money", "same.txt": "refund fee fee"}))
        counted = []
        assert indexed.index(name, progress=counted.append)
        assert [text for text in embedded if text != "a"] == ["money"]
        assert sum(counted) == indexed.snapshot().n_units == 7
        fresh = open_workspace(indexed.folder.parent / "fresh", create=True)
        fresh.ingest_corpus(CORPUS)
        fresh.ingest_corpus(corpus(new={"f.txt": "money", "same.txt": "refund fee fee"}))
        fresh.index(name)
        (again,) = (fresh.folder / "indexes").glob("text:*/*")
        reused = indexed.folder / "indexes" / again.parent.name / again.name
        for path in again.iterdir():
            assert path.read_bytes() == (reused / path.name).read_bytes()

    def test_an_index_that_is_there_is_not_built_again(self, indexed, name, embedded) -> None:
        before = sorted((p, p.stat().st_mtime_ns) for p in folder_of(indexed).iterdir())
        assert not indexed.index(name)
        assert sorted((p, p.stat().st_mtime_ns) for p in folder_of(indexed).iterdir()) == before
        assert embedded == []

    def test_a_stopped_build_goes_on(
        self, workspace: Workspace, name, ask, embedded, monkeypatch
    ) -> None:
        many = {
            f"{n}.txt": " ".join(["refund"] * (n % 3) + ["fee"] * (n // 3)) for n in range(1, 9)
        }
        workspace.ingest_corpus(corpus(s=many))
        keep = embedding.VectorJournal.append

        def failing(self: embedding.VectorJournal, digest: bytes, vector: np.ndarray) -> None:
            if len(embedded) > 5:  # one of them asked for the number of dimensions
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            keep(self, digest, vector)

        load_encoder.cache_clear()
        monkeypatch.setattr(embedding.VectorJournal, "append", failing)
        with pytest.raises(OSError, match="No space"):
            workspace.index(name)
        monkeypatch.setattr(embedding.VectorJournal, "append", keep)
        assert not list((workspace.folder / "indexes").glob("text:*"))
        (journal,) = (workspace.folder / "indexes").glob(".embedding-*")
        whole = journal.read_bytes()
        journal.write_bytes(whole[:-1])  # the last record was torn
        done, _ = len(embedded), embedded.clear()
        workspace.index(name)
        assert len(embedded) == len(many) - (done - 2) + 1
        assert not journal.exists()
        assert len(ask(workspace, "refund", overrides=SEMANTIC).hits) == len(many)

    def test_a_damaged_record_is_embedded_again(
        self, workspace: Workspace, name, ask, monkeypatch
    ) -> None:
        workspace.ingest_corpus(CORPUS)
        settings = text_index.text_inputs(name, workspace.snapshot()).settings
        journal = embedding.VectorJournal(workspace.folder, settings, 3)
        journal.append(b"x" * 32, np.ones(3, dtype=np.float32))
        journal.close(remove=False)
        data = bytearray(journal.path.read_bytes())
        data[40] ^= 1
        journal.path.write_bytes(data)
        reopened = embedding.VectorJournal(workspace.folder, settings, 3)
        reopened.close(remove=False)
        assert reopened.kept == []
        workspace.index(name)
        assert names(ask(workspace, "moon", overrides=SEMANTIC))[0] in ("c.txt", "e.txt")

    def test_a_full_disk_publishes_nothing(self, workspace, name, monkeypatch, embedded) -> None:
        workspace.ingest_corpus(CORPUS)
        before = built_indexes(workspace.folder, workspace.snapshot())
        write = text_index._Corpus.write

        def full(self: text_index._Corpus, folder: Path, rows: np.ndarray) -> None:
            write(self, folder, rows)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(text_index._Corpus, "write", full)
        with pytest.raises(OSError, match="No space"):
            workspace.index(name)
        assert built_indexes(workspace.folder, workspace.snapshot()) == before
        assert not list((workspace.folder / "indexes").glob(".building-*"))
        monkeypatch.setattr(text_index._Corpus, "write", write)
        embedded.clear()
        assert workspace.index(name)
        assert embedded == []  # what the model had given was kept

    def test_a_model_that_gives_nan_publishes_nothing(
        self, workspace: Workspace, make_model, tmp_path: Path
    ) -> None:
        folder = make_model(tmp_path / "nan", WORDS | {"moon": (float("nan"), 0.0, 0.0)})
        workspace.ingest_corpus(CORPUS)
        with pytest.raises(SearchFailedError, match="NaN"):
            workspace.index(f"text:onnx:{folder}")
        assert list(built_indexes(workspace.folder, workspace.snapshot())) == ["lexical:plain"]

    def test_the_identity_is_that_of_the_inputs(
        self, indexed: Workspace, make_model, tmp_path: Path
    ) -> None:
        first = folder_of(indexed).name
        other = open_workspace(tmp_path / "other", create=True)
        other.ingest_corpus(CORPUS)
        elsewhere = make_model(tmp_path / "elsewhere", WORDS)
        other.index(f"text:onnx:{elsewhere}")
        assert folder_of(other).name == first
        (elsewhere / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
        inputs = text_index.text_inputs(f"text:onnx:{elsewhere}", other.snapshot())
        assert inputs.identity != first

    def test_units_that_are_longer_than_the_model_reads_are_counted(
        self, workspace: Workspace, name
    ) -> None:
        workspace.ingest_corpus(corpus(s={"long": "moon " * 20, "short": "moon"}))
        workspace.index(name)
        assert workspace.index_manifest(name)["n_truncated"] == 1

    def test_searching_builds_nothing(self, workspace: Workspace, name, ask, embedded) -> None:
        workspace.ingest_corpus(CORPUS)
        before = sorted((workspace.folder / "indexes").rglob("*"))
        with pytest.raises(CapabilityError, match=f"evalnb index {name} --workspace"):
            ask(workspace, "moon", overrides=SEMANTIC, hints=Hints(text_index=name))
        assert sorted((workspace.folder / "indexes").rglob("*")) == before
        assert embedded == []

    @pytest.mark.parametrize(
        "wrong",
        ["text:bge", "text:", "text:lsa-512", "text:minilm", "text:onnx:", "text:onnx:a\x00b"],
    )
    def test_unknown_names(self, indexed: Workspace, ask, wrong) -> None:
        with pytest.raises(BadInputError, match="no text index is called"):
            indexed.index(wrong)
        with pytest.raises(BadInputError, match="no text index is called"):
            ask(indexed, "moon", overrides=SEMANTIC, hints=Hints(text_index=wrong))

    def test_without_the_extra_building_says_so_and_searching_is_unavailable(
        self, indexed: Workspace, ask, monkeypatch
    ) -> None:
        monkeypatch.setattr(models, "find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match=r"evalnb\[minilm\]"):
            indexed.index("text:minilm-l6-v2-int8")
        with pytest.raises(CapabilityError, match=r"evalnb\[minilm\]"):
            ask(indexed, "moon", overrides=SEMANTIC)


def _edit(file: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    """Replace an array, and forge the manifest so that its digests agree."""

    def edit(folder: Path) -> None:
        np.save(folder / file, change(np.load(folder / file)))
        _forge(folder)

    return edit


def _forge(folder: Path, **changes: object) -> None:
    from evalnb.workspace.index_folders import _measure_files

    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.unlink()
    path.write_text(json.dumps(manifest | {"files": _measure_files(folder)} | changes))


def _cut(file: str) -> Callable[[Path], object]:
    def cut(folder: Path) -> None:
        (folder / file).write_bytes((folder / file).read_bytes()[:-1])

    return cut


def _nan(matrix: np.ndarray) -> np.ndarray:
    matrix[1, 0] = np.nan
    return matrix


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    **{
        f"{file} cut": (_cut(file), f"{file} is not what was written")
        for file in ("vectors.npy", "columns.npy", "owners.npy", "owners.json", "units.bin")
    },
    "nan": (_edit("vectors.npy", _nan), "the vectors hold NaN"),
    "a dimension less": (_edit("vectors.npy", lambda m: m[:-1]), "not 3 of float32"),
    "half precision": (_edit("vectors.npy", lambda m: m.astype(np.float16)), "not 3 of float32"),
    "not normalised": (_edit("vectors.npy", lambda m: m * 2), "not of length 1"),
    "a vector less": (_edit("vectors.npy", lambda m: m[:, :-1]), "units do not fit"),
    "a unit less": (_edit("columns.npy", lambda c: c[:-1]), "units do not fit"),
    "pickled": (
        lambda f: (np.save(f / "columns.npy", np.array([{}], dtype=object)), _forge(f)),
        "allow_pickle=False",
    ),
    "other dimensions said": (lambda f: _forge(f, dimensions=4), "not 4 of float32"),
    "another's": (lambda f: _forge(f, units_sha256="0" * 64), "says units_sha256"),
    "no vectors": (lambda f: ((f / "vectors.npy").unlink(), _forge(f)), "does not name vectors"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_index_is_said_and_mended(indexed: Workspace, name, ask, case) -> None:
    damage, message = DAMAGE[case]
    damage(folder_of(indexed))
    reopened = open_workspace(indexed.folder)  # what one process verified is not verified again
    with pytest.raises(CapabilityError, match=f"(?s)is damaged: .*{message}.*evalnb index {name}"):
        ask(reopened, "moon", overrides=SEMANTIC, hints=Hints(text_index=name))
    assert reopened.index(name)
    assert names(ask(reopened, "refund", overrides=SEMANTIC))[0] == "a.txt"


def test_another_revision_of_the_model_is_another_index(
    indexed: Workspace, name, model: Path, make_model, ask
) -> None:
    make_model(model, WORDS | {"moon": (0.0, 0.6, 0.8)})
    with pytest.raises(CapabilityError, match=f"another model_sha256.*evalnb index {name}"):
        ask(indexed, "moon", overrides=SEMANTIC)
    assert indexed.index(name)
    assert ask(indexed, "fee", overrides=SEMANTIC, limit=5).hits[-1].document_name == "a.txt"


def test_a_model_of_another_dimension_is_no_model_of_the_index(
    indexed: Workspace, name, model: Path, make_model
) -> None:
    manifest = indexed.index_manifest(name)
    make_model(model, {word: vector[:2] for word, vector in WORDS.items()})
    with pytest.raises(ValueError, match="3 dimensions, the model 2"):
        text_index.load_text_index(folder_of(indexed), manifest)


class TestLsa:
    CORPUS = corpus(
        s={
            "a": "The refund reverses a payment to the customer.",
            "b": "Refunds are payments that go back.",
            "c": "An eclipse of the moon can be seen at night.",
            "d": "IŞIK gece görülür.",
        }
    )

    @pytest.fixture
    def lsa(self, workspace: Workspace) -> Workspace:
        workspace.ingest_corpus(self.CORPUS)
        assert workspace.index(LSA)
        return workspace

    def test_words_are_found_whatever_their_ending_and_case(self, lsa: Workspace, ask) -> None:
        assert set(names(ask(lsa, "REFUNDING", overrides=SEMANTIC))[:2]) == {"a", "b"}
        assert names(ask(lsa, "ışık", overrides=SEMANTIC))[0] == "d"

    def test_unknown_words_find_nothing(self, lsa: Workspace, ask) -> None:
        assert names(ask(lsa, "xylophone", overrides=SEMANTIC)) == []

    def test_the_same_texts_give_the_same_bytes(self, lsa: Workspace, tmp_path: Path) -> None:
        other = open_workspace(tmp_path / "again", create=True)
        other.ingest_corpus(self.CORPUS)
        other.index(LSA)
        assert folder_of(other).name == folder_of(lsa).name
        for path in folder_of(lsa).iterdir():
            assert path.read_bytes() == (folder_of(other) / path.name).read_bytes()

    def test_nothing_is_pickled(self, lsa: Workspace) -> None:
        for path in folder_of(lsa).glob("*.npy"):
            np.load(path, allow_pickle=False)
        assert {path.suffix for path in folder_of(lsa).iterdir()} == {".npy", ".bin", ".json"}

    SMALL = [{"a": "one"}, {"a": "!?"}, {"a": "same", "b": "same"}, {"a": "one word", "b": "..."}]

    @pytest.mark.parametrize("documents", SMALL)
    def test_small_corpora(self, workspace: Workspace, ask, documents) -> None:
        workspace.ingest_corpus(corpus(s=documents))
        assert workspace.index(LSA)
        found = names(ask(workspace, "one same", overrides=SEMANTIC))
        worded = [path for path, text in documents.items() if text.isalpha() or " " in text]
        assert set(worded) <= set(found) or not worded

    def test_an_empty_workspace(self, workspace: Workspace, ask) -> None:
        workspace.ingest_corpus(corpus(s={"a": " "}))
        assert workspace.index(LSA)
        assert names(ask(workspace, "one", overrides=SEMANTIC)) == []


def test_minilm_is_an_index_like_any_other(workspace: Workspace, ask) -> None:
    workspace.ingest_corpus(
        corpus(s={"refunds": "How customers get their money back.", "sky": "Phases of the moon."})
    )
    name = "text:minilm-l6-v2-int8"
    assert workspace.index(name)
    assert names(ask(workspace, "reimbursement", overrides=SEMANTIC)) == ["refunds", "sky"]
    settings = workspace.index_manifest(name)["settings"]
    found = find_model("minilm-l6-v2-int8")
    assert (settings["model_sha256"], settings["tokenizer_sha256"]) == (
        found.model_sha256,
        found.tokenizer_sha256,
    )
