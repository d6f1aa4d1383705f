"""A call that may hang is given up, and never blocks the exit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from evalnb.errors import SearchTimeoutError
from evalnb.search.calling import TimedCaller


def test_values_and_errors_come_back():
    caller = TimedCaller()
    assert caller.call(lambda: 3, 5) == 3
    with pytest.raises(ZeroDivisionError):
        caller.call(lambda: 1 / 0, 5)
    assert caller.call(threading.get_ident, 5) == caller.call(threading.get_ident, 5)
    caller.close()


def test_a_late_answer_is_never_taken_for_the_next_calls():
    caller = TimedCaller()
    release = threading.Event()
    with pytest.raises(SearchTimeoutError, match=r"0\.05 s"):
        caller.call(lambda: release.wait(10) and "late", 0.05)
    release.set()
    assert [caller.call(lambda n=n: n, 5) for n in range(20)] == list(range(20))
    caller.close()


def test_a_hung_call_does_not_keep_the_process():
    program = (
        "import time\n"
        "from evalnb.search.calling import TimedCaller\n"
        "from evalnb.errors import SearchTimeoutError\n"
        "try:\n    TimedCaller().call(lambda: time.sleep(60), 0.1)\n"
        "except SearchTimeoutError:\n    print('gave up')\n"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "gave up\n", done.stderr
    assert time.monotonic() - began < 20
