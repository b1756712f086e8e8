"""Ops that write where indices say, against their numpy kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from tests.runtime.engines.native.graphs import Given, Ran, ran
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType, Work

REDUCTIONS = ("none", "add", "mul", "max", "min")


def written(op: str, shape: tuple[int, ...], indices: NDArray, updates: tuple[int, ...], format: str = "Float32", **attrs: Any) -> Ran:
    """One op over small integers, which all formats hold."""
    x, values = (rng_of_test().integers(0, 5, size).astype(format_named(format).compute) for size in (shape, updates))
    work = Work(f"tile.{op}", (0, 1, 2), attrs, (TensorType(shape, format),))
    found = ran([work], [Given(x, format), Given(indices, "Int64"), Given(values, format)])
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)
    return found


@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Int32", "UInt8"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_slices(reduction: str, format: str, rng: np.random.Generator) -> None:
    indices = rng.integers(-4, 4, (9, 2))
    written("scatter_nd", (4, 5, 33), indices, (9, 33), format, reduction=reduction)


@pytest.mark.parametrize(("shape", "keys"), [((7,), 1), ((7, 3), 1), ((7, 3, 2), 3)])
def test_tuples_of_any_length(shape: tuple[int, ...], keys: int, rng: np.random.Generator) -> None:
    indices = rng.integers(0, 2, (3, 4, keys))
    written("scatter_nd", shape, indices, (3, 4, *shape[keys:]), reduction="none")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements(axis: int, reduction: str, rng: np.random.Generator) -> None:
    indices = rng.integers(-3, 3, (3, 4, 5))
    written("scatter_elements", (3, 4, 5), indices, (3, 4, 5), axis=axis, reduction=reduction)
    written("scatter_elements", (5, 6, 7), indices, (3, 4, 5), "Float16_b", axis=axis, reduction=reduction)


def test_an_index_outside_is_what_the_reference_engine_says() -> None:
    with pytest.raises(Error, match="index 7 is outside a dimension of 7 elements"):
        written("scatter_nd", (7, 3), np.array([[1], [7]]), (2, 3), reduction="none")
