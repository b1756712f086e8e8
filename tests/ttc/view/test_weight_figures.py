"""Figures of tensors."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.view import weight_figures
from ttc.view.weight_figures import BINS, figures_of


def test_figures(rng: np.random.Generator) -> None:
    values = rng.normal(size=(40, 5)).astype(np.float32)
    found = figures_of(values)
    assert found["min"] == values.min()
    assert found["max"] == values.max()
    assert found["mean"] == pytest.approx(values.mean(), abs=1e-6)
    assert found["deviation"] == pytest.approx(values.std(), rel=1e-5)
    assert len(found["histogram"]) == BINS
    assert sum(found["histogram"]) == 200


def test_constants_integers_and_nothing() -> None:
    assert figures_of(np.full(7, 3, np.int8))["histogram"][0] == 7
    assert figures_of(np.zeros((0, 3), np.float32)) == {}
    assert figures_of(np.array(["a"], object)) == {}


def test_what_is_not_finite_is_counted() -> None:
    found = figures_of(np.array([np.nan, np.inf, 1, 2], np.float32))
    assert (found["min"], found["max"], found["not_finite"]) == (1, 2, 2)
    assert figures_of(np.array([np.nan], np.float32)) == {"finite": 0}


def test_large_tensors_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_figures, "MAX_ELEMENTS", 100)
    found = figures_of(np.arange(1000, dtype=np.float32))
    assert found["counted"] == 100
    assert found["min"] == 0
