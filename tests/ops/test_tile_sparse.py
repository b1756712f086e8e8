"""tile.sparse_matmul, tile.depthwise and sums of products against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.kernels.sparse import sparse_matmul
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.sparse import DepthwiseOp, SparseMatmulOp

X = generator("tile_sparse.X").standard_normal((3, 4, 5)).astype(np.float32)


def selection(**changes: Any) -> dict[str, Any]:
    """All rows of X, in their order."""
    plain = {"source": (3, 4), "sizes": (3, 4), "steps": (1, 0, 0, 1), "offsets": (0, 0), "divisors": (1, 1), "terms": 0, "nearest": False}
    return plain | {"shape": (3, 4, 5)} | changes


def test_all_rows() -> None:
    check_op(SparseMatmulOp, [X], selection(), X)


def test_rows_in_another_order() -> None:
    attrs = selection(sizes=(4, 3), steps=(0, 1, 1, 0), shape=(4, 3, 5))
    check_op(SparseMatmulOp, [X], attrs, np.ascontiguousarray(X.swapaxes(0, 1)))


@pytest.mark.parametrize("nearest", [False, True])
def test_outside(nearest: bool) -> None:
    expected = np.pad(X, ((1, 0), (0, 2), (0, 0)), mode="edge" if nearest else "constant")
    check_op(SparseMatmulOp, [X], selection(sizes=(4, 6), offsets=(-1, 0), nearest=nearest, shape=(4, 6, 5)), expected)


def test_between() -> None:
    expected = np.zeros((3, 7, 5), np.float32)
    expected[:, ::2] = X
    check_op(SparseMatmulOp, [X], selection(sizes=(3, 7), divisors=(1, 2), shape=(3, 7, 5)), expected)


def test_sums_of_rows() -> None:
    attrs = selection(sizes=(3, 4), terms=1, shape=(4, 5))
    check_op(SparseMatmulOp, [X], attrs, X.sum(axis=0), 1e-6)


def test_backward() -> None:
    attrs = selection(steps=(-1, 0, 0, -1), offsets=(2, 3))
    check_op(SparseMatmulOp, [X], attrs, np.ascontiguousarray(X[::-1, ::-1]))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"steps": (1, 0, 0)}, "E0402"),
        ({"terms": 3}, "E0402"),
        ({"divisors": (0, 1)}, "E0402"),
        ({"offsets": (1 << 40, 0)}, "E0402"),
        ({"sizes": (1 << 20, 1 << 20), "shape": (1 << 20, 1 << 20, 5)}, "E0402"),
        ({"source": (3, 5)}, "E0401"),
        ({"shape": (3, 4, 6)}, "E0401"),
        ({"shape": (3, 3, 5)}, "E0401"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], code: str) -> None:
    check_error(SparseMatmulOp, [(3, 4, 5)], selection(**changes), code)


@pytest.mark.parametrize("activation", [None, "relu"])
def test_depthwise(activation: str | None, rng: np.random.Generator) -> None:
    weights, bias = rng.standard_normal((3, 5)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    expected = (X * weights[:, None]).sum(axis=0) + bias
    attrs = {} if activation is None else {"activation": activation}
    check_op(DepthwiseOp, [X, weights, bias], attrs, expected if activation is None else np.maximum(expected, 0), 1e-6)


@pytest.mark.parametrize("shapes", [[(3, 4, 5), (3, 4), None], [(4, 5), (4, 5), None], [(3, 4, 5), (3, 5), (6,)]])
def test_depthwise_that_does_not_fit(shapes: list[tuple[int, ...] | None]) -> None:
    check_error(DepthwiseOp, shapes, {}, "E0401")


@pytest.mark.parametrize("k", [5, 70])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_sums_of_products(k: int, transpose_b: bool, rng: np.random.Generator) -> None:
    a = rng.standard_normal((2, 3, 4, k)).astype(np.float32)
    b = rng.standard_normal((3, 6, k) if transpose_b else (3, k, 6)).astype(np.float32)
    bias = rng.standard_normal(6).astype(np.float32)
    expected = (a @ (b.swapaxes(1, 2) if transpose_b else b)).sum(axis=1) + bias
    attrs = {"transpose_a": False, "transpose_b": transpose_b, "accumulate": True}
    check_op(MatmulOp, [a, b, bias], attrs, expected, 1e-4)


@pytest.mark.parametrize("shapes", [[(4, 5), (5, 6), None], [(2, 4, 5), (3, 5, 6), None], [(2, 4, 5), (5, 6), None]])
def test_products_that_cannot_be_summed(shapes: list[tuple[int, ...] | None]) -> None:
    check_error(MatmulOp, shapes, {"transpose_a": False, "transpose_b": False, "accumulate": True}, "E0401")


def test_no_selection_reads_without_end() -> None:
    with pytest.raises(Error) as error:
        sparse_matmul(X, **selection(sizes=(1 << 20, 1 << 20), terms=1, shape=(1 << 20, 5)))
    assert error.value.code == "E0402"


def test_a_sum_of_nothing_is_zero() -> None:
    check_op(SparseMatmulOp, [X], selection(sizes=(0, 4), terms=1, shape=(4, 5)), np.zeros((4, 5), np.float32))
