"""Statistics of entries."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.golden.netlists import flat, queue_of
from ttc.dialects.core.errors import Error
from ttc.runtime.golden.records import Record
from ttc.runtime.machine.limits import Limits, Meter


def test_statistics_are_those_of_all_entries_together():
    entries = np.random.default_rng(0).normal(3, 2, (5, 1, 32, 32)).astype(np.float32)
    entries[1, 0, 0, :3] = np.nan, np.inf, -np.inf
    record = Record(queue_of(), "output", True, Meter(Limits()))
    for entry in entries:
        record.add(entry)
    finite = entries[np.isfinite(entries)].astype(np.float64)
    figures = record.figures()
    assert figures == {
        "mean": pytest.approx(finite.mean()),
        "std": pytest.approx(finite.std()),
        "min": finite.min(),
        "max": finite.max(),
        "nonfinite": 3,
    }
    np.testing.assert_array_equal(record.array(), entries)


def test_nothing_finite():
    record = Record(queue_of(), "output", False, Meter(Limits()))
    record.add(flat(np.nan))
    assert record.figures() == {"mean": None, "std": None, "min": None, "max": None, "nonfinite": 1024}


def test_kept_entries_count():
    record = Record(queue_of(), "output", True, Meter(Limits(size_bytes=5000)))
    record.add(flat(1))
    with pytest.raises(Error, match="E0805"):
        record.add(flat(1))
