"""Complex tensors made and taken apart, their arithmetic, and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod, sqrt
from typing import Any

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.fourier import transform
from ttc.importers.common.parts import element, stacked
from ttc.importers.common.products import matmul
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.complexes import ComplexTensor, as_complex
from ttc.importers.torch.elements import times
from ttc.importers.torch.ops_arithmetic import atan2
from ttc.importers.torch.tables import Rows

Ints = tuple[int, ...]
Number = ComplexTensor | SSAValue | complex | float


# ---- made, and taken apart -------------------------------------------------------------------------------------------------------------


def make(b: TorchBuilder, real: SSAValue, imaginary: SSAValue) -> ComplexTensor:
    """Make complex numbers of parts that broadcast."""
    shape = b.shape(b.nn("add", real, imaginary))
    return ComplexTensor(*(v if b.shape(v) == shape else b.nn("expand", v, shape=shape) for v in (real, imaginary)))


def polar(b: TorchBuilder, size: SSAValue, angle: SSAValue) -> ComplexTensor:
    return ComplexTensor(b.nn("mul", size, b.nn("cos", angle)), b.nn("mul", size, b.nn("sin", angle)))


def exp(b: TorchBuilder, x: ComplexTensor) -> ComplexTensor:
    """Return the exponential of the real part, turned by the imaginary one."""
    return polar(b, b.nn("exp", x.real), x.imaginary)


def view_as_complex(b: TorchBuilder, x: SSAValue) -> ComplexTensor:
    at = b.rank(x) - 1
    return ComplexTensor(element(b, x, at, 0), element(b, x, at, 1))


def view_as_real(b: TorchBuilder, x: ComplexTensor) -> SSAValue:
    return stacked(b, [x.real, x.imaginary], -1)


def conjugate(b: TorchBuilder, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(x.real, b.nn("neg", x.imaginary))


def magnitude(b: TorchBuilder, x: ComplexTensor) -> SSAValue:
    return b.nn("sqrt", b.nn("add", b.nn("mul", x.real, x.real), b.nn("mul", x.imaginary, x.imaginary)))


def angle(b: TorchBuilder, x: ComplexTensor) -> SSAValue:
    return atan2(b, x.imaginary, x.real)


def angle_of_real(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return pi where x is negative, else 0; NaN stays."""
    x = x if b.dtype(x).kind in "fV" else b.cast(x, b.result)
    found = b.nn("where", b.nn("less", x, b.scalar(0, x)), b.scalar(3.141592653589793, x), b.scalar(0, x))
    return b.nn("where", b.nn("is_nan", x), x, found)


# ---- arithmetic ------------------------------------------------------------------------------------------------------------------------


def _both(b: TorchBuilder, x: Number, y: Number) -> tuple[ComplexTensor, ComplexTensor]:
    """Return two operands as complex tensors, numbers in the dtype of the other's parts."""
    tensors = [v for v in (x, y) if isinstance(v, ComplexTensor)]
    like = tensors[0].real if tensors else next(v for v in (x, y) if isinstance(v, SSAValue))

    def lifted(v: Number) -> ComplexTensor:
        if isinstance(v, ComplexTensor):
            return v
        if isinstance(v, SSAValue):
            return as_complex(b, b.cast(v, b.dtype(like)))
        number = complex(v)
        return ComplexTensor(b.scalar(number.real, like), b.scalar(number.imag, like))

    return lifted(x), lifted(y)


def add(b: TorchBuilder, x: Number, y: Number, alpha: float = 1) -> ComplexTensor:
    left, right = _both(b, x, y)
    return ComplexTensor(*(b.nn("add", p, times(b, q, alpha)) for p, q in ((left.real, right.real), (left.imaginary, right.imaginary))))


def sub(b: TorchBuilder, x: Number, y: Number, alpha: float = 1) -> ComplexTensor:
    return add(b, x, y, -alpha)


def mul(b: TorchBuilder, x: Number, y: Number) -> ComplexTensor:
    return _product(b, *_both(b, x, y), lambda p, q: b.nn("mul", p, q))


def product(b: TorchBuilder, x: Number, y: Number) -> ComplexTensor:
    """Multiply matrices of complex numbers."""
    return _product(b, *_both(b, x, y), lambda p, q: matmul(b, p, q))


def _product(b: TorchBuilder, x: ComplexTensor, y: ComplexTensor, times: Callable[[SSAValue, SSAValue], SSAValue]) -> ComplexTensor:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i."""
    real = b.nn("sub", times(x.real, y.real), times(x.imaginary, y.imaginary))
    return ComplexTensor(real, b.nn("add", times(x.real, y.imaginary), times(x.imaginary, y.real)))


def div(b: TorchBuilder, x: Number, y: Number) -> ComplexTensor:
    """Divide by a real tensor or number, each part; or by a complex one, as a product with its conjugate over its square."""
    left, right = _both(b, x, y)
    if not isinstance(y, ComplexTensor | complex):
        return ComplexTensor(b.nn("div", left.real, right.real), b.nn("div", left.imaginary, right.real))
    square = b.nn("add", b.nn("mul", right.real, right.real), b.nn("mul", right.imaginary, right.imaginary))
    found = mul(b, left, conjugate(b, right))
    return ComplexTensor(b.nn("div", found.real, square), b.nn("div", found.imaginary, square))


# ---- Fourier transforms --------------------------------------------------------------------------------------------------------------


def _factor(normalization: int, count: int) -> float:
    """Return what PyTorch's transforms, which are sums, are multiplied by: 0: nothing, 1: by the root of the count, 2: by the count."""
    if normalization not in (0, 1, 2):
        raise Unsupported(f"normalization {normalization}")
    return (1.0, 1 / sqrt(count), 1 / count)[normalization]


def _scaled(b: TorchBuilder, x: ComplexTensor, factor: float) -> ComplexTensor:
    return ComplexTensor(times(b, x.real, factor), times(b, x.imaginary, factor))


def _along(b: TorchBuilder, x: ComplexTensor, dims: Ints, *, inverse: bool) -> ComplexTensor:
    """Transforms along several dimensions; inverse ones over their sizes."""
    shape = b.shape(x.real)
    for dim in dims:
        x = ComplexTensor(*transform(b, [x.real, x.imaginary], dim % len(shape), shape[dim], inverse=inverse, onesided=False))
    return x


def fft_r2c(b: TorchBuilder, x: SSAValue, dims: Ints, normalization: int, onesided: bool) -> ComplexTensor:
    """Transform real numbers: first along the dimension named last, of which half of the spectrum is enough."""
    shape = b.shape(x)
    *rest, last = dims
    found = ComplexTensor(*transform(b, [x], last % len(shape), shape[last], inverse=False, onesided=onesided))
    return _scaled(b, _along(b, found, tuple(rest), inverse=False), _factor(normalization, prod(shape[d] for d in dims)))


def fft_c2c(b: TorchBuilder, x: ComplexTensor | SSAValue, dims: Ints, normalization: int, forward: bool) -> ComplexTensor:
    x = as_complex(b, x)
    count = prod(b.shape(x.real)[d] for d in dims)
    return _scaled(b, _along(b, x, dims, inverse=not forward), _factor(normalization, count) * (1 if forward else count))


def fft_c2r(b: TorchBuilder, x: ComplexTensor | SSAValue, dims: Ints, normalization: int, size: int) -> SSAValue:
    """Transform half a spectrum along the last dimension named to real numbers, as many as `size` says."""
    x = as_complex(b, x)
    *rest, last = dims
    x = _along(b, x, tuple(rest), inverse=True)
    (found,) = transform(b, [x.real, x.imaginary], last % len(b.shape(x.real)), size, inverse=True, onesided=True)
    count = prod(b.shape(x.real)[d] for d in rest) * size
    return times(b, found, _factor(normalization, count) * count)


OVER_COMPLEX: Mapping[str, Callable[..., Any]] = {
    "aten.view_as_real.default": view_as_real,
    "aten.real.default": lambda b, x: x.real,
    "aten.imag.default": lambda b, x: x.imaginary,
    **{f"aten.{name}.default": conjugate for name in ("conj", "_conj", "conj_physical", "_conj_physical")},
    "aten.abs.default": magnitude,
    "aten.angle.default": angle,
    "aten.exp.default": exp,
    "aten.add.Tensor": add,
    "aten.add.Scalar": add,
    "aten.sub.Tensor": sub,
    "aten.sub.Scalar": sub,
    "aten.mul.Tensor": mul,
    "aten.mul.Scalar": mul,
    "aten.div.Tensor": div,
    "aten.div.Scalar": div,
    **{f"aten.{name}.default": product for name in ("mm", "bmm", "matmul")},
    "aten._fft_c2c.default": fft_c2c,
    "aten._fft_c2r.default": fft_c2r,
}
"""Mappings of ops on complex tensors."""

_SAME = "alias clone detach lift_fresh_copy view reshape _unsafe_view expand permute squeeze unsqueeze t cat stack flip roll neg diagonal"
PARTWISE = (
    *(f"aten.{name}.default" for name in (*_SAME.split(), "constant_pad_nd", "as_strided", "unfold", "split_with_sizes", "resolve_conj")),
    *("aten.slice.Tensor", "aten.select.int", "aten.squeeze.dims", "aten.squeeze.dim", "aten.transpose.int", "aten.unbind.int"),
    *("aten.index.Tensor", "aten.sum.dim_IntList", "aten.sum.default", "aten.mean.dim", "aten.mean.default", "aten.split.Tensor"),
)
"""Ops that do to real and to imaginary parts what they do to real tensors."""

ROWS: Rows = {
    "aten.complex.default": make,
    "aten.polar.default": polar,
    "aten.view_as_complex.default": view_as_complex,
    "aten.angle.default": angle_of_real,
    "aten._fft_r2c.default": fft_r2c,
    "aten._fft_c2c.default": fft_c2c,
    "aten._fft_c2r.default": fft_c2r,
}
