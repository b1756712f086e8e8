"""Dimensions of products."""

from __future__ import annotations

import pytest

from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.jobs.products import joined


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ([(2, 12, 0), (3, 4, 0)], [(6, 4, 0)]),
        ([(2, 12, 8), (3, 4, 0)], [(2, 12, 8), (3, 4, 0)]),
        ([(2, 24, 6), (3, 8, 2), (4, 2, 1)], [(6, 8, 2), (4, 2, 1)]),
        ([], []),
    ],
)
def test_dimensions_are_joined_where_all_tensors_walk_them_in_one_stride(
    dims: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    assert joined(dims) == expected


@pytest.mark.parametrize("fn", ["relu", "gelu", "sigmoid"])
def test_an_activation_is_part_of_the_product(fn: str) -> None:
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False, "activation": fn}, (TensorType((9, 70), "Float32"),))]
    found = ran(works, [Given(normal(9, 8)), Given(normal(8, 70), constant=True)])
    assert found.kernels == ("PackRows", "Gemm")
    assert abs(found.native - found.reference).max() < 1e-5


def test_integers_of_64_bits_are_left_to_the_reference_kernel() -> None:
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (TensorType((2, 2), "Int64"),))]
    found = ran(works, [Given((normal(2, 3) * 9).astype("int64"), "Int64"), Given((normal(3, 2) * 9).astype("int64"), "Int64")])
    assert [op for op, _ in found.refusals] == ["tile.matmul"]
    assert (found.native == found.reference).all()
