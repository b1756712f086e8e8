"""Score the cycle model against timings of single ops on silicon.

    python tools/cost_error.py DIR [--json]

DIR is searched for CSV files of the two layouts that `timings.py` describes; the architecture is a column (`arch`), or the folder around
a file.  Relative errors by file and by class; exit status 1 if a class is over its bar, 2 if nothing can be read.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from timings import Timing, Timings, read_timings
from ttc.runtime.perf.core import core_cycles

BARS = {"matmul": (0.04, 0.15), "elementwise": (0.10, 0.25)}
"""The largest median and 90th percentile of relative errors, by class."""
SPARSE = (0.5, 2.0)
"""The bounds on estimate by measured time: what 9 of 10 sparse products lie between, and the median of any file."""
SHOWN = 20
"""The most bad rows that are listed."""


@dataclass(frozen=True)
class Score:
    """A timing and the model's relative error on it."""

    timing: Timing
    error: float


def scored(rows: Iterable[Timing]) -> list[Score]:
    """Return the rows under the tables of the package."""
    return [Score(row, core_cycles(row.work, row.arch).total / row.cycles - 1) for row in rows]


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return rows, median and 90th percentile of absolute relative errors, and the range of estimate by measurement of 9 rows in 10."""
    errors = np.array([s.error for s in scores])
    low, high = np.quantile(1 + errors, [0.05, 0.95])
    return {
        "rows": len(scores),
        "median": round(float(np.median(np.abs(errors))), 4),
        "p90": round(float(np.quantile(np.abs(errors), 0.9)), 4),
        "ratio": [round(float(low), 3), round(float(high), 3)],
    }


def grouped(scores: Sequence[Score], key: str) -> dict[str, dict[str, Any]]:
    """Return summaries by `file` or by `kind` of the timings."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(getattr(score.timing, key), []).append(score)
    return {name: {"class": part[0].timing.kind, **summary(part)} for name, part in sorted(groups.items())}


def over(kind: str, found: dict[str, Any]) -> bool:
    """Return whether the summary of a class is over its bar."""
    if kind not in BARS:
        return not (SPARSE[0] <= found["ratio"][0] and found["ratio"][1] <= SPARSE[1])
    median, p90 = BARS[kind]
    return found["median"] > median or found["p90"] > p90


def report(scores: Sequence[Score]) -> list[str]:
    """Return lines of a table: files, then classes."""
    lines = [f"{'file':58} {'class':12} {'rows':>5} {'median':>8} {'p90':>8}  estimate / measured"]
    for name, found in grouped(scores, "file").items():
        lines.append(_line(name, found))
    for kind, found in grouped(scores, "kind").items():
        lines.append(_line(f"all {kind}", found) + ("  over the bar" if over(kind, found) else ""))
    return lines


def _line(name: str, found: dict[str, Any]) -> str:
    low, high = found["ratio"]
    return f"{name:58} {found['class']:12} {found['rows']:5} {found['median']:8.2%} {found['p90']:8.2%}  {low:.2f} .. {high:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the scores; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        found = read_timings(options.folder)
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        print(f"{options.folder}: {problem}", file=sys.stderr)
        return 2
    scores = scored(found.rows)
    classes = grouped(scores, "kind")
    failed = [kind for kind, summary_ in classes.items() if over(kind, summary_)]
    if options.json:
        files = grouped(scores, "file")
        print(json.dumps({"classes": classes, "files": files, "over": failed, "unscored": found.unscored, "bad_rows": found.bad}, indent=2))
    else:
        print(*report(scores), *_remarks(found), sep="\n")
    if not scores:
        print(f"{options.folder} holds no timings", file=sys.stderr)
        return 2
    return 1 if failed else 0


def _remarks(found: Timings) -> list[str]:
    reasons = [(name, reason, rows) for name, of_file in found.unscored.items() for reason, rows in of_file.items()]
    lines = [f"not scored: {name}: {rows} rows: {reason}" for name, reason, rows in reasons]
    lines += [f"bad row: {text}" for text in found.bad[:SHOWN]]
    if len(found.bad) > SHOWN:
        lines.append(f"and {len(found.bad) - SHOWN} more bad rows")
    return lines


if __name__ == "__main__":
    sys.exit(main())
