"""Reading a run by columns says what reading it row by row says, or nothing at all."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalnb.errors import GoldError
from evalnb.gold import trec_scan, trec_scattered
from evalnb.gold.trec import parse_run, rank_documents
from evalnb.gold.trec_scan import Scan, scan_run

Judged = dict[str, dict[str, int]]


def _strictly(path: Path, judged: Judged) -> Scan:
    """Say the same from the rows."""
    run = parse_run(path)
    scan = Scan(str(path), n_rank_contradictions=run.n_rank_contradictions, notes=run.notes)
    for query, scores in run.scores.items():
        scan.n_ranked[query] = len(scores)
        if query not in judged:
            continue
        values = list(scores.values())
        scan.n_tied += sum(values.count(value) > 1 for value in values)
        ranks = {document: rank for rank, document in enumerate(rank_documents(scores), start=1)}
        found = [(rank, document) for document, rank in ranks.items() if document in judged[query]]
        if found:
            scan.found[query] = sorted(found)
        for _, document in found:
            above = sum(value > scores[document] for value in values)
            if (size := values.count(scores[document])) > 1:
                scan.ties.setdefault(query, {})[document] = (above, size)
        if query in ranks:
            scan.self_ranks[query] = ranks[query]
    return scan


def _check(path: Path, judged: Judged) -> None:
    scan = scan_run(path, judged, with_selves=True)
    assert scan is not None
    assert scan == _strictly(path, judged)


@pytest.fixture(
    params=[(40, 1 << 30), (200, 30), (1 << 20, 1 << 24)], ids="{0[0]} of {0[1]}".format
)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small chunks, in small parts side by side, and as it is."""
    chunk, part = request.param
    monkeypatch.setattr(trec_scan, "_CHUNK", chunk)
    monkeypatch.setattr(trec_scattered, "_CHUNK", chunk)
    monkeypatch.setattr(trec_scan, "_PART", part)
    monkeypatch.setattr("os.cpu_count", lambda: 4)


JUDGED = {"q1": {"d1": 1, "d3": 0, "ghost": 1}, "q2": {"d1": 1}, "q9": {"x": 1}}
PLAIN = {
    "in order": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 3 1 t\nq2 Q0 d1 1 1 t\nq3 Q0 d1 1 1 t\n",
    "no last line end": "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t",
    "out of order": "q2 Q0 d1 3 1 t\nq2 Q0 d2 1 2 t\nq1 Q0 d3 0 1 t\nq1 Q0 d1 0 2 t\n",
    "all tied": "".join(f"q1 Q0 d{n} {n} 1.0 t\n" for n in range(1, 13)),
    "tied around": "q1 Q0 d4 1 2 t\nq1 Q0 d1 2 2.0 t\nq1 Q0 d3 3 2 t\nq1 Q0 d2 4 1 t\n",
    "tabs": "q1\tQ0\td1\t1\t3\tt\nq2\tQ0\td2\t1\t3\tt\n",
    "crlf": "q1 Q0 d1 1 3 t\r\nq1 Q0 d3 2 2 t\r\nq2 Q0 d1 1 3 t\r\n",
    "byte order mark": "\ufeffq1 Q0 d1 1 3 t\nq1 Q0 d3 2 2 t\n",
    "letters": "q1 Q0 gümüş 1 3 t\nq1 Q0 d1 2 2 t\nsöz Q0 d1 1 1 t\n",
    "self": "q1 Q0 d1 1 3 t\nq1 Q0 q1 2 3 t\nq1 Q0 d3 3 3 t\nq9 Q0 q9 1 1 t\n",
    "long ids": "".join(f"q1 Q0 msmarco_v2.1_doc_{n:020} {n} {9 - n} t\n" for n in range(9)),
    "a query in two places": "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 d3 2 2 t\n",
    "no two rows together": "".join(
        f"{query} Q0 d{n} {n} {n % 5} t\n"
        for n in range(1, 15)
        for query in ("q2", "a-longer-query", "q9-of-sixteen-ch", "q1", "é")
    ),
    "scattered, no last line end": "q2 Q0 d1 1 3 t\nq1 Q0 d1 1 3 t\nq2 Q0 d3 2 2 t",
    "scattered, tabs": "q2\tQ0\td1\t1\t3\tt\nq1\tQ0\td3\t1\t3\tt\nq2\tQ0\td2\t2\t2\tt\n",
    "ranks all 0": "".join(f"q1 Q0 d{n} 0 {n}.5 t\n" for n in range(9)),
}


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("name", PLAIN)
def test_plain_files(name: str, tmp_path: Path) -> None:
    for path, data in (
        (tmp_path / "a.run", PLAIN[name].encode()),
        (tmp_path / "a.run.gz", gzip.compress(PLAIN[name].encode())),
    ):
        path.write_bytes(data)
        _check(path, JUDGED)


UNUSUAL = {
    "a comment": "# six fields of a comment\nq1 Q0 d1 1 3 t\n",
    "a duplicate": "q1 Q0 d1 1 3 t\nq1 Q0 d1 2 2 t\n",
    "more after the tag": "q1 Q0 d1 1 3 t more\n",
    "blanks aligned": "q1 Q0 d1   1 3 t\n",
    "a blank line": "q1 Q0 d1 1 3 t\n\nq2 Q0 d1 1 3 t\n",
    "not a number": "q1 Q0 d1 1 nan t\n",
    "rank without digits": "q1 Q0 d1 - 1 t\n",
    "control character": "q1 Q0 d\x01 1 1 t\n",
    "delete": "q1 Q0 d\x7f 1 1 t\n",
    "invisible": "q1 Q0 d\u200b 1 1 t\n",
    "carriage return inside": "q1 Q0 d1 1 3 t\rq1 Q0 d2 2 2 t\n",
    "id too long": f"q1 Q0 {'d' * 513} 1 3 t\n",
    "a scattered duplicate": "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 d1 2 2 t\n",
    "scattered, crlf": "q1 Q0 d1 1 3 t\r\nq2 Q0 d1 1 3 t\r\nq1 Q0 d2 2 2 t\r\n",
    "scattered, byte order mark": "\ufeffq1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\n",
    "scattered, a blank line": "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\n\nq1 Q0 d2 2 2 t\n",
    "empty": "",
}


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("name", UNUSUAL)
def test_anything_else_is_left_to_the_strict_reader(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(UNUSUAL[name].encode())
    found = scan_run(path, JUDGED)
    assert found is None or (name == "empty" and not found.n_ranked)


@pytest.mark.parametrize("data", [b"q1 Q0 d\xfc 1 3 t\n", b"\x1f\x8b broken", b"\x1f\x8b"])
def test_bytes_that_are_no_text_or_no_gzip(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(data)
    assert scan_run(tmp_path / "a.run", JUDGED) is None
    assert scan_run(tmp_path / "none.run", JUDGED) is None


_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "q10", "a-much-longer-query"]),
        st.sampled_from(["d1", "d3", "d10", "q1", "x" * 9, "document-17", "é"]),
        st.integers(0, 12),
        st.sampled_from(["1", "1.0", "0.5", "-2.25", "3.75", "2.000001", "2.0000010000000001"]),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:2],
)


_GRADES = st.dictionaries(st.sampled_from(["d1", "d3", "x" * 9, "é", "q1"]), st.integers(0, 2))
_SIZES = st.tuples(st.integers(20, 400), st.integers(20, 4000))


@pytest.mark.soak
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=_ROWS,
    judged=st.dictionaries(st.sampled_from(["q1", "q2", "q9"]), _GRADES, min_size=1),
    sizes=_SIZES,
    grouped=st.booleans(),
)
def test_random_files(
    rows: list[tuple[Any, ...]],
    judged: Judged,
    sizes: tuple[int, int],
    grouped: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trec_scan, "_CHUNK", sizes[0])
    monkeypatch.setattr(trec_scan, "_PART", sizes[1])
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    path = tmp_path / "a.run"
    if grouped:
        rows = sorted(rows, key=lambda row: str(row[0]))
    path.write_text("".join(f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in rows))
    _check(path, judged)


@pytest.mark.soak
@given(st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        scan = scan_run(file.name, JUDGED)
        if scan is not None and scan.n_ranked:
            assert scan == _strictly(Path(file.name), JUDGED)
        try:
            parse_run(file.name)
        except GoldError:
            assert scan is None or not scan.n_ranked


def test_a_large_file_is_read_in_parts_that_begin_with_a_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trec_scan, "_PART", 2000)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    path = tmp_path / "a.run"
    rows = [f"q{q} Q0 d{d} {d} {99 - d} t\n" for q in range(40) for d in range(20)]
    path.write_text("".join(rows))
    parts = trec_scan._parts(path)
    assert len(parts) == trec_scan.MOST_PARTS
    assert parts[0][0] == 0
    assert parts[-1][1] == path.stat().st_size
    for begin, _ in parts:
        assert path.read_bytes()[begin:].split(None, 3)[2] == b"d0"
    judged = {f"q{q}": {"d3": 1, f"d{q % 20}": 1} for q in range(50)}
    _check(path, judged)
    path.write_text("".join([*rows, "q0 Q0 other 1 1 t\n"]))
    _check(path, judged)


def test_queries_that_stand_apart_are_named_by_id(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("".join(f"q{q} Q0 d{d} {d} 1 t\n" for d in range(3) for q in (7, 30, 5)))
    scan = scan_run(path, JUDGED)
    assert scan is not None
    assert list(scan.n_ranked) == ["q30", "q5", "q7"]
