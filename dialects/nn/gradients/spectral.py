"""Gradients of Fourier transforms: transforms in the other direction."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, cotangent, gradient, padded
from ttc.dialects.nn.making import OpMaker, part


def _fitted(b: OpMaker, x: SSAValue, axis: int, size: int) -> SSAValue:
    """x with that many elements along a dimension: cut, or with zeros at the end."""
    have = b.shape(x)[axis]
    return part(b, x, axis, 0, size) if size <= have else padded(b, x, axis, 0, size - have)


@gradient("nn.fft")
def fft(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the sum of the complex dy times the conjugate factors: the inverse transform times its size, or the transform over it."""
    real, imaginary = site.operand(0), site.operands[1]
    shape, size, inverse = b.shape(real), site.attrs["size"], site.attrs["inverse"]
    axis = axis_in(site.attrs["axis"], len(shape))
    parts = [_fitted(b, cotangent(b, site, i), axis, size) for i in (0, 1)]
    found = b.nn_all("fft", *parts, axis=axis, size=size, inverse=not inverse, onesided=False)
    factor = 1 / size if inverse else size
    scaled = (b.nn("mul", x, b.scalar(factor, x)) if wanted else None for x, wanted in zip(found, site.wanted, strict=True))
    of_real, of_imaginary = (None if x is None else _fitted(b, x, axis, shape[axis]) for x in scaled)
    return [of_real, None if imaginary is None else of_imaginary]


@gradient("nn.irfft")
def irfft(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the one-sided transform of dy over its size; elements that stand for their mirror image, too, count twice."""
    shape, size = b.shape(site.operand(0)), site.attrs["size"]
    axis = axis_in(site.attrs["axis"], len(shape))
    found = b.nn_all("fft", site.dy, None, axis=axis, size=size, inverse=False, onesided=True)
    count = size // 2 + 1
    weights = np.full(count, 2 / size)
    weights[0] = 1 / size
    if size % 2 == 0:
        weights[-1] = 1 / size
    factors = b.constant(weights.reshape(count, *(1,) * (len(shape) - 1 - axis)), b.dtype(site.dy))
    scaled = (b.nn("mul", x, factors) if wanted else None for x, wanted in zip(found, site.wanted, strict=True))
    of_real, of_imaginary = (None if x is None else _fitted(b, x, axis, shape[axis]) for x in scaled)
    return [of_real, of_imaginary]
