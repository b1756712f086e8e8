"""Fits of the cycle model: to a part of the timings, scored on the rest."""

from pathlib import Path

import numpy as np
import pytest

from cost_error import BARS, Score, grouped, over
from figures import starts
from fit_costs import Fit, files_of, fit, predict
from timings import by_file, read_timings
from ttc.runtime.perf.table import table

DATA = Path(__file__).resolve().parents[1] / "data" / "silicon_ops"


@pytest.fixture(scope="module")
def rows():
    return read_timings(DATA).rows


@pytest.mark.parametrize("arch", ["grayskull", "wormhole_b0"])
def test_a_fifth_of_the_rows_foretells_the_others(rows, arch: str) -> None:
    part = [row for row in rows if row.arch == arch]
    seen = np.random.default_rng(4).random(len(part)) < 0.2
    figures = fit([row for row, known in zip(part, seen, strict=True) if known])
    hidden = [row for row, known in zip(part, seen, strict=True) if not known]
    found = grouped([Score(row, error) for row, error in zip(hidden, predict(figures, hidden), strict=True)], "kind")
    assert not {kind: of_kind for kind, of_kind in found.items() if over(kind, of_kind)}


UNSEEN = ["matmul-fp16", "matmul-l1-acc-bfp8", "maximum-int32", "subtract-int8"]
"""Sweeps of formats that the rest has of other ops, or in other variants."""


@pytest.mark.parametrize("word", UNSEEN)
def test_a_sweep_left_out_is_foretold_by_its_neighbours(rows, word: str) -> None:
    part = [row for row in rows if row.arch == "wormhole_b0"]
    file = next(name for name in by_file(part) if word in name)
    rest = [row for row in part if row.file != file][::5]
    published, known = starts("wormhole_b0"), set(Fit(starts("wormhole_b0"), rest).names)
    start = {name: table("wormhole_b0").figures[name] if name in known else figure for name, figure in published.items()}
    hidden = by_file(part)[file]
    median, p90 = (0.08, 0.2) if hidden[0].kind == "matmul" else BARS["elementwise"]
    errors = np.abs(predict(fit(rest, start), hidden))
    assert np.median(errors) <= median
    assert np.quantile(errors, 0.9) <= p90


def test_all_figures_are_positive_and_tell_their_origin() -> None:
    for arch in ("grayskull", "wormhole_b0", "blackhole"):
        for name, figure in table(arch).figures.items():
            assert figure.value > 0 or (figure.value == 0 and figure.origin == "published"), name
            assert figure.origin in ("fitted", "published")
            assert figure.unit in ("cycles", "cycles/block", "cycles/tile", "bytes/cycle", "ratio")


def test_files_are_written_the_same_each_time(rows) -> None:
    few = rows[::40]
    assert files_of(few) == files_of(few)
    assert files_of(few).keys() == {"grayskull", "wormhole_b0", "blackhole"}
