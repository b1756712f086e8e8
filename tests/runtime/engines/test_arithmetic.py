"""Arithmetic of works, counted."""

from __future__ import annotations

import pytest

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.runtime.engines.arithmetic import flops_of


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, "Float32")


def one(op: str, inputs: list[TensorType], result: TensorType, **attrs: object) -> Function:
    work = Work(op, tuple(range(len(inputs))), attrs, (result,))  # pyright: ignore[reportArgumentType]
    return Function(tuple(inputs), (work,), (len(inputs),))


@pytest.mark.parametrize(
    ("function", "flops"),
    {
        "a product": (one("tile.matmul", [tensor(3, 5, 7), tensor(7, 2)], tensor(3, 5, 2)), 2 * 3 * 5 * 7 * 2),
        "transposed": (one("tile.matmul", [tensor(7, 5), tensor(7, 2)], tensor(5, 2), transpose_a=True), 2 * 5 * 7 * 2),
        "a vector": (one("tile.matmul", [tensor(7), tensor(7, 2)], tensor(2)), 2 * 7 * 2),
        "a convolution in two groups": (one("tile.conv2d", [tensor(1, 8, 8, 4), tensor(3, 3, 2, 6)], tensor(1, 6, 6, 6)), 2 * 216 * 18),
        "transposed convolution": (
            one("tile.conv_transpose2d", [tensor(1, 4, 4, 8), tensor(2, 2, 3, 8)], tensor(1, 8, 8, 3)),
            2 * 128 * 2 * 2 * 3,
        ),
        "attention": (
            one("tile.attention", [tensor(2, 5, 8), tensor(2, 7, 8), tensor(2, 7, 4)], tensor(2, 5, 4)),
            2 * 2 * 5 * 7 * 8 + 2 * 2 * 5 * 7 * 4,
        ),
        "a pool": (one("tile.max_pool2d", [tensor(1, 8, 8, 3)], tensor(1, 4, 4, 3), kernel=(2, 2)), 48 * 4),
        "a reduction": (one("tile.reduce", [tensor(4, 9)], tensor(4)), 36),
        "moving": (one("tile.transpose", [tensor(4, 9)], tensor(9, 4)), 0),
        "a size that depends on data": (one("nn.unique", [tensor(-1, 9)], tensor(-1)), 9),
        "nothing": (Function((tensor(3),), (), (0,)), 0),
    }.values(),
)
def test_flops(function: Function, flops: int) -> None:
    assert flops_of(function) == flops


def test_regions_count_what_stands_in_them() -> None:
    inner = Function((tensor(4, 3), tensor(4, 3)), (_map(0, 1), _map(2, 2)), (3,))
    whole = Work("tile.eltwise", (0, 1), {}, (tensor(4, 3),), body=inner)
    assert flops_of(Function((tensor(4, 3), tensor(4, 3)), (whole,), (2,))) == 24
    branches = Work("nn.if", (0,), {}, (tensor(4, 3),), bodies=(inner, inner))
    assert flops_of(Function((tensor(1),), (branches,), (1,))) == 48


def _map(a: int, b: int) -> Work:
    return Work("tile.map", (a, b), {"fn": "add"}, (tensor(4, 3),))


def test_a_recurrent_layer() -> None:
    inputs = [tensor(5, 2, 8), tensor(1, 16, 8), tensor(1, 16, 4)]
    assert flops_of(one("tile.lstm", inputs, tensor(5, 1, 2, 4))) == 2 * 10 * (128 + 64)
