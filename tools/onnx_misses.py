"""The cases of ONNX's own suite that do not pass, each with its reason: the list that the tests hold the suite to.

python tools/onnx_misses.py    runs the whole suite in this process, and writes tests/data/onnx_misses.txt anew
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

import onnx

from onnx_suite import Case, Outcome, cases, run_case
from ttc.importers.onnx.tables import mappings

FILE = Path(__file__).resolve().parent.parent / "tests/data/onnx_misses.txt"
TIME_LIMIT_SECONDS = 60
HEADING = """\
# Cases of ONNX's own backend tests that do not pass on target host: name, what becomes of it, why.
# Written by tools/onnx_misses.py.  The tests fail if another case does not pass, and if one of these does.
"""


class TimeLimit(BaseException):
    """A case takes too long; no `except Exception` on the way holds it up."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TimeLimit inside once the time is over.  In the main thread alone."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_limited(case: Case, seconds: float = TIME_LIMIT_SECONDS) -> Outcome:
    """The outcome of one case, in this process and a bounded time."""
    try:
        with limited(seconds):
            return run_case(case)
    except TimeLimit:
        return replace(case.outcome, status="fail", reason=f"took more than {seconds:g} s")


def text_of(outcomes: Iterable[Outcome]) -> str:
    """The list of those that do not pass, as text."""
    rows = sorted(f"{item.name}  {item.status}  {item.reason}" for item in outcomes if item.status != "pass")
    return f"{HEADING}onnx {onnx.__version__}\n" + "".join(f"{' '.join(row.splitlines())}\n" for row in rows)


def read(text: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """The version of onnx whose suite the list is about, and (status, code of the reason) by name."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows = [line.split(maxsplit=3) for line in lines[1:]]
    return lines[0].removeprefix("onnx "), {name: (status, code) for name, status, code, *_ in rows}


def differences(outcomes: Iterable[Outcome], known: dict[str, tuple[str, str]]) -> list[str]:
    """What the list says otherwise than a run: cases that do not pass, or pass, or fail in another way, unexpectedly."""
    found: list[str] = []
    for item in outcomes:
        status, code = known.get(item.name, ("pass", ""))
        now = (item.reason.split(maxsplit=1) or [""])[0]
        if (item.status, now if item.status != "pass" else "") != (status, code):
            found.append(f"{item.name}: {item.status} {item.reason}".rstrip() + f"; the list has {status} {code}".rstrip())
    return found


def main() -> int:
    mappings()
    with tempfile.TemporaryDirectory(prefix="onnx-suite-") as folder:
        os.environ["ONNX_MODELS"] = folder
        outcomes = [run_limited(case) for case in cases("")]
    FILE.write_text(text_of(outcomes), encoding="utf-8")
    print(f"{sum(item.status != 'pass' for item in outcomes)} of {len(outcomes)} cases do not pass: {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
