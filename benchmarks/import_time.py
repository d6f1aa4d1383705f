"""What starting costs, in CPU milliseconds of a whole process, interpreter included.

Run ``python benchmarks/import_time.py``. Each command runs a few times and the cheapest run counts,
because other work on the machine can only add to it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 9
BUDGETS = {"import evalnb": 150, "evalnb --help": 150}


def cpu_ms(arguments: list[str]) -> float:
    """Return user + system time of the cheapest of several runs."""
    costs = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return 1000 * min(costs)


def main() -> int:
    """Print each cost beside that of a bare interpreter; 1 if one is past its budget."""
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "a.qrels"), Path(folder, "a.run")
        qrels.write_text("q1 0 d1 1\n")
        run.write_text("q1 Q0 d1 1 1.0 t\n")
        commands = {
            "python -c pass": ["-c", "pass"],
            "import evalnb": ["-c", "import evalnb"],
            "import typer": ["-c", "import typer"],
            "evalnb --help": ["-m", "evalnb", "--help"],
            "evalnb score": ["-m", "evalnb", "score", str(qrels), str(run)],
            "import pandas": ["-c", "import pandas"],
        }
        costs = {name: cpu_ms(arguments) for name, arguments in commands.items()}
    bare = costs["python -c pass"]
    print("command          CPU ms  x bare  budget")
    for name, cost in costs.items():
        print(f"{name:15} {cost:7.0f} {cost / bare:7.1f}  {BUDGETS.get(name, '')}")
    return int(any(costs[name] > budget for name, budget in BUDGETS.items()))


if __name__ == "__main__":
    raise SystemExit(main())
