"""The text index of an endpoint: built in batches, resumed, searched, metered, refused."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

import evalnb as ev
from evalnb.cli.main import main
from evalnb.errors import (
    BadInputError,
    CapabilityError,
    NotEvaluatedError,
    NotFoundError,
    SearchFailedError,
)
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.system import SearchContext
from evalnb.workspace import endpoint as encoders
from evalnb.workspace.system import open_workspace

SECRET = "sk-abcdefgh"
NAME = "text:openai:small"
N_DOCUMENTS = 5
TEXTS = ["red boots", "blue gloves", "the law of the sea", "a refund in ten days", "moon and tide"]


@dataclass
class Model:
    """An embedding model: a bag of words, each at a place that the salt decides."""

    salt: str = "one"
    dimensions: int = 32
    calls: list[list[str]] = field(default_factory=list)
    fails_after: int | None = None
    broken: object = None  # answers a call instead of the model

    def vector(self, text: str) -> list[float]:
        made = np.zeros(self.dimensions)
        for word in text.casefold().split():
            digest = hashlib.sha256(f"{self.salt} {word}".encode()).digest()
            made[int.from_bytes(digest[:4]) % self.dimensions] += 3.0
        return made.tolist()

    def __call__(self, handler, asked):
        texts = asked.json["input"]
        if self.fails_after is not None and len(self.calls) >= self.fails_after:
            return handler.reply(500, b"overloaded")
        self.calls.append(texts)
        if self.broken is not None:
            return self.broken(handler, texts) if callable(self.broken) else self.broken
        data = [{"index": at, "embedding": self.vector(text)} for at, text in enumerate(texts)]
        return {"data": data, "usage": {"prompt_tokens": 7, "total_tokens": 7}}

    @property
    def texts(self) -> list[str]:
        """What was embedded, without the text that tells models apart."""
        return [text for call in self.calls for text in call if text != encoders._PROBE]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def folder(tmp_path, serve, model, monkeypatch):
    """Fill a workspace that names the endpoint, and return its folder."""
    monkeypatch.setenv("LAB_KEY", SECRET)
    monkeypatch.setattr(encoders, "BATCH", 2)
    workspace = open_workspace(tmp_path / "kb", create=True)
    workspace.ingest_corpus(corpus(TEXTS))
    table = {
        "url": serve(model).url,
        "model": "text-embedding-small",
        "headers": {"Authorization": "Bearer ${LAB_KEY}"},
        "retries": 0,
        "timeout_s": 5,
        "version": "2026-01",
    }
    workspace.configure({"encoders.small": table})
    return workspace.folder


def corpus(texts):
    documents = [{"path": f"{at}.txt", "text": text} for at, text in enumerate(texts)]
    return {"sources": [{"key": "shop", "documents": documents}]}


def asked(folder, query="red boots", **more):
    session = ev.open_workspace(folder).open(SearchContext())
    try:
        return session.ask(QueryRequest(query=query, mode="semantic", **more))
    finally:
        session.close()


def paths(result):
    return [hit.document_name for hit in result.hits]


def kept(folder):
    """Return every file of a workspace but the index's arrays, as text."""
    return {path: path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()}


def test_one_setting_builds_searches_and_evaluates_from_the_command_line(
    folder, model, tmp_path, capsys
):
    assert main(["index", NAME, "--workspace", str(folder), "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    assert built["built"] is True
    assert sorted(model.texts) == sorted(TEXTS)
    assert max(map(len, model.calls)) == 2
    for mode in ("semantic", "hybrid"):
        command = ["search", "red boots", "--mode", mode, "--workspace", str(folder), "--json"]
        assert main(command) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["hits"][0]["document_name"] == "0.txt"
        assert result["usage"]["calls"] == 1
        assert result["usage"]["by_model"]["text-embedding-small"] == {"input": 7, "output": 0}
    golden = tmp_path / "golden.json"
    golden.write_text(
        json.dumps({"cases": [{"query": "blue gloves", "expect": {"document": "1.txt"}}]})
    )
    modes = ["--modes", "semantic,keyword,hybrid"]
    assert main(["eval-retrieval", str(golden), "--workspace", str(folder), *modes]) == 0
    (line,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("1 ")]
    assert line.split()[-3:] == ["1", "1", "1"]
    assert main(["index", NAME, "--workspace", str(folder)]) == 0
    assert "was there already" in capsys.readouterr().out


def test_the_identity_is_the_model_and_nothing_secret_is_kept(folder, model):
    workspace = ev.open_workspace(folder)
    workspace.index(NAME)
    settings = workspace.index_manifest(NAME)["settings"]
    assert {key: settings[key] for key in ("model", "parameters", "version")} == {
        "model": "text-embedding-small",
        "parameters": "{}",
        "version": "2026-01",
    }
    assert settings["url"].startswith("http://127.0.0.1:")
    assert workspace.index_manifest(NAME)["dimensions"] == 32
    assert not [path for path, text in kept(folder).items() if SECRET in text]
    first = workspace.index_manifest(NAME)["identity"]
    identities = {first}
    for key, value in (
        ("version", "2026-02"),
        ("parameters", {"dimensions": 32}),
        ("model", "text-embedding-large"),
    ):
        workspace.configure({f"encoders.small.{key}": value})
        changed = ev.open_workspace(folder)
        with pytest.raises(CapabilityError, match=f"the one there has another .*{key}"):
            changed.text_index(NAME)
        changed.index(NAME)
        identities.add(changed.index_manifest(NAME)["identity"])
    assert len(identities) == 4
    assert len(model.texts) == 4 * N_DOCUMENTS
    again = ev.open_workspace(folder, encoders={"mine": workspace.settings.encoders["small"]})
    with pytest.raises(CapabilityError, match="no index text:openai:mine"):
        again.text_index("text:openai:mine")


def test_what_was_embedded_before_is_not_embedded_again(folder, model):
    workspace = ev.open_workspace(folder)
    workspace.index(NAME)
    workspace.ingest_corpus(corpus([*TEXTS, "warm socks"]))
    model.calls.clear()
    done = []
    workspace.index(NAME, progress=done.append)
    assert model.texts == ["warm socks"]
    assert sum(done) == 6
    assert paths(asked(folder, "socks"))[0] == "5.txt"


def test_prompts_stand_before_queries_and_passages(folder, model):
    workspace = ev.open_workspace(folder)
    workspace.configure({"encoders.small.prompts": {"query": "q: ", "passage": "p: "}})
    workspace = ev.open_workspace(folder)
    workspace.index(NAME)
    assert {text[:3] for call in model.calls[1:] for text in call} == {"p: "}
    model.calls.clear()
    assert paths(asked(folder))[0] == "0.txt"
    assert model.calls == [["q: red boots", f"q: {encoders._PROBE}"]]
    assert json.loads(workspace.index_manifest(NAME)["settings"]["prompts"])["passage"] == "p: "


def test_a_model_is_found_by_its_own_name_where_one_setting_has_it(folder, model):
    name = "text:openai:text-embedding-small"
    assert ev.open_workspace(folder).index(name)
    assert paths(asked(folder))[0] == "0.txt"
    table = ev.open_workspace(folder).settings.encoders["small"]
    two = ev.open_workspace(folder, encoders={"other": table | {"version": "b"}})
    with pytest.raises(NotFoundError, match="no encoder 'text-embedding-small'; set: other, small"):
        two.index(name)


def test_a_build_that_fails_publishes_nothing_and_goes_on(folder, model):
    workspace = ev.open_workspace(folder)
    model.fails_after = 2  # the probe and one batch
    with pytest.raises(SearchFailedError, match="500 Internal Server Error: overloaded"):
        workspace.index(NAME)
    assert workspace.capabilities().identity.get(f"{NAME}.model") is None
    with pytest.raises(CapabilityError, match=r"no index text:openai:small.*build it with"):
        asked(folder, hints={"text_index": NAME})
    model.fails_after = None
    before = list(model.texts)
    assert len(before) == 2
    workspace.index(NAME)
    assert sorted(model.texts) == sorted(TEXTS)
    assert not list((folder / "indexes").glob(".embedding-*"))


def test_another_model_behind_the_same_name_is_noticed(folder, model):
    workspace = ev.open_workspace(folder)
    workspace.index(NAME)
    good = asked(folder)
    model.salt = "two"
    remedy = "give its setting under encoders another version, and build text:openai:small again"
    with pytest.raises(CapabilityError, match=rf"another model answers .*cosine 0\.\d\d.*{remedy}"):
        asked(folder)
    workspace.ingest_corpus(corpus([*TEXTS, "warm socks"]))
    with pytest.raises(CapabilityError, match="another model answers"):
        workspace.index(NAME)  # would mix both models' vectors
    model.dimensions = 8
    with pytest.raises(CapabilityError, match="32 and 8 dimensions"):
        ev.open_workspace(folder).index(NAME)
    model.dimensions, model.salt = 32, "one"
    assert ev.open_workspace(folder).index(NAME)
    assert paths(asked(folder))[: len(good.hits)]


def test_a_stopped_build_does_not_go_on_with_another_model(folder, model):
    model.fails_after = 2
    with pytest.raises(SearchFailedError):
        ev.open_workspace(folder).index(NAME)
    model.fails_after, model.salt = None, "two"
    with pytest.raises(CapabilityError, match="another model answers"):
        ev.open_workspace(folder).index(NAME)
    workspace = ev.open_workspace(folder)
    workspace.configure({"encoders.small.version": "2026-02"})
    assert ev.open_workspace(folder).index(NAME)


BROKEN = {
    "NaN": lambda handler, texts: handler.reply(200, b'{"data": [{"embedding": [NaN, 1.0]}]}'),
    "too few": {"data": [{"embedding": [1.0]}] * 3},
    "two lengths": lambda handler, texts: {
        "data": [{"embedding": [1.0] * (2 + at)} for at in range(len(texts))]
    },
    "HTML": lambda handler, texts: handler.reply(200, b"<html>", Content_Type="text/html"),
    "429": lambda handler, texts: handler.reply(429, b"slow down", Retry_After="3600"),
    "500": lambda handler, texts: handler.reply(500, f"Bearer {SECRET}".encode()),
    "half": lambda handler, texts: handler.reply(200, b'{"data": [{"embedding": [1.0'),
    "timeout": lambda handler, texts: time.sleep(0.5),
}  # fmt: skip


SAYS = {
    "NaN": "not JSON",
    "too few": "3 embeddings for",
    "two lengths": "3 dimensions; 2 are expected",
    "HTML": "the answer (text/html) is not JSON",
    "429": "429 Too Many Requests",
    "500": "500 Internal Server Error",
    "half": "not JSON",
    "timeout": "no answer in time",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_that_search_alone(folder, model, fault, gold):
    workspace = ev.open_workspace(folder)
    workspace.index(NAME)
    workspace.configure({"encoders.small.timeout_s": 0.2 if fault == "timeout" else 5})
    model.broken = BROKEN[fault]
    opened = ev.open_workspace(folder)
    variants = {mode: (opened, {"mode": mode}) for mode in ("semantic", "keyword")}
    report = ev.evaluate(gold, variants).record
    failed = {r.variant: r.result for r in report.results}
    assert failed["keyword"].status == "ok"
    assert failed["semantic"].status != "ok"
    assert SAYS[fault] in failed["semantic"].reason
    assert SECRET not in report.model_dump_json()
    workspace.configure({"encoders.small.version": "other"})
    with pytest.raises(NotEvaluatedError, match=re.escape(SAYS[fault])):
        ev.open_workspace(folder).index(NAME)
    assert not list((folder / "indexes").glob(".building-*"))


@pytest.fixture
def gold():
    case = GoldCase(
        case_id="c",
        split="development",
        request={"query": "red boots"},
        content=[{"content_contains": "boots"}],
    )
    return dataset_from_cases((case,), dataset_id="d")


def test_offline_and_a_missing_key_are_refused_before_a_call(folder, model, gold, monkeypatch):
    workspace = ev.open_workspace(folder)
    workspace.index(NAME)
    model.calls.clear()
    semantic = {"v": (ev.open_workspace(folder), {"mode": "semantic"})}
    offline = Controls(channels=("text",))
    with pytest.raises(CapabilityError, match="embeds over the network, and offline is set"):
        workspace.check_offline(offline)
    workspace.check_offline(Controls(channels=("lexical",)))
    workspace.configure({"offline": True})
    for refused in (lambda: asked(folder), lambda: ev.open_workspace(folder).index(NAME)):
        with pytest.raises(CapabilityError, match="offline is set"):
            refused()
    workspace.configure({"offline": False})
    monkeypatch.delenv("LAB_KEY")
    with pytest.raises(CapabilityError, match="LAB_KEY is not set"):
        ev.evaluate(gold, semantic)
    assert model.calls == []


def test_a_model_without_a_version_is_never_taken_from_a_cache(folder, model):
    workspace = ev.open_workspace(folder)
    workspace.configure({"encoders.small.version": None})
    assert ev.open_workspace(folder).capabilities().versioned  # no index asks it
    ev.open_workspace(folder).index(NAME)
    capabilities = ev.open_workspace(folder).capabilities()
    assert not capabilities.versioned
    assert capabilities.identity[f"{NAME}.version"] == "unversioned"


def test_python_names_an_endpoint_and_other_processes_have_it(folder, model):
    table = ev.open_workspace(folder).settings.encoders["small"]
    ev.open_workspace(folder).configure({"encoders.small": None})
    with pytest.raises(NotFoundError, match=r"no encoder 'small'.*config set encoders\.small"):
        ev.open_workspace(folder).index(NAME)
    with pytest.raises(CapabilityError, match="no encoder 'small'"):
        asked(folder, hints={"text_index": NAME})
    opened = ev.open_workspace(folder, encoders={"small": table, "a/b": table})
    assert opened.index(NAME)
    sent = pickle.loads(pickle.dumps(opened))
    assert sent.text_index(NAME).name == NAME
    assert opened.index("text:openai:a/b")
    assert len(model.texts) == N_DOCUMENTS  # the same model under another name
    with pytest.raises(BadInputError, match=r"encoders\.x\.url"):
        ev.open_workspace(folder, encoders={"x": {"url": "nowhere"}})


REFUSED = [
    ({"model": "m"}, "encoders.small has no url"),
    ({"url": "http://x/v1?api_key=abc"}, "encoders.small.url holds a key"),
    ({"url": f"http://me:{SECRET}@x/v1"}, "encoders.small.url holds a key"),
    (
        {"url": "http://x/v1", "headers": {"Authorization": f"Bearer {SECRET}"}},
        r"encoders.small.headers.Authorization holds a key; write \$\{VARIABLE\}",
    ),
    ({"url": "http://x/v1", "headers": {"x-api-key": SECRET}}, "x-api-key holds a key"),
]


@pytest.mark.parametrize(("table", "says"), REFUSED)
def test_a_key_is_not_kept_in_the_settings(folder, table, says, capsys):
    before = (folder / "config.json").read_bytes()
    command = ["config", "set", "encoders.small", json.dumps(table), "--workspace", str(folder)]
    assert main(command) == 2
    with pytest.raises(BadInputError, match=says):
        open_workspace(folder).configure({"encoders.small": table})
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    assert (folder / "config.json").read_bytes() == before
