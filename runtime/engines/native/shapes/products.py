"""Shapes of matrix products, attention and convolutions."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.kernels.windows import transposed_counts, window_counts, windows
from ttc.runtime.engines.native.prepare.shape_rules import Floats, Ints, Shape, broadcast, require, require_fits


def matmul(
    a: Shape,
    b: Shape,
    bias: Shape | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    accumulate: bool | None = False,
    activation: str | None = None,
    activation_args: Floats | None = (),
) -> Shape:
    """[..., m, n]."""
    del activation, activation_args
    outer = 3 if accumulate else 2
    require(min(len(a), len(b)) >= outer, "operands that are no matrices")
    m, k = reversed(a[-2:]) if transpose_a else a[-2:]
    depth, n = reversed(b[-2:]) if transpose_b else b[-2:]
    require(k == depth and (not accumulate or a[-3] == b[-3] >= 1), "other sizes to sum over")
    shape = (*broadcast(a[:-outer], b[:-outer]), m, n)
    require_fits(bias, shape)
    return shape


def attention(q: Shape, k: Shape, v: Shape, mask: Shape | None = None, *, scale: float, zero_masked: bool) -> Shape:
    """[..., s, e]."""
    del scale, zero_masked
    require(min(len(q), len(k), len(v)) >= 2 and q[-1] == k[-1] and k[-2] == v[-2], "inner sizes differ")
    lead = broadcast(q[:-2], k[:-2], v[:-2])
    require_fits(mask, (*lead, q[-2], k[-2]))
    return (*lead, q[-2], v[-1])


def conv2d(
    x: Shape,
    w: Shape,
    bias: Shape | None = None,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    activation: str | None = None,
    activation_args: Floats | None = (),
) -> Shape:
    """[n, h', w', o]."""
    del activation, activation_args
    (n, height, width, channels), (*kernel, depth, outputs) = x, w
    require(groups >= 1 and channels == depth * groups and outputs % groups == 0, "channels in groups")
    shape = (n, *window_counts((height, width), windows(kernel, strides, pads, dilations)), outputs)
    require_fits(bias, shape)
    return shape


def conv_transpose2d(
    x: Shape,
    w: Shape,
    bias: Shape | None = None,
    *,
    strides: Ints,
    pads: Ints,
    output_padding: Ints,
    dilations: Ints,
    groups: int,
) -> Shape:
    """[n, h', w', o]."""
    (n, height, width, channels), (*kernel, depth, inputs) = x, w
    require(groups >= 1 and channels == inputs and channels % groups == 0, "channels in groups")
    sizes = transposed_counts((height, width), windows(kernel, strides, pads, dilations), output_padding)
    shape = (n, *sizes, depth * groups)
    require_fits(bias, shape)
    return shape


def depthwise(
    a: Shape, b: Shape, bias: Shape | None = None, *, activation: str | None = None, activation_args: Floats | None = ()
) -> Shape:
    """[r, c]."""
    del activation, activation_args
    require(len(a) == 3 and b == (a[0], a[2]) and a[0] >= 1, "one weight a tap and channel")
    require_fits(bias, a[1:])
    return a[1:]


def sparse_matmul(
    x: Shape,
    *,
    source: Ints,
    sizes: Ints,
    steps: Ints,
    offsets: Ints,
    divisors: Ints,
    terms: int,
    nearest: bool,
    shape: Ints,
) -> Shape:
    """The one announced."""
    del nearest
    require((len(steps), len(offsets), len(divisors)) == (len(source) * len(sizes), len(source), len(source)), "steps of other grids")
    require(0 <= terms <= len(sizes) and min((*sizes, *shape), default=0) >= 0 and min((*source, *divisors), default=1) >= 1, "sizes")
    require(x and shape and shape[-1] == x[-1], "columns")
    require(prod(shape[:-1]) == prod(sizes[terms:]) and prod(source) == prod(x[:-1]), "rows")
    return shape
