"""Forms of ops that ended with opset 6 or before it: sizes as attributes, broadcasts that have to be asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.elementwise import prelu
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_activation import selu_6
from ttc.importers.onnx.ops_elementwise import cast_6
from ttc.importers.onnx.ops_index import pad_2
from ttc.importers.onnx.ops_linear import gemm_7
from ttc.importers.onnx.ops_norm import batch_normalization_9, dropout_7
from ttc.importers.onnx.ops_resize import upsample_7
from ttc.importers.onnx.ops_shape import concat_4, reshape_to, split_2
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import code_named


def _binary(op: str) -> Callable[..., SSAValue]:
    """Operands of one shape; with `broadcast` the second one is a scalar or lies along the dimensions of x from `axis` on, or the last."""

    def mapped(b: Builder, x: SSAValue, y: SSAValue, *, axis: int | None = None, broadcast: int = 0) -> SSAValue:
        return b.nn(op, x, _along(b, x, y, axis) if broadcast else y)

    return mapped


def _along(b: Builder, x: SSAValue, y: SSAValue, axis: int | None) -> SSAValue:
    rank, shape = b.rank(x), b.shape(y)
    if not shape or shape == (1,):
        return y
    at = rank - len(shape) if axis is None else axis_in(axis, rank)
    if at < 0 or at + len(shape) > rank:
        raise Error("E0401", f"{b.spec(y)} does not lie along {b.spec(x)} from axis {at} on")
    return b.reshape(y, *shape, *(1,) * (rank - at - len(shape)))


MAPPINGS.add("Add-1", _binary("add"))
MAPPINGS.add("Sub-1", _binary("sub"))
MAPPINGS.add("Mul-1", _binary("mul"))
MAPPINGS.add("Div-1", _binary("div"))
MAPPINGS.add("Pow-1", _binary("pow"))
MAPPINGS.add("Equal-1", _binary("equal"))
MAPPINGS.add("Less-1", _binary("less"))
MAPPINGS.add("Greater-1", _binary("greater"))
MAPPINGS.add("And-1", _binary("and"))
MAPPINGS.add("Or-1", _binary("or"))
MAPPINGS.add("Xor-1", _binary("xor"))


@MAPPINGS.rule("Cast-1")
def cast_1(b: Builder, x: SSAValue, *, to: str) -> SSAValue:
    """Convert to a type that is given by name."""
    return cast_6(b, x, to=code_named(to))


@MAPPINGS.rule("Selu-1")
def selu_1(b: Builder, x: SSAValue, *, alpha: float = 1.6732, gamma: float = 1.0507) -> SSAValue:
    return selu_6(b, x, alpha=alpha, gamma=gamma)


@MAPPINGS.rule("PRelu-1")
def p_relu_1(b: Builder, x: SSAValue, slope: SSAValue) -> SSAValue:
    """Map PRelu up to opset 6, whose slope is one number, or one a channel."""
    return prelu(b, x, slope if b.spec(slope).elements == 1 else _along(b, x, slope, 1))


@MAPPINGS.rule("Gemm-1")
def gemm_1(
    b: Builder,
    a: SSAValue,
    c: SSAValue,
    bias: SSAValue,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,
    transB: int = 0,
) -> SSAValue:
    return gemm_7(b, a, c, bias, alpha=alpha, beta=beta, transA=transA, transB=transB)


@MAPPINGS.rule("BatchNormalization-1")
def batch_normalization_1(
    b: Builder,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    var: SSAValue,
    *,
    epsilon: float = 1e-5,
    is_test: int = 0,
    momentum: float = 0.9,
    spatial: int = 1,
) -> SSAValue | tuple[SSAValue, ...]:
    """Normalize with given statistics; the old version trains if it has results for that, which is not supported."""
    if not spatial:
        raise Unsupported("spatial = 0")
    return batch_normalization_9(b, x, scale, bias, mean, var, epsilon=epsilon, momentum=momentum)


@MAPPINGS.rule("Dropout-1")
def dropout_1(b: Builder, x: SSAValue, *, is_test: int = 0, ratio: float = 0.5) -> tuple[SSAValue, ...]:
    if not is_test:
        raise Unsupported("is_test = 0")
    return dropout_7(b, x, ratio=ratio)


@MAPPINGS.rule("Concat-1")
def concat_1(b: Builder, *inputs: SSAValue, axis: int = 1) -> SSAValue:
    return concat_4(b, *inputs, axis=axis)


@MAPPINGS.rule("Pad-1")
def pad_1(b: Builder, x: SSAValue, *, mode: str = "constant", paddings: tuple[int, ...], value: float = 0.0) -> SSAValue:
    return pad_2(b, x, mode=mode, pads=paddings, value=value)


@MAPPINGS.rule("Reshape-1")
def reshape_1(b: Builder, x: SSAValue, *, shape: tuple[int, ...] = ()) -> SSAValue:
    return reshape_to(b, x, shape, copy_zero=True)


@MAPPINGS.rule("Split-1")
def split_1(
    b: Builder, x: SSAValue, sizes: SSAValue | None = None, *, axis: int = 0, split: tuple[int, ...] | None = None
) -> tuple[SSAValue, ...]:
    """Split into sizes that an operand or an attribute gives."""
    return split_2(b, x, axis=axis, split=split if sizes is None else b.ints(sizes, "split"))


@MAPPINGS.rule("Tile-1")
def tile_1(b: Builder, x: SSAValue, tiles: SSAValue, axis: SSAValue) -> SSAValue:
    """Repeat the operand along one axis as often as asked for."""
    rank = b.rank(x)
    at = axis_in(int(b.number(axis, "axis")), rank)
    count = int(b.number(tiles, "tiles"))
    return b.nn("repeat", x, repeats=tuple(count if i == at else 1 for i in range(rank)))


@MAPPINGS.rule("Upsample-1")
def upsample_1(b: Builder, x: SSAValue, *, height_scale: float, width_scale: float, mode: str = "nearest") -> SSAValue:
    """Enlarge images x[n, c, h, w] by two factors."""
    if b.rank(x) != 4:
        raise Error("E0401", f"takes rank 4, not {b.spec(x)}")
    scales = (1.0, 1.0, *(float(np.float32(s)) for s in (height_scale, width_scale)))
    return upsample_7(b, x, scales=scales, mode="linear" if mode == "bilinear" else mode)
