"""Systems by name: TOML files, fused files, chat models as rerankers of a workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evalnb as ev
from evalnb.cli.main import main
from evalnb.errors import BadInputError, CapabilityError, NotFoundError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.systems.composed import ComposedSystem
from evalnb.wiring import find_callable, toml_system
from evalnb.workspace.system import open_workspace

DOCUMENTS = [
    {"path": "boots.md", "title": "Boots", "text": "Red boots for the mountains."},
    {"path": "more.md", "title": "More", "text": "More red boots, and their care."},
]


@pytest.fixture
def kb(tmp_path):
    workspace = open_workspace(tmp_path / "kb", create=True)
    workspace.ingest_corpus({"sources": [{"key": "shop", "documents": DOCUMENTS}]})
    return workspace


@pytest.fixture
def gold():
    cases = (
        GoldCase(
            case_id=f"c{at}",
            split="development",
            request={"query": "red boots"},
            content=[{"content_contains": "care"}],
        )
        for at in range(2)
    )
    return dataset_from_cases(tuple(cases), dataset_id="d")


@pytest.fixture
def chat(serve):
    """Serve a chat model that puts the passage about care first, counted."""

    def answer(handler, asked):
        prompt = asked.json["messages"][0]["content"]
        passages = prompt.partition("[1]")[2].split("[2]")
        order = "[2, 1]" if "care" in passages[-1] else "[1, 2]"
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
        return {"choices": [{"message": {"content": order}}], "usage": usage}

    return serve(answer)


def names(result):
    return [hit.document_name for hit in result.hits]


def test_a_workspace_names_a_chat_model_and_it_reranks(kb, gold, chat, monkeypatch, capsys):
    url = chat.url.removesuffix("/search")
    monkeypatch.setenv("LAB_KEY", "sk-abcdefgh")
    endpoint = {"url": url, "model": "m", "headers": {"Authorization": "Bearer ${LAB_KEY}"}}
    folder = str(kb.folder)
    for key, value in (("rerankers.llm", json.dumps(endpoint)), ("hints.reranker", "llm")):
        assert main(["config", "set", key, value, "--workspace", folder]) == 0
    assert main(["search", "red boots", "--mode", "keyword", "--workspace", folder]) == 0
    capsys.readouterr()
    assert chat.asked == []
    assert main(["search", "red boots", "--mode", "hybrid_rerank", "--workspace", folder]) == 3
    assert "no text index" in capsys.readouterr().err
    overrides = {"channels": ["lexical"], "rerank": True}
    prices = {"m": {"input_per_million": 10.0, "output_per_million": 40.0}}
    report = ev.evaluate(
        gold, {"llm": (ev.open_workspace(folder), overrides), "kb": kb}, prices=prices
    )
    assert report.record.results[0].result.hits[0].document_name == "more.md"
    assert report.record.variants[0].identity["llm.model"] == "m"
    costs = report.costs().set_index("variant")
    assert costs.loc["llm", ["calls", "tokens"]].tolist() == [1.0, 105.0]
    assert costs.loc["llm", "cost"] == pytest.approx(0.0012)
    assert costs.loc["kb", "n_calls"] == 0
    assert chat.asked[0].headers["Authorization"] == "Bearer sk-abcdefgh"
    assert "sk-abcdefgh" not in report.record.model_dump_json()


def test_a_chat_model_that_is_not_set_or_misses_its_key_is_told(kb, gold, monkeypatch):
    monkeypatch.delenv("LAB_KEY", raising=False)
    overrides = {"channels": ["lexical"], "rerank": True, "hints": {"reranker": "llm"}}
    with pytest.raises(CapabilityError, match=r"no reranker 'llm'.*config set rerankers\.llm"):
        ev.evaluate(gold, {"v": (ev.open_workspace(kb.folder), overrides)})
    kb.configure({"rerankers.llm": {"url": "http://x/v1", "model": "m"}})
    kb.configure({"rerankers.llm.headers.Authorization": "${LAB_KEY}"})
    with pytest.raises(CapabilityError, match="LAB_KEY is not set"):
        ev.evaluate(gold, {"v": (ev.open_workspace(kb.folder), overrides)})
    kb.configure({"rerankers.llm.model": None})
    with pytest.raises(BadInputError, match=r"config\.json: rerankers\.llm\.model"):
        ev.open_workspace(kb.folder)


def test_a_rerank_call_that_fails_poisons_no_other_leg(kb, serve, tmp_path, capsys):
    kb.index("text:lsa-256")
    service = serve(lambda handler, asked: handler.reply(500, b"overloaded"))
    endpoint = {"url": service.url, "model": "m", "retries": 0}
    kb.configure({"rerankers.llm": endpoint, "hints.reranker": "llm"})
    golden = tmp_path / "golden.json"
    golden.write_text(
        json.dumps({"cases": [{"query": "red boots", "expect": {"content_contains": "care"}}]})
    )
    assert main(["eval-retrieval", str(golden), "--workspace", str(kb.folder)]) == 0
    shown = capsys.readouterr()
    (line,) = [line for line in shown.out.splitlines() if line.startswith("1 ")]
    *legs, rerank = line.split()[-4:]
    assert all(rank in ("1", "2") for rank in legs)
    assert rerank == "n/a"
    assert "hybrid_rerank: 1 of 1 searches n/a: SEARCH_FAILED: " in shown.err
    assert "500 Internal Server Error: overloaded" in shown.err


def test_repetitions_show_how_much_a_chat_model_wavers(kb, serve, gold):
    turns = iter(["[2, 1]", "[2, 1]", "[1, 2]", "[1, 2]"])
    service = serve(lambda handler, asked: {"choices": [{"message": {"content": next(turns)}}]})
    rerank = {"url": service.url, "model": "m"}
    system = ev.fused({"kb": kb}, rerank=rerank)
    report = ev.evaluate(gold, {"llm": system}, repetitions=2, measures=["RR@10"])
    row = report.aggregates().set_index("measure").loc["RR@10"]
    assert row["mean"] == 0.75
    assert "repetitions differ in 2 of 2 cases, their means from 0.5 to 1" in row["note"]


def test_a_fused_file_names_its_channels_and_their_reranker(tmp_path, kb, chat, gold):
    (tmp_path / "mine.py").write_text(
        "def search(query):\n    return [('more.md', 'More red boots, and their care.')]\n"
        "def longest(query, texts):\n    return [len(text) for text in texts]\n"
    )
    path = tmp_path / "hybrid.toml"
    written = f"""
[fused]
weights = {{own = 0.5}}
[fused.channels]
keyword = {{workspace = "kb", overrides = {{mode = "keyword"}}}}
own = {{callable = "mine:search", version = "1"}}
[fused.rerank]
url = "{chat.url}"
model = "m"
"""
    path.write_text(written)
    system = toml_system(path)
    assert isinstance(system, ComposedSystem)
    assert system.capabilities().configuration.mode == "hybrid_rerank"
    report = ev.evaluate(gold, {"own": path, "plain": (str(path), {"mode": "keyword"})})
    assert names(report.record.results[0].result)[0] == "more.md"
    assert len(chat.asked) == 2  # the keyword variant reranks nothing
    path.write_text(
        written.partition("[fused.rerank]")[0] + '[fused.rerank]\ncallable="mine:longest"'
    )
    assert toml_system(path).reranker.identity["rerank.callable"] == "mine:longest"
    path.write_text(
        written.partition("[fused.rerank]")[0].replace("[fused]", '[fused]\nrerank = "maxsim"')
    )
    assert toml_system(path).reranker.identity["rerank.model"] == "maxsim"


def test_prices_on_the_command_line_make_costs(tmp_path, kb, chat, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "query,content\nred boots,care\nboots again,care\n"
    (tmp_path / "questions.csv").write_text(rows)
    (tmp_path / "hybrid.toml").write_text(
        f"""
[fused]
rerank = {{url = "{chat.url}", model = "m"}}
[fused.channels]
kb = {{workspace = "kb", overrides = {{mode = "keyword"}}}}
"""
    )
    (tmp_path / "prices.toml").write_text("[m]\ninput_per_million = 10.0\n")
    command = "evaluate questions development --dataset-path questions.csv --system hybrid.toml"
    assert main([*command.split(), "--prices", "prices.toml", "--json"]) == 0
    (costs,) = json.loads(capsys.readouterr().out)["observed"]["costs"]
    assert (costs["variant"], costs["tokens"], costs["n_cost"]) == ("configured", 105.0, 2)
    assert costs["cost"] == pytest.approx(0.001)
    (tmp_path / "prices.toml").write_text("[n]\ninput_per_million = 10.0\n")
    assert main([*command.split(), "--prices", "prices.toml"]) == 0
    assert "model 'm' has no price" in capsys.readouterr().err
    assert main([*command.split(), "--prices", "none.toml"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_a_reranker_has_the_name_that_hints_give_it(kb, gold, chat):
    by_model = ev.fused({"kb": kb}, rerank={"url": chat.url, "model": "m"})
    report = ev.evaluate(gold, {"llm": (by_model, {"hints": {"reranker": "m"}})}).record
    assert report.results[0].controls.hints.reranker == "m"
    with pytest.raises(CapabilityError, match="the reranker here is m, found 'maxsim'"):
        ev.evaluate(gold, {"llm": (by_model, {"hints": {"reranker": "maxsim"}})})
    local = ev.fused({"kb": kb}, rerank="maxsim")
    assert local.capabilities().configuration.hints.reranker == "maxsim"


WRONG = [
    ("[htp]", r"no system is described .write a table \[http\], \[postgres\], \[fused\]"),
    ("", "the file is empty"),
    ('[http]\nurl = "http://x/"\n[postgres]', "'postgres' stands beside the table http"),
    ("http = 1", "http is no table"),
    ("[fused]\n[fused.channels]", r"fused\.channels: .*at least 1"),
    ("[fused.channels]\na = {run = 1}", r"fused\.channels\.a\.run"),
    ('[fused.channels]\na = {run = "x", workspace = "y"}', "exactly one of workspace, callable"),
    ('[fused.channels]\na = {run = "x", overrides = {mod = 1}}', r"channels\.a\.overrides\.mod"),
    ('[fused]\nk = "60"\n[fused.channels]\na = {run = "x"}', r"fused\.k"),
    ('workspace = "x"\nrun = "y"', "exactly one of"),
    ('toml = "other.toml"', "cannot name another file"),
    ('callable = "nothing"', "does not name a function"),
    ('callable = "no.such.module:f"', "no module named"),
    ("a = " + "[" * 5000, "not TOML: nested too deeply"),
    ("a = " + "9" * 5000, "not TOML: .*4300 digits"),
    ('workspace = "a\\u0000"', "NUL"),
    ('[http]\nurl = "http://x/"\n[http.headers]\n"Ключ" = "x"', r"http\.headers\.Ключ"),
    ('[http]\nurl = "http://x/"\n[http.headers]\n"A B" = "x"', r"http\.headers\.A B"),
    ('[http]\nurl = "http://x/"\nca_file = "a\\u0000"', r"http\.ca_file"),
    ('[http]\nurl = "http://x/"\nbody = {q = "{query}", day = 2026-01-01}', "body is no JSON"),
    ("[postgres]\nencoder = 5", r"postgres\.encoder"),
    ("[postgres]\nrerank = 5", r"postgres\.rerank"),
    ('[postgres.chunks]\ntable = "a\\u0000"', r"postgres\.chunks\.table"),
]


@pytest.mark.parametrize(("content", "says"), WRONG)
def test_a_file_that_describes_no_system_is_refused_by_key(tmp_path, content, says):
    path = tmp_path / "system.toml"
    path.write_text(content)
    with pytest.raises(BadInputError, match=says):
        toml_system(path)


def test_files_that_name_each_other_are_refused(tmp_path):
    for own, other in ("ab", "ba"):
        content = f"[fused.channels]\nx = {{toml = '{other}.toml'}}\n"
        (tmp_path / f"{own}.toml").write_text(content)
    with pytest.raises(BadInputError, match=r"a\.toml: the file names itself as a channel"):
        toml_system(tmp_path / "a.toml")


def test_a_mark_at_the_beginning_and_windows_line_ends_are_no_part_of_a_file(tmp_path):
    path = tmp_path / "system.toml"
    path.write_bytes(b"\xef\xbb\xbf[http]\r\nurl = 'http://x/'\r\nbody = {q = '{query}'}\r\n")
    assert toml_system(path).settings.url == "http://x/"
    path.write_bytes(b"[http]\nurl = '\xff'\n")
    with pytest.raises(BadInputError, match="not TOML: 'utf-8' codec"):
        toml_system(path)
    with pytest.raises(BadInputError, match="found a folder"):
        toml_system(tmp_path)


def test_what_is_no_workspace_is_told_before_its_settings_are_read(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "none", tmp_path):
        with pytest.raises(BadInputError, match=r"workspace|no such"):
            ev.open_workspace(path)


def test_paths_stand_where_systems_do(tmp_path, gold):
    (tmp_path / "a.run").write_text("c0 Q0 more.md 1 1.0 r\nc1 Q0 more.md 1 1.0 r\n")
    (tmp_path / "a.toml").write_text('run = "a.run"\n')
    (tmp_path / "b.toml").write_text('callable = "operator:itemgetter"\n')
    report = ev.evaluate(gold, {"a": tmp_path / "a.toml", "b": str(tmp_path / "a.run")}).record
    assert [names(r.result) for r in report.results] == [["more.md"]] * 4
    assert list(ev.fused({"b": tmp_path / "b.toml", "own": lambda query: []}).channels) == [
        "b",
        "own",
    ]
    pair = ev.fused({"b": (str(tmp_path / "b.toml"), {"limit": 3})}).channels["b"]
    assert pair.overrides.limit == 3
    with pytest.raises(BadInputError, match=r"'a' is a run file, .* 'own' is asked for texts"):
        ev.fused({"a": tmp_path / "a.run", "own": lambda query: []})
    with pytest.raises(NotFoundError):
        ev.evaluate(gold, {"x": tmp_path / "none.toml"})
    with pytest.raises(BadInputError, match="channels need names"):
        ev.fused([print])  # type: ignore[arg-type]


def test_a_function_is_found_beside_its_file(tmp_path):
    (tmp_path / "beside_it.py").write_text("class A:\n    def find(query): ...\n")
    assert callable(find_callable("beside_it:A.find", tmp_path))
    with pytest.raises(NotFoundError, match=r"no 'A.fnd'.*did you mean 'find'"):
        find_callable("beside_it:A.fnd", tmp_path)
    (tmp_path / "broken_one.py").write_text("1 / 0\n")
    with pytest.raises(BadInputError, match="importing 'broken_one' failed: ZeroDivisionError"):
        find_callable("broken_one:f", Path(tmp_path))
    (tmp_path / "leaving_one.py").write_text("raise SystemExit(0)\n")
    with pytest.raises(BadInputError, match="importing 'leaving_one' failed: SystemExit: 0"):
        find_callable("leaving_one:f", Path(tmp_path))


def test_a_system_with_its_overrides_is_a_pair(gold):
    with pytest.raises(BadInputError, match="found 3 parts, expected a system and its overrides"):
        ev.evaluate(gold, {"x": (print, {}, 1)})
