"""What travels with the package is found, and the bundled gold fits the Python it runs on."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from evalnb.api import evaluate
from evalnb.errors import NotFoundError
from evalnb.gold import bundled
from evalnb.gold.bundled import bundled_gold, bundled_path, python_reference
from evalnb.gold.cases import GoldCase, canonical_line
from evalnb.gold.loading import load_gold
from evalnb.search.ids import canonical_id
from evalnb.workspace.system import open_workspace

DOCUMENTS = {s["key"]: s["documents"][0] for s in python_reference()["sources"]}


def topic_source_id(topic: str) -> str:
    return canonical_id("source", topic)


def topic_document_id(topic: str) -> str:
    return canonical_id("document", topic_source_id(topic), f"{topic}.txt")


TOPIC_OF = {topic_document_id(topic): topic for topic in DOCUMENTS}
GOLD = load_gold(bundled_gold("python_reference"))
CASES = GOLD.cases
NAMED = [pytest.param(case, id=case.case_id) for case in CASES]


def folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


TEXTS = {topic: folded(document["text"]) for topic, document in DOCUMENTS.items()}


def answering(case: GoldCase) -> set[str]:
    phrases = [folded(p) for entry in case.content for p in entry.content_contains]
    return {topic for topic, text in TEXTS.items() if any(p in text for p in phrases)}


def expected(case: GoldCase) -> list[str]:
    return [TOPIC_OF[document] for document in case.expected.document_ids]


def best(case: GoldCase) -> list[str]:
    return [t for t in expected(case) if case.document_relevance[topic_document_id(t)] == 2]


def paragraphs(text: str) -> frozenset[str]:
    whole = (folded(part) for part in re.split(r"\n\s*\n", text))
    return frozenset(part for part in whole if len(part) > 80)


@functools.cache
def same_text() -> set[frozenset[str]]:
    """Pairs of topics where one repeats at least half of the other."""
    parts = {topic: paragraphs(document["text"]) for topic, document in DOCUMENTS.items()}
    size = {topic: sum(map(len, part)) for topic, part in parts.items()}
    return {
        frozenset((a, b))
        for a, b in itertools.combinations(parts, 2)
        if 2 * sum(map(len, parts[a] & parts[b])) >= max(1, min(size[a], size[b]))
    }


def test_found_in_the_working_tree(project_dir: Path) -> None:
    assert bundled_gold("python_reference") == project_dir / "gold" / "python_reference"


def test_found_in_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site-packages" / "evalnb"
    (installed / "_bundled" / "gold" / "mine").mkdir(parents=True)
    (installed / "_bundled" / "notebooks").mkdir()
    (installed / "_bundled" / "notebooks" / "tour.ipynb").write_text("{}")
    monkeypatch.setattr(bundled, "PACKAGE", installed)
    assert bundled_gold("mine") == installed / "_bundled" / "gold" / "mine"
    assert bundled.bundled_notebook("tour").name == "tour.ipynb"
    with pytest.raises(NotFoundError, match=r"'yours'.*there are: mine"):
        bundled_gold("yours")


@pytest.mark.parametrize("name", ["", "python_referenc", "manifest.json"])
def test_an_unknown_name_says_what_there_is(name: str) -> None:
    with pytest.raises(NotFoundError, match="python_reference"):
        bundled_path("gold", name)


def test_a_python_without_its_topics_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(NotFoundError, match="install the full standard library"):
        python_reference()


def test_the_corpus_is_the_topics_as_they_are() -> None:
    from pydoc_data.topics import topics

    assert len(DOCUMENTS) >= 79
    assert {topic: document["text"] for topic, document in DOCUMENTS.items()} == topics
    assert DOCUMENTS["with"] | {"text": ""} == {
        "path": "with.txt",
        "title": 'The "with" statement',
        "text": "",
        "identifiers": ["with"],
        "language": "en",
    }


def test_ids_are_the_same_on_every_python() -> None:
    assert topic_source_id("with") == "src_5e8fada6af2e5702bca60f3213f4e8d6"
    assert topic_document_id("with") == "doc_9bfef218a4aaccba03f7ec691150dfb4"


def test_the_manifest_pins_the_cases() -> None:
    folder = bundled_gold("python_reference")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    lines = (folder / "cases.jsonl").read_bytes()
    assert manifest == {
        "format": "tychora-gold@1",
        "dataset_id": "python_reference",
        "name": "Questions about the Python language reference",
        "case_count": len(CASES),
        "version_sha": hashlib.sha256(lines).hexdigest(),
    }
    assert b"".join(canonical_line(case) for case in CASES) == lines


def test_the_mixture_is_what_the_description_says() -> None:
    assert Counter((case.split, case.intent) for case in CASES) == {
        ("development", "natural_language"): 29,
        ("development", "exact_phrase"): 8,
        ("development", "identifier"): 8,
        ("test", "natural_language"): 13,
        ("test", "exact_phrase"): 4,
        ("test", "identifier"): 5,
    }
    assert len({case.case_id for case in CASES}) == len({case.request.query for case in CASES})
    assert sum(bool(case.request.exact_identifiers) for case in CASES) == 9
    assert sum(case.request.exact_only for case in CASES) == 4
    assert sum(bool(case.forbidden.source_ids) for case in CASES) == 13
    assert not any(case.label_provenance and case.label_provenance.independent for case in CASES)


@pytest.mark.parametrize("case", NAMED)
def test_labels_fit_this_python(case: GoldCase) -> None:
    sources = {topic_source_id(topic) for topic in DOCUMENTS}
    assert set(case.document_relevance) <= TOPIC_OF.keys()
    assert set(case.forbidden.source_ids) <= sources
    assert not {topic_source_id(topic) for topic in expected(case)} & set(case.forbidden.source_ids)

    found = answering(case)
    judged = {TOPIC_OF[document] for document in case.document_relevance}
    relatives = set().union(*(pair for pair in same_text() if pair & judged))
    assert set(expected(case)) <= found <= judged | relatives
    assert len(found) <= 5


@pytest.mark.parametrize("case", NAMED)
def test_exact_identifiers_stand_in_the_answer(case: GoldCase) -> None:
    for identifier in case.request.exact_identifiers:
        assert any(identifier in DOCUMENTS[topic]["text"] for topic in best(case))


def test_an_exact_phrase_is_its_own_answer() -> None:
    phrases = [case for case in CASES if case.intent == "exact_phrase"]
    for case in phrases:
        (entry,) = case.content
        (phrase,) = entry.content_contains
        assert phrase.replace("*", "") in case.request.query


def test_families_are_shared_text_and_do_not_cross_splits() -> None:
    related = same_text()
    assert frozenset(("try", "compound")) in related
    for one, other in itertools.combinations(CASES, 2):
        topics = itertools.product(best(one), best(other))
        if any(a == b or frozenset((a, b)) in related for a, b in topics):
            assert one.family_key == other.family_key, (one.case_id, other.case_id)
        if one.family_key == other.family_key or set(expected(one)) & set(expected(other)):
            assert one.split == other.split, (one.case_id, other.case_id)


def test_the_template_loads_as_it_stands() -> None:
    template = load_gold(bundled_gold("golden.example.json"))
    assert len(template) == 4
    assert template.cases[0].content[0].document == "report.pdf"
    assert template.cases[0].content[0].content_contains == ("revenue grew", "gelirleri")


@pytest.mark.slow
def test_keyword_search_neither_solves_the_questions_nor_misses_them(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "workspace", create=True)
    workspace.ingest_corpus(python_reference())
    workspace.index("lexical:stem-en")
    systems = {
        "plain": workspace,
        "stemmed": (workspace, {"hints": {"lexical_index": "lexical:stem-en"}}),
        "phrase": (workspace, {"hints": {"lexical_operator": "phrase"}}),
    }
    report = evaluate(GOLD, systems, measures=["RR@10"]).record
    assert report.integrity.ok
    mean = {
        (row.variant, row.slice): row.mean for row in report.aggregates if row.measure == "RR@10"
    }
    questions, phrases = "intent=natural_language", "intent=exact_phrase"
    assert 0.2 < mean["plain", questions] < 0.6
    assert 0.2 < mean["stemmed", questions] < 0.6
    assert mean["stemmed", "tag:vocabulary=inflected"] > mean["plain", "tag:vocabulary=inflected"]
    assert mean["plain", "tag:vocabulary=different"] > mean["stemmed", "tag:vocabulary=different"]
    assert (mean["phrase", phrases], mean["phrase", questions]) == (1, 0)
    assert {mean[name, "tag:lookup=only"] for name in systems} == {1}
