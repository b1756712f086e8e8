"""Fit the figures of the cycle model to timings of single ops on silicon, and score the fit on what it has not seen.

    python tools/fit_costs.py DIR [-o FOLDER]        write FOLDER/<arch>.toml (default: runtime/perf/data/ops) from all timings of DIR
    python tools/fit_costs.py DIR --holdout [--seed N]  no files: errors on a fifth of the rows, and on each file, left out of the fit

DIR is read as `cost_error.py` reads it.  Every figure is positive (the fit is of their logarithms), starts at its published value and is
held to it by a weak prior; errors are relative and their absolute value counts, so that a few odd rows do not matter.
The same timings give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cost_error import Score, report
from figures import WIDER, starts, to_toml
from timings import Timing, by_file, read_timings
from ttc.runtime.perf.core import modelled
from ttc.runtime.perf.table import Figure, FigureTable

STEPS = 40
PRIOR = 0.002
"""The weight of a figure's distance from its start, in logarithms, against one row's relative error."""
FLOOR = 0.01
"""The relative error below which errors count by their square."""
DIFFERENCE = 1e-4
"""The difference of a logarithm by which derivatives are computed."""
MIN_ROWS = 4
"""The least number of rows that must depend on a figure for it to be fitted."""
LEAST = 0.1
"""The start of a figure whose published value is 0."""
DIGITS = 4
"""The significant digits kept, so that the last bits of a solver do not show."""


class Trial(FigureTable):
    """A table of figures on trial, which notes those that are read."""

    def __init__(self, arch: str, figures: Mapping[str, Figure]) -> None:
        super().__init__(arch, figures)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> float:
        self.read.add(name)
        return self._values[name]

    def set(self, name: str, value: float) -> None:
        """Give a figure another value."""
        self._values[name] = value


@dataclass
class Fit:
    """Figures of one architecture in the making.

    Args:
        figures: all of it, with their values so far.
        rows: timings to fit.
    """

    figures: dict[str, Figure]
    rows: Sequence[Timing]

    def __post_init__(self) -> None:
        self.trial = Trial(self.rows[0].arch, self.figures)
        self.uses = self._uses()
        counts = {name: len(rows) for name, rows in self.uses.items()}
        self.names = sorted(name for name, count in counts.items() if count >= MIN_ROWS)
        sizes = {file: len(rows) for file, rows in by_file(self.rows).items()}
        self.share = np.array([len(self.rows) / len(sizes) / sizes[r.file] for r in self.rows]) ** 0.5

    def _uses(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, row in enumerate(self.rows):
            self.trial.read = set()
            modelled(row.work, self.trial)
            for name in sorted(self.trial.read):
                found.setdefault(name, []).append(index)
        return found

    def run(self) -> dict[str, Figure]:
        """Return the fitted figures: damped least squares on logarithms, rows weighted so that absolute errors are minimized."""
        start = np.log([max(self.figures[n].value, LEAST) for n in self.names])
        x, damping = start.copy(), 1e-3
        errors = self._errors(x)
        loss = self._loss(errors, x - start)
        for _ in range(STEPS):
            jacobian = self._jacobian(x, errors)
            weights = self.share / np.maximum(np.abs(errors), FLOOR)
            gradient = jacobian.T @ (weights * errors) + PRIOR * (x - start) / FLOOR
            hessian = jacobian.T @ (jacobian * weights[:, None]) + PRIOR / FLOOR * np.eye(len(x))
            step = np.linalg.solve(hessian + damping * np.diag(np.diag(hessian)), -gradient)
            tried = x + np.clip(step, -0.7, 0.7)
            found = self._errors(tried)
            better = self._loss(found, tried - start)
            if better >= loss:
                damping *= 8
                if damping > 1e6:
                    break
                continue
            done = loss - better < 1e-5 * loss
            x, errors, loss, damping = tried, found, better, damping / 4
            if done:
                break
        return self.figures | {n: self._figure(n, float(np.exp(v))) for n, v in zip(self.names, x, strict=True)}

    def _figure(self, name: str, value: float) -> Figure:
        return Figure(float(f"{value:.{DIGITS}g}"), self.figures[name].unit, "fitted")

    def _loss(self, errors: NDArray, moved: NDArray) -> float:
        size = np.abs(errors)
        huber = np.where(size < FLOOR, size**2 / (2 * FLOOR), size - FLOOR / 2)
        return float((self.share * huber).sum() + PRIOR / FLOOR * (moved**2).sum() / 2)

    def _errors(self, x: NDArray) -> NDArray:
        for name, value in zip(self.names, np.exp(x), strict=True):
            self.trial.set(name, float(value))
        return np.array([modelled(r.work, self.trial).total / r.cycles - 1 for r in self.rows])

    def _jacobian(self, x: NDArray, errors: NDArray) -> NDArray:
        found = np.zeros((len(self.rows), len(x)))
        for column, name in enumerate(self.names):
            self.trial.set(name, float(np.exp(x[column] + DIFFERENCE)))
            for index in self.uses[name]:
                row = self.rows[index]
                found[index, column] = (modelled(row.work, self.trial).total / row.cycles - 1 - errors[index]) / DIFFERENCE
            self.trial.set(name, float(np.exp(x[column])))
        return found


def fit(rows: Sequence[Timing], start: Mapping[str, Figure] | None = None) -> dict[str, Figure]:
    """Return fitted figures of the one architecture that the rows are of; from other starting values where given."""
    return Fit(dict(start or starts(rows[0].arch)), rows).run()


def predict(figures: Mapping[str, Figure], rows: Iterable[Timing]) -> list[float]:
    """Return relative errors of the model under these figures."""
    figures_table = FigureTable("", figures)
    return [modelled(r.work, figures_table).total / r.cycles - 1 for r in rows]


def by_arch(rows: Iterable[Timing]) -> dict[str, list[Timing]]:
    """Return rows of each architecture."""
    found: dict[str, list[Timing]] = {}
    for row in rows:
        found.setdefault(row.arch, []).append(row)
    return found


def files_of(rows: Sequence[Timing]) -> dict[str, str]:
    """Return the text of each architecture's file by its name: fitted ones, and those that follow from them."""
    fitted = {arch: fit(part) for arch, part in sorted(by_arch(rows).items())}
    found: dict[str, str] = {}
    for arch, figures in fitted.items():
        base = fitted.get("wormhole_b0", {}) if arch != "wormhole_b0" else {}
        own = {name: figure for name, figure in figures.items() if base.get(name) != figure and (figure.origin == "fitted" or not base)}
        found[arch] = to_toml(arch, own, "wormhole_b0" if base else None)
    if "wormhole_b0" in fitted:
        usual = fitted["wormhole_b0"]
        wider = {name: Figure(usual[name].value * factor, usual[name].unit, "published") for name, factor in WIDER.items()}
        found["blackhole"] = to_toml("blackhole", wider, "wormhole_b0")
    return found


def held_out_rows(rows: Sequence[Timing], seed: int, share: float = 0.2) -> list[Score]:
    """Return errors on a share of the rows of every architecture, from a fit to the others."""
    chosen = np.random.default_rng(seed).random(len(rows)) < share
    found: list[Score] = []
    for part in by_arch(rows).values():
        hidden = [r for r, out in zip(rows, chosen, strict=True) if out and r.arch == part[0].arch]
        figures = fit([r for r, out in zip(rows, chosen, strict=True) if not out and r.arch == part[0].arch])
        found += [Score(r, error) for r, error in zip(hidden, predict(figures, hidden), strict=True)]
    return found


def held_out_files(rows: Sequence[Timing], only: Sequence[str] = ()) -> list[Score]:
    """Return errors on each file, or each whose name holds one of some words, from a fit to all others of its architecture."""
    found: list[Score] = []
    for part in by_arch(rows).values():
        warm = fit(part)
        published = starts(part[0].arch)
        for file, hidden in by_file(part).items():
            if only and not any(word in file for word in only):
                continue
            rest = [r for r in part if r.file != file]
            known = Fit(dict(published), rest).names
            start = {name: warm[name] if name in known else figure for name, figure in published.items()}
            found += [Score(r, error) for r, error in zip(hidden, predict(fit(rest, start), hidden), strict=True)]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, or score what a fit has not seen.  Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).resolve().parent.parent / "runtime" / "perf" / "data" / "ops")
    parser.add_argument("--holdout", action="store_true", help="score rows and files that are left out of the fit; write nothing")
    parser.add_argument("--seed", type=int, default=0, help="of the rows left out")
    options = parser.parse_args(arguments)
    try:
        rows = read_timings(options.folder).rows
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        print(f"{options.folder}: {problem}", file=sys.stderr)
        return 2
    if not rows:
        print(f"{options.folder} holds no timings", file=sys.stderr)
        return 2
    if options.holdout:
        print(f"A fifth of the rows, seed {options.seed}:", *report(held_out_rows(rows, options.seed)), sep="\n")
        print("\nEach file in turn:", *report(held_out_files(rows)), sep="\n")
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    for arch, text in files_of(rows).items():
        (options.output / f"{arch}.toml").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
