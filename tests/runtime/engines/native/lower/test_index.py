"""Ops that read where indices say, against their numpy kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

LEVELS = ("amx", "avx2", "generic")


def read(op: str, x: NDArray, indices: NDArray, *, format: str = "Float32", index: str = "Int64", level: str = "amx", **attrs: Any) -> Ran:
    """One op; indices in their format."""
    shape = np.shape(kernel(f"tile.{op}")(x, indices, **attrs))
    work = Work(f"tile.{op}", (0, 1), attrs, (TensorType(shape, format),))
    found = ran([work], [Given(x, format), Given(indices, index)], level=level)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("width", [1, 5, 33, 768])
def test_rows_of_a_table(width: int, level: str, rng: np.random.Generator) -> None:
    found = read("embedding", normal(50, width), rng.integers(-50, 50, (2, 17)), level=level)
    assert found.kernels == ("Gather",)


@pytest.mark.parametrize("index", ["Int32", "UInt8", "UInt16", "Int64"])
@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Int32", "Bool"])
def test_types(format: str, index: str, rng: np.random.Generator) -> None:
    x = normal(30, 40).astype({"Int32": np.int32, "Bool": np.bool_}.get(format, np.float32))
    read("embedding", x, rng.integers(0, 30, (9,)).astype(index.lower()), format=format, index=index)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_slices_along_any_axis(axis: int, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    read("gather", normal(4, 6, 5), rng.integers(-4, 4, shape), axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements(axis: int, rng: np.random.Generator) -> None:
    found = read("gather_elements", normal(4, 6, 5), rng.integers(-4, 4, (4, 5, 3)), axis=axis)
    assert found.kernels == ("GatherElements",)


@pytest.mark.parametrize(("batch_dims", "shape"), [(0, (7, 2)), (0, (3, 2, 1)), (0, (6, 3)), (1, (4, 3, 1)), (2, (4, 6, 3, 1))])
def test_tuples_of_indices(batch_dims: int, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    read("gather_nd", normal(4, 6, 5, 3), rng.integers(-3, 3, shape), batch_dims=batch_dims)


@pytest.mark.parametrize("wrong", [50, -51, 1 << 40])
def test_an_index_outside_is_what_the_reference_engine_says(wrong: int, rng: np.random.Generator) -> None:
    indices = rng.integers(0, 50, (100,))
    indices[77] = wrong
    work = Work("tile.embedding", (0, 1), {}, (TensorType((100, 8), "Float32"),))
    with pytest.raises(Error, match=f"index {wrong} is outside a dimension of 50 elements") as caught:
        ran([work], [Given(normal(50, 8)), Given(indices, "Int64")])
    assert caught.value.code == "E0802"


def test_an_index_of_an_unsigned_type_does_not_count_from_the_end() -> None:
    work = Work("tile.embedding", (0, 1), {}, (TensorType((1, 8), "Float32"),))
    with pytest.raises(Error, match="is outside"):
        ran([work], [Given(normal(50, 8)), Given(np.array([2**64 - 1], np.uint64), "UInt64")])
