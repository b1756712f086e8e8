"""Reductions along axes: up to some opset the axes are an attribute, then an operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS

Reduce: TypeAlias = Callable[[Builder, SSAValue, tuple[int, ...], bool], SSAValue]


def _plain(op: str) -> Reduce:
    return lambda b, x, axes, keepdims: b.nn(op, x, axes=axes, keepdims=keepdims)


def _of(op: str, before: str) -> Reduce:
    return lambda b, x, axes, keepdims: b.nn(op, b.nn(before, x), axes=axes, keepdims=keepdims)


def _sum_square(b: Builder, x: SSAValue, axes: tuple[int, ...], keepdims: bool) -> SSAValue:
    return b.nn("reduce_sum", b.nn("mul", x, x), axes=axes, keepdims=keepdims)


def _l2(b: Builder, x: SSAValue, axes: tuple[int, ...], keepdims: bool) -> SSAValue:
    return b.nn("sqrt", _sum_square(b, x, axes, keepdims))


def _log_sum(b: Builder, x: SSAValue, axes: tuple[int, ...], keepdims: bool) -> SSAValue:
    return b.nn("log", b.nn("reduce_sum", x, axes=axes, keepdims=keepdims))


def _log_sum_exp(b: Builder, x: SSAValue, axes: tuple[int, ...], keepdims: bool) -> SSAValue:
    """With the maximum taken out, so that exp does not overflow; a maximum that is not finite stays in."""
    top = b.nn("reduce_max", x, axes=axes, keepdims=True)
    unsafe = b.nn("or", b.nn("is_inf", top), b.nn("is_nan", top))
    top = b.nn("where", unsafe, b.scalar(0, x), top)
    rest = _log_sum(b, b.nn("exp", b.nn("sub", x, top)), axes, True)
    total = b.nn("add", rest, top)
    if keepdims:
        return total
    kept = [size for axis, size in enumerate(b.shape(x)) if axis not in axes]
    return b.reshape(total, *kept)


def _apply(b: Builder, reduce: Reduce, x: SSAValue, axes: tuple[int, ...], keepdims: bool) -> SSAValue:
    rank = b.rank(x)
    return reduce(b, x, tuple(axis_in(a, rank) for a in axes) or tuple(range(rank)), keepdims)


def _by_attribute(reduce: Reduce) -> Callable[..., SSAValue]:
    def mapped(b: Builder, x: SSAValue, *, axes: tuple[int, ...] = (), keepdims: int = 1) -> SSAValue:
        return _apply(b, reduce, x, axes, bool(keepdims))

    return mapped


def _by_operand(reduce: Reduce, alone: Reduce | None = None) -> Callable[..., SSAValue]:
    """alone: what remains of the op where nothing is reduced (noop_with_empty_axes); None: the operand itself."""

    def mapped(b: Builder, x: SSAValue, axes: SSAValue | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> SSAValue:
        wanted = () if axes is None else b.ints(axes, "axes")
        if wanted or not noop_with_empty_axes:
            return _apply(b, reduce, x, wanted, bool(keepdims))
        return x if alone is None else alone(b, x, (), True)

    return mapped


def _unary(op: str) -> Reduce:
    return lambda b, x, axes, keepdims: b.nn(op, x)


def _square(b: Builder, x: SSAValue, axes: tuple[int, ...], keepdims: bool) -> SSAValue:
    return b.nn("mul", x, x)


MAPPINGS.add("ReduceSum-1", _by_attribute(_plain("reduce_sum")))
MAPPINGS.add("ReduceSum-13", _by_operand(_plain("reduce_sum")))
MAPPINGS.add("ReduceMean-1", _by_attribute(_plain("reduce_mean")))
MAPPINGS.add("ReduceMean-18", _by_operand(_plain("reduce_mean")))
MAPPINGS.add("ReduceMax-1", _by_attribute(_plain("reduce_max")))
MAPPINGS.add("ReduceMax-18", _by_operand(_plain("reduce_max")))
MAPPINGS.add("ReduceMin-1", _by_attribute(_plain("reduce_min")))
MAPPINGS.add("ReduceMin-18", _by_operand(_plain("reduce_min")))
MAPPINGS.add("ReduceProd-1", _by_attribute(_plain("reduce_prod")))
MAPPINGS.add("ReduceProd-18", _by_operand(_plain("reduce_prod")))
MAPPINGS.add("ReduceL1-1", _by_attribute(_of("reduce_sum", "abs")))
MAPPINGS.add("ReduceL1-18", _by_operand(_of("reduce_sum", "abs"), _unary("abs")))
MAPPINGS.add("ReduceL2-1", _by_attribute(_l2))
MAPPINGS.add("ReduceL2-18", _by_operand(_l2, _unary("abs")))
MAPPINGS.add("ReduceLogSum-1", _by_attribute(_log_sum))
MAPPINGS.add("ReduceLogSum-18", _by_operand(_log_sum, _unary("log")))
MAPPINGS.add("ReduceLogSumExp-1", _by_attribute(_log_sum_exp))
MAPPINGS.add("ReduceLogSumExp-18", _by_operand(_log_sum_exp))
MAPPINGS.add("ReduceSumSquare-1", _by_attribute(_sum_square))
MAPPINGS.add("ReduceSumSquare-18", _by_operand(_sum_square, _square))


@MAPPINGS.rule("ArgMax-1")
def arg_max_1(b: Builder, x: SSAValue, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> SSAValue:
    return b.nn("argmax", x, axis=axis, keepdims=bool(keepdims), select_last=bool(select_last_index))


@MAPPINGS.rule("ArgMin-1")
def arg_min_1(b: Builder, x: SSAValue, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> SSAValue:
    return b.nn("argmin", x, axis=axis, keepdims=bool(keepdims), select_last=bool(select_last_index))


@MAPPINGS.rule("CumSum-11")
def cum_sum_11(b: Builder, x: SSAValue, axis: SSAValue, *, exclusive: int = 0, reverse: int = 0) -> SSAValue:
    along = b.ints(axis, "axis")
    if len(along) != 1:
        raise Unsupported("needs one axis")
    return b.nn("cumsum", x, axis=along[0], exclusive=bool(exclusive), reverse=bool(reverse))


@MAPPINGS.rule("CumProd-26")
def cum_prod_26(b: Builder, x: SSAValue, axis: SSAValue, *, exclusive: int = 0, reverse: int = 0) -> SSAValue:
    along = b.ints(axis, "axis")
    if len(along) != 1:
        raise Unsupported("needs one axis")
    return b.nn("cumprod", x, axis=along[0], exclusive=bool(exclusive), reverse=bool(reverse))
