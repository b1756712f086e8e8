"""Work in copies of a process.

The process of the tests has threads, so that each test has one of its own.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ttc.runtime import forked

HEAD = """
import os, sys, threading, time
from ttc.runtime import forked as tested
from ttc.runtime.forked import MAX_BYTES, can_fork, forked
"""


def said(code: str, *arguments: str | Path) -> list[str]:
    """Run code in a process of its own; gives the lines that it prints."""
    command = [sys.executable, "-c", HEAD + textwrap.dedent(code), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr
    return ended.stdout.splitlines()


def test_an_answer_comes_from_a_process_that_is_gone() -> None:
    code = """
    seen = []
    def work():
        seen.append(1)
        return str(os.getpid()).encode()
    found = int(forked(work, lambda: seen.append(2)))
    print(found != os.getpid(), seen, os.path.exists(f"/proc/{found}"))
    """
    assert said(code) == ["True [2] False"]


def test_what_was_printed_is_there_once() -> None:
    code = """
    print("before")
    forked(lambda: print("inside") or b"", lambda: None)
    print("after")
    """
    assert said(code) == ["before", "inside", "after"]


@pytest.mark.parametrize(
    "work",
    [
        "1 / 0",
        "os._exit(3)",
        "os.kill(os.getpid(), 9)",
        "bytes(MAX_BYTES + 1)",
        "time.sleep(100) or b''",
        "threading.Lock().acquire() and stuck.acquire() or b''",
    ],
)
def test_there_is_no_answer_of_what_fails_or_hangs(work: str) -> None:
    code = f"""
    tested.IDLE_SECONDS = 0.2
    sys.stderr = open(os.devnull, "w")
    stuck = threading.Lock()
    stuck.acquire()
    print(forked(lambda: {work}, lambda: None))
    """
    assert said(code) == ["None"]


def test_a_copy_that_computes_is_waited_for() -> None:
    code = """
    tested.IDLE_SECONDS = 1.0
    def work():
        end = time.process_time() + 2.5
        while time.process_time() < end:
            pass
        return b"done"
    print(forked(work, lambda: None))
    """
    assert said(code) == ["b'done'"]


def test_a_copy_ends_when_what_goes_on_meanwhile_fails(tmp_path: Path) -> None:
    code = """
    def work():
        time.sleep(1)
        open(sys.argv[1], "w").close()
        return b""
    try:
        forked(work, lambda: 1 / 0)
    except ZeroDivisionError:
        print("raised")
    time.sleep(1.5)
    """
    assert said(code, tmp_path / "made") == ["raised"]
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "state",
    [
        "threading.Thread(target=time.sleep, args=(2,), daemon=True).start()",
        "sys.modules['jax'] = sys",
        "sys.settrace(lambda *_: None)",
        "sys.setprofile(lambda *_: None)",
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "import signal; signal.signal(signal.SIGCHLD, lambda *_: os.wait())",
    ],
)
def test_there_is_no_copy_of_a_process_that_does_not_stand_it(state: str) -> None:
    assert said("print(can_fork())") == ["True"]
    assert said(f"{state}; print(can_fork(), forked(lambda: b'', lambda: None))") == ["False None"]


def test_tests_make_no_copies() -> None:
    """They look at what is compiled in their own process (see `conftest`)."""
    assert not forked.can_fork()
