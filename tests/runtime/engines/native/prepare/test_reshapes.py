"""Elementwise nodes join products through reshapes."""

from __future__ import annotations

import numpy as np
import pytest

from tests import sums
from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import Function, TensorType, Work

_FLAT, _BATCHED = TensorType((6, 10), "Float32"), TensorType((2, 3, 10), "Float32")
_PRODUCT = Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (_FLAT,))
_RESHAPE = Work("tile.reshape", (3,), {"shape": (2, 3, 10)}, (_BATCHED,))


def _map(fn: str, *operands: int, type_: TensorType = _BATCHED) -> Work:
    return Work("tile.map", operands, {"fn": fn, "names": (), "values": ()}, (type_,))


def _given(*residual: int) -> list[Given]:
    return [Given(normal(6, 8)), Given(normal(8, 10), constant=True), Given(normal(*residual))]


@pytest.mark.parametrize("operands", [(4, 2), (2, 4)])
def test_a_residual_is_added_through_a_reshape(operands: tuple[int, int]) -> None:
    given = _given(2, 3, 10)
    found = ran([_PRODUCT, _RESHAPE, _map("sub", *operands), _map("relu", 5)], given)
    assert found.kernels == ("PackRows", "Gemm")
    assert found.native.shape == (2, 3, 10)
    a, b, residual = (np.abs(operand.array) for operand in given)
    sums.close(found.native, found.reference, (a @ b).reshape(2, 3, 10) + residual, 1e-6)


def test_regions_take_the_other_shape_with_all_that_they_hold() -> None:
    body = Function((_BATCHED, _BATCHED), (_map("mul", 0, 1), _map("add", 2, 0)), (3,))
    found = ran([_PRODUCT, _RESHAPE, Work("tile.eltwise", (4, 2), {}, (_BATCHED,), body)], _given(2, 3, 10))
    assert found.kernels == ("PackRows", "Gemm")
    found.close(1e-6)


def test_operands_that_are_made_later_or_read_twice_or_broadcast_stay() -> None:
    later = [_PRODUCT, _RESHAPE, _map("relu", 2), _map("add", 4, 5)]
    twice = [_PRODUCT, _RESHAPE, _map("add", 4, 2), _map("mul", 5, 4)]
    for works, residual in ((later, (2, 3, 10)), (twice, (2, 3, 10)), ([_PRODUCT, _RESHAPE, _map("add", 4, 2)], (2, 1, 10))):
        found = ran(works, _given(*residual))
        assert found.kernels[-1] == "Eltwise"
        found.close(1e-6)
