"""Complex numbers as pairs of real ones: how they are made and taken apart, and what ops do to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex, apart, imaginary, magnitude, real, squares
from ttc.importers.common.elementwise import atan2, binary, select, unary
from ttc.importers.tf import ops_elementwise, ops_index, ops_linear, ops_reduce, ops_shape
from ttc.importers.tf.messages import Type
from ttc.importers.tf.tables import Rows
from ttc.importers.tf.tensors import COMPLEX, dtype_of

INT32 = np.dtype(np.int32)


def complex_(b: Builder, real: SSAValue, imag: SSAValue) -> Complex:
    """Make complex numbers of real and imaginary parts, which broadcast."""
    shape = broadcast_shapes(b.shape(real), b.shape(imag))
    return Complex(*(v if b.shape(v) == shape else b.nn("expand", v, shape=shape) for v in (real, imag)))


def angle(b: Builder, input: Complex) -> SSAValue:
    return atan2(b, input.imaginary, input.real)


def conjugate(b: Builder, input: Complex) -> Complex:
    return Complex(input.real, b.nn("neg", input.imaginary))


# ---- ops of real numbers, on complex ones -----------------------------------------------------------------------------------------------


_LINEAR: Rows = {
    **{name: binary(op) for name, op in (("Add", "add"), ("AddV2", "add"), ("Sub", "sub"))},
    "Neg": unary("neg"),
    "AddN": ops_elementwise.add_n,
    "Select": select,
    "SelectV2": ops_elementwise.select_v2,
    "ZerosLike": ops_shape.zeros_like,
    **{name: ops_reduce.ROWS[name] for name in ("Sum", "Mean", "Cumsum")},
    **{name: ops_shape.ROWS[name] for name in ("Reshape", "Squeeze", "ExpandDims", "Transpose", "ConcatV2", "Split", "SplitV")},
    **{name: ops_shape.ROWS[name] for name in ("Pack", "Unpack", "Tile", "BroadcastTo")},
    **{name: ops_index.ROWS[name] for name in ("Slice", "StridedSlice", "Pad", "MirrorPad", "Gather", "GatherV2", "GatherNd")},
    **{name: ops_index.ROWS[name] for name in ("ScatterNd", "MatrixBandPart", "ReverseV2", "Roll")},
}


def shape_of(b: Builder, input: Complex, *, out_type: np.dtype = INT32) -> SSAValue:
    return ops_shape.shape_of(b, input.real, out_type=out_type)


def multiply(b: Builder, x: Complex, y: Complex) -> Complex:
    return _product(b, x, y, lambda p, q: b.nn("mul", p, q))


def _product(b: Builder, x: Complex, y: Complex, of: Callable[[SSAValue, SSAValue], SSAValue]) -> Complex:
    real_part = b.nn("sub", of(x.real, y.real), of(x.imaginary, y.imaginary))
    return Complex(real_part, b.nn("add", of(x.real, y.imaginary), of(x.imaginary, y.real)))


def divide(b: Builder, x: Complex, y: Complex) -> Complex:
    over, size = multiply(b, x, conjugate(b, y)), squares(b, y)
    return Complex(b.nn("div", over.real, size), b.nn("div", over.imaginary, size))


def reciprocal(b: Builder, x: Complex) -> Complex:
    size = squares(b, x)
    return Complex(b.nn("div", x.real, size), b.nn("div", b.nn("neg", x.imaginary), size))


def square(b: Builder, x: Complex) -> Complex:
    return multiply(b, x, x)


def exponential(b: Builder, x: Complex) -> Complex:
    size = b.nn("exp", x.real)
    return Complex(b.nn("mul", size, b.nn("cos", x.imaginary)), b.nn("mul", size, b.nn("sin", x.imaginary)))


def logarithm(b: Builder, x: Complex) -> Complex:
    return Complex(b.nn("log", magnitude(b, x)), angle(b, x))


def matmul(
    b: Builder,
    a: Complex,
    b_: Complex,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    grad_a: bool = False,
    grad_b: bool = False,
) -> Complex:
    return _product(b, a, b_, lambda p, q: ops_linear.matmul(b, p, q, transpose_a=transpose_a, transpose_b=transpose_b))


def batch_matmul(
    b: Builder, x: Complex, y: Complex, *, adj_x: bool = False, adj_y: bool = False, grad_x: bool = False, grad_y: bool = False
) -> Complex:
    """Multiply complex matrices; adjoints are conjugated, too."""
    x, y = conjugate(b, x) if adj_x else x, conjugate(b, y) if adj_y else y
    return _product(b, x, y, lambda p, q: ops_linear.batch_matmul(b, p, q, adj_x=adj_x, adj_y=adj_y))


def conjugate_transpose(b: Builder, x: Complex, perm: SSAValue) -> Complex:
    turned = conjugate(b, x)
    return Complex(ops_shape.transpose(b, turned.real, perm), ops_shape.transpose(b, turned.imaginary, perm))


def cast(b: Builder, x: Complex, *, DstT: Type, Truncate: bool = False) -> Complex | SSAValue:  # noqa: N803 - the attribute's name
    """Convert complex numbers; to real numbers, that is their real part."""
    if DstT not in COMPLEX:
        return b.cast(x.real, dtype_of(DstT, "the result"))
    dtype, _ = COMPLEX[DstT]
    return Complex(b.cast(x.real, dtype), b.cast(x.imaginary, dtype))


ROWS: Rows = {
    "Complex": complex_,
    "Real": real,
    "Imag": imaginary,
    "ComplexAbs": magnitude,
    "Angle": angle,
    "Conj": conjugate,
}
COMPLEX_ROWS: Rows = {
    **{name: apart(row) for name, row in _LINEAR.items()},
    "Shape": shape_of,
    "Mul": multiply,
    **dict.fromkeys(["Div", "RealDiv"], divide),
    **dict.fromkeys(["Inv", "Reciprocal"], reciprocal),
    "Square": square,
    "Exp": exponential,
    "Log": logarithm,
    "MatMul": matmul,
    **dict.fromkeys(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"], batch_matmul),
    "ConjugateTranspose": conjugate_transpose,
    "Cast": cast,
}
