"""The cases of ONNX's own suite that do not pass, each with its reason: the list that the tests hold the suite to.

python tools/onnx_misses.py    runs the whole suite in this process, and writes tests/data/onnx_misses.txt anew
"""

from __future__ import annotations

import argparse
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
NOTES = {
    "test_bernoulli": "expected are draws of numpy.random.binomial from numpy's global generator, seeded with 0, after it drew the input; "
    "the model holds neither the generator nor its state, and ONNX says of these cases that implementations may draw other values",
    "test_gradient": "a training op, of domain ai.onnx.preview.training; ONNX has neither a kernel nor a definition by other ops",
    "test_loop16_seq_none": "the suite takes the length of what a sequence holds, which has rank 0 here: it raises whatever that is",
}
"""Notes on cases whose names begin with these words."""


class TimeLimit(BaseException):
    """Raised for a case that takes too long; no `except Exception` on the way catches it."""


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
    """Return the outcome of one case, in this process and a bounded time."""
    try:
        with limited(seconds):
            return run_case(case)
    except TimeLimit:
        return replace(case.outcome, status="fail", reason=f"took more than {seconds:g} s")


def text_of(outcomes: Iterable[Outcome], kept: Iterable[str] = ()) -> str:
    """Return the list of those that do not pass, as text.  kept: lines about other cases."""
    rows = [*kept, *(f"{item.name}  {item.status}  {item.reason}" for item in outcomes if item.status != "pass")]
    notes = [f"# {start}*: {note}.\n" for start, note in NOTES.items() if any(row.startswith(start) for row in rows)]
    return f"{HEADING}{''.join(notes)}onnx {onnx.__version__}\n" + "".join(f"{' '.join(row.splitlines())}\n" for row in sorted(rows))


def read(text: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the version of onnx whose suite the list is about, and (status, code of the reason) by name."""
    version, *rows = _lines(text)
    found = [row.split(maxsplit=3) for row in rows]
    return version.removeprefix("onnx "), {name: (status, code) for name, status, code, *_ in found}


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def differences(outcomes: Iterable[Outcome], known: dict[str, tuple[str, str]]) -> list[str]:
    """Return what the list says otherwise than a run: cases that do not pass, or pass, or fail in another way, unexpectedly."""
    found: list[str] = []
    for item in outcomes:
        status, code = known.get(item.name, ("pass", ""))
        now = (item.reason.split(maxsplit=1) or [""])[0]
        if (item.status, now if item.status != "pass" else "") != (status, code):
            found.append(f"{item.name}: {item.status} {item.reason}".rstrip() + f"; the list has {status} {code}".rstrip())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-k", dest="pattern", default="", help="regular expression for names of cases")
    parser.add_argument("--listed", action="store_true", help="run the cases that are listed, and no others")
    options = parser.parse_args()
    text = FILE.read_text(encoding="utf-8")
    known = read(text)[1]
    mappings()
    chosen = [case for case in cases(options.pattern) if case.outcome.name in known or not options.listed]
    with tempfile.TemporaryDirectory(prefix="onnx-suite-") as folder:
        os.environ["ONNX_MODELS"] = folder
        outcomes = [run_limited(case) for case in chosen]
    ran = {item.name for item in outcomes}
    kept = [line for line in _lines(text)[1:] if line.split()[0] not in ran] if options.pattern or options.listed else []
    FILE.write_text(text_of(outcomes, kept), encoding="utf-8")
    print(f"{sum(item.status != 'pass' for item in outcomes)} of {len(outcomes)} cases do not pass: {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
