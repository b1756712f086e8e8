"""Arithmetic of works, counted: what a profile divides by time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import cast

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.tile.movement import only_moves

_FREE = frozenset({"tile.adjust", "tile.cast", "tile.yield"})
"""Ops that compute nothing, though they may round."""


def flops_of(function: Function) -> int:
    """Operations of arithmetic; a multiplication and the addition of its product are two.

    Products, convolutions, attention, recurrent layers and pools are counted as they are defined; other ops that compute count one for
    each element of the largest tensor that they read or write, and once what stands in their regions.  Sizes that depend on data count as
    one, and so do repetitions that data decides.
    """
    types = function.value_types
    return sum(_work_flops(work, [types[number] for number in work.operands if number is not None]) for work in function.works)


def _work_flops(work: Work, operands: Sequence[TensorType]) -> int:
    if work.body is not None or work.bodies:
        inner = work.bodies if work.body is None else (work.body, *work.bodies)
        return sum(map(flops_of, inner))
    if work.op in _FREE or work.op.startswith("ttc.") or only_moves(work):
        return 0
    counted = _COUNTS.get(work.op)
    return max(map(_elements, (*operands, *work.results)), default=0) if counted is None else counted(work, operands)


def _elements(type_: TensorType) -> int:
    return prod(max(size, 1) if size < 0 else size for size in type_.shape)


def _matmul(work: Work, operands: Sequence[TensorType]) -> int:
    inner = operands[0].shape[-2:] or (1,)
    return 2 * _elements(work.results[0]) * abs(inner[0] if work.attrs.get("transpose_a") else inner[-1])


def _convolution(work: Work, operands: Sequence[TensorType]) -> int:
    """w[kh, kw, c / groups, o]: each element of y takes all but the last."""
    return 2 * _elements(work.results[0]) * prod(operands[1].shape[:-1])


def _transposed_convolution(work: Work, operands: Sequence[TensorType]) -> int:
    """w[kh, kw, o / groups, i]: each element of x gives to all but the last."""
    return 2 * _elements(operands[0]) * prod(operands[1].shape[:-1])


def _attention(work: Work, operands: Sequence[TensorType]) -> int:
    """q[..., n, d], k[..., keys, d]: scores, and their sum of the values."""
    return 2 * operands[1].shape[-2] * (_elements(operands[0]) + _elements(work.results[0]))


def _recurrent(work: Work, operands: Sequence[TensorType]) -> int:
    """x[a, b, c] with steps and batch first, and the weights of inputs and of states."""
    return 2 * prod(operands[0].shape[:2]) * (_elements(operands[1]) + _elements(operands[2]))


def _pool(work: Work, operands: Sequence[TensorType]) -> int:
    return _elements(work.results[0]) * prod(cast("tuple[int, ...]", work.attrs["kernel"]))


_COUNTS: Mapping[str, Callable[[Work, Sequence[TensorType]], int]] = MappingProxyType(
    {
        "tile.matmul": _matmul,
        "tile.conv2d": _convolution,
        "tile.conv_transpose2d": _transposed_convolution,
        "tile.attention": _attention,
        **dict.fromkeys(("tile.rnn", "tile.gru", "tile.lstm"), _recurrent),
        **dict.fromkeys(("tile.max_pool2d", "tile.avg_pool2d"), _pool),
    }
)
