"""A killed process and a full disk: nothing torn under a final name, nothing lost, work goes on.

A few rounds here; ``make soak`` runs hundreds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalnb.api import open_workspace
from evalnb.errors import EvalnbError
from evalnb.evaluation.report import EvaluationReport, Observed, load_report_record
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.gold.dataset import load_gold_dir, write_gold_dir
from evalnb.search.request import Overrides, QueryRequest, resolve_controls
from evalnb.search.system import SearchContext

pytestmark = [pytest.mark.soak, pytest.mark.slow]

SEARCH = """
import time
def search(query, limit):
    time.sleep(0.02)
    return [f"d{(int(query.split()[1]) * 7 + n) % 40}" for n in range(limit)]
"""
WORKSPACE = ("--workspace", "ws")
EVALUATE = ("evaluate", "forty", "development", "--dataset-path", "gold", "--out", "out")
# The library is imported before the limit, so that only what evalnb writes meets the full disk.
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import evalnb.cli.evaluate, evalnb.cli.workspace, evalnb.cli.gold, evalnb.api
import evalnb.workspace.system, evalnb.evaluation.runner, evalnb.show.tables, pandas
from evalnb.cli.main import main
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "mine.py").write_text(SEARCH)
    cases = tuple(
        GoldCase(
            case_id=f"c{n}",
            split="development",
            request={"query": f"question {n}"},
            expected={"document_ids": [f"d{n}"]},
        )
        for n in range(40)
    )
    write_gold_dir(dataset_from_cases(cases, dataset_id="forty"), tmp_path / "gold")
    (tmp_path / "variants.json").write_text(
        json.dumps(
            {
                "format": "evalnb-variants@1",
                "systems": {"s": {"callable": "mine:search", "version": "1"}},
                "variants": [{"name": "v", "system": "s"}],
            }
        )
    )
    documents = tmp_path / "documents"
    documents.mkdir()
    for n in range(60):
        (documents / f"d{n:02}.md").write_text(f"# Title {n}\n\n" + f"word{n} shared text. " * 80)
    return tmp_path


def evalnb(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evalnb", *arguments]


def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet)


def finish(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=400, check=False
    )


def kill_at_random(command: list[str], folder: Path, chance: random.Random, longest: float) -> bool:
    """Kill a command at a random moment; say whether it had not finished before."""
    with start(command, folder) as process:
        time.sleep(chance.uniform(0.2, longest))
        alive = process.poll() is None
        process.kill()
        process.wait()
    return alive


def found(folder: Path) -> tuple[str, list[str]]:
    """Search a workspace: its snapshot, and the units that it returns."""
    workspace = open_workspace(folder)
    request = QueryRequest(query="word7 shared")
    controls = resolve_controls(request, Overrides(), workspace.capabilities().configuration)
    session = workspace.open(SearchContext())
    try:
        result = session.search(request, controls)
    finally:
        session.close()
    return session.snapshot.snapshot_id, [hit.ids.unit_id for hit in result.hits]


def outside_observed(report: Path) -> EvaluationReport:
    return load_report_record(report).model_copy(update={"observed": Observed()})


def test_a_killed_evaluation_goes_on_and_ends_as_if_nothing_had_happened(place, effort):
    command = evalnb(*EVALUATE, "--variants", "variants.json", "--no-notebooks")
    assert finish(command, place).returncode == 0
    whole = outside_observed(place / "out" / "report.json")
    chance, killed, resumed = random.Random(0), 0, 0
    for _ in range(effort(1, 100)):
        (place / "out" / "report.json").unlink(missing_ok=True)
        for _ in range(3):
            killed += kill_at_random(command, place, chance, 2.5)
            if (place / "out" / "report.json").exists():
                assert outside_observed(place / "out" / "report.json") == whole
        done = finish(command, place)
        assert done.returncode == 0, done.stderr
        resumed += "of a stopped run" in done.stderr
        assert outside_observed(place / "out" / "report.json") == whole
        assert not list(place.glob("out/.*"))
    assert killed


def test_a_killed_ingest_leaves_the_old_state_or_the_new_one(place, effort):
    reference = evalnb("ingest", "documents", "--workspace", "whole", "--language", "en")
    assert finish(reference, place).returncode == 0
    whole = found(place / "whole")
    command = [*reference[:-3], "broken", "--language", "en"]
    chance, killed = random.Random(1), 0
    for _ in range(effort(3, 300)):
        killed += kill_at_random(command, place, chance, 2.0)
        with contextlib.suppress(EvalnbError):  # nothing was published yet, and it says so
            assert found(place / "broken") == whole
    assert killed
    done = finish(command, place)
    assert done.returncode == 0, done.stderr
    assert found(place / "broken") == whole


def test_a_killed_index_is_built_or_not_there(place, effort):
    ingest = evalnb("ingest", "documents", "--workspace", "ws", "--language", "en")
    assert finish(ingest, place).returncode == 0
    chance, killed = random.Random(3), 0
    for _ in range(effort(1, 100)):
        for folder in place.glob("ws/indexes/lexical:plain/*"):
            shutil.rmtree(folder)
        killed += kill_at_random(evalnb("index", "lexical:plain", *WORKSPACE), place, chance, 0.9)
        asked = finish(
            evalnb("search", "word7", "--lexical-index", "lexical:plain", *WORKSPACE), place
        )
        assert asked.returncode in (0, 3), asked.stderr
        assert ("d07.md" in asked.stdout) == (asked.returncode == 0)
    assert killed
    assert finish(evalnb("index", "lexical:plain", *WORKSPACE), place).returncode == 0


def test_a_killed_report_leaves_whole_pages_or_none(place, effort):
    command = evalnb(*EVALUATE, "--variants", "variants.json", "--no-notebooks")
    assert finish(command, place).returncode == 0
    chance, killed = random.Random(4), 0
    for _ in range(effort(1, 30)):
        command = evalnb("report", "out/report.json", "--out", "pages")
        killed += kill_at_random(command, place, chance, 5.0)
        for page in place.glob("pages/*.html"):
            assert page.read_text().rstrip().endswith("</html>")
        for page in place.glob("pages/[!.]*.ipynb"):
            cells = json.loads(page.read_text())["cells"]
            assert all(c["execution_count"] for c in cells if c["cell_type"] == "code")
    assert killed


ONLY_SOAK = pytest.mark.skipif(not os.environ.get("EVALNB_SOAK"), reason="only in make soak")
WORK = [
    *("evaluate", "ingest"),
    *(pytest.param(what, marks=ONLY_SOAK) for what in ("index", "pin", "report")),
]


@pytest.mark.parametrize("what", WORK)
def test_a_full_disk_leaves_nothing_half_written(place, effort, what):
    chance = random.Random(2)
    sizes = [20_000, *(chance.randrange(400_000) for _ in range(effort(0, 100)))]
    pinned = load_gold_dir(place / "gold").version_sha
    if what == "index":
        assert finish(evalnb("ingest", "documents", *WORKSPACE), place).returncode == 0
    if what == "report":
        whole = evalnb(*EVALUATE[:-1], "whole", "--variants", "variants.json", "--no-notebooks")
        assert finish(whole, place).returncode == 0
    for size in sizes:
        command = {
            "evaluate": [*EVALUATE, "--variants", "variants.json", "--no-notebooks"],
            "ingest": ["ingest", "documents", "--workspace", f"ws{size}"],
            "index": ["index", "lexical:plain", *WORKSPACE],
            "report": ["report", "whole/report.json", "--out", "out"],
            "pin": ["gold", "pin", "gold", "--name", f"n{size}"],
        }[what]
        done = finish([sys.executable, "-c", LIMITED, str(size), *command], place)
        assert done.returncode in (0, 3), (size, done.stderr)
        assert "Traceback" not in done.stderr
        report = place / "out" / "report.json"
        if report.exists():
            assert len(load_report_record(report).results) == 40
        for page in place.glob("out/*.html"):
            assert page.read_text().rstrip().endswith("</html>")
        assert load_gold_dir(place / "gold").version_sha == pinned
        assert not [p.name for p in place.glob("*/.*") if p.name.startswith(".evalnb")]
    after = finish(evalnb(*command), place)
    assert after.returncode == 0, after.stderr
