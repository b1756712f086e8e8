"""Rules for the gradients of normalizations."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.gradients.base import Cotangents, Ints, Site, cotangent, gradient, mean, total, unbroadcast
from ttc.dialects.nn.making import OpMaker


@gradient("nn.batch_norm")
def batch_norm(b: OpMaker, site: Site) -> Cotangents:
    """dx = dy scale r with r = 1 / sqrt(var + eps); those of the vectors are sums of dy and of dy (x - mean) r over other dimensions."""
    x, scale, _, average, var = (site.operand(i) for i in range(5))
    dy, shape = site.dy, b.shape(x)
    axis = axis_in(site.attrs["axis"], len(shape))
    others = tuple(i for i in range(len(shape)) if i != axis)
    r = b.nn("rsqrt", b.nn("add", var, b.scalar(site.attrs["eps"], var)))
    factor = b.nn("mul", scale, r)
    of_x = b.nn("mul", dy, _along(b, factor, axis, len(shape))) if site.wanted[0] else None
    of_scale = of_bias = of_mean = of_var = None
    if site.wanted[1] or site.wanted[4]:
        moved = b.nn("mul", b.nn("sub", x, _along(b, average, axis, len(shape))), _along(b, r, axis, len(shape)))
        of_scale = total(b, b.nn("mul", dy, moved), others)
    if site.wanted[2] or site.wanted[3]:
        of_bias = total(b, dy, others)
    if site.wanted[3] and of_bias is not None:
        of_mean = b.nn("neg", b.nn("mul", of_bias, factor))
    if site.wanted[4] and of_scale is not None:
        of_var = b.nn("mul", b.nn("mul", of_scale, b.nn("mul", factor, r)), b.scalar(-0.5, var))
    return [of_x, of_scale if site.wanted[1] else None, of_bias if site.wanted[2] else None, of_mean, of_var]


@gradient("nn.batch_norm_training")
def batch_norm_training(b: OpMaker, site: Site) -> Cotangents:
    """Return cotangents of a batch normalization, as of a layer norm, channel by channel; running statistics have none."""
    if any(dy is not None for dy in site.cotangents[1:]):
        site.refuse(b, "statistics of the batch count besides the normalized values")
    x, scale = site.operand(0), site.operand(1)
    shape, dy = b.shape(x), cotangent(b, site, 0)
    axis = axis_in(site.attrs["axis"], len(shape))
    others = tuple(i for i in range(len(shape)) if i != axis)
    r = _along(b, site.results[2], axis, len(shape))
    normal = b.nn("mul", b.nn("sub", x, _along(b, site.results[1], axis, len(shape))), r)
    of_x = of_scale = of_bias = None
    if site.wanted[0]:
        of_x = layer_norm_gradient(b, b.nn("mul", dy, _along(b, scale, axis, len(shape))), normal, r, others)
    if site.wanted[1]:
        of_scale = total(b, b.nn("mul", dy, normal), others)
    if site.wanted[2]:
        of_bias = total(b, dy, others)
    return [of_x, of_scale, of_bias, None, None]


def _along(b: OpMaker, vector: SSAValue, axis: int, rank: int) -> SSAValue:
    """The vector as a tensor that has it along one dimension."""
    return b.reshape(vector, *(b.shape(vector)[0] if i == axis else 1 for i in range(rank)))


def layer_norm_gradient(b: OpMaker, scaled: SSAValue, normal: SSAValue, r: SSAValue, axes: Ints) -> SSAValue:
    """r (g - mean g - normal mean(g normal)), given g = dy scale, the normalized x, and r = 1 / sqrt(variance + eps)."""
    along = b.nn("mul", normal, mean(b, b.nn("mul", scaled, normal), axes))
    return b.nn("mul", r, b.nn("sub", b.nn("sub", scaled, mean(b, scaled, axes)), along))


@gradient("nn.layer_norm")
def layer_norm(b: OpMaker, site: Site) -> Cotangents:
    """Mean and variance are computed again; see `layer_norm_gradient`; of scale and bias the sums of dy normal and of dy."""
    x, scale, bias = site.operand(0), *site.operands[1:]
    dy, rank = site.dy, b.rank(x)
    axes = tuple(range(axis_in(site.attrs["axis"], rank), rank))
    of_x = of_scale = of_bias = None
    if site.wanted[0] or site.wanted[1]:
        centred = b.nn("sub", x, mean(b, x, axes))
        variance = mean(b, b.nn("mul", centred, centred), axes)
        r = b.nn("rsqrt", b.nn("add", variance, b.scalar(site.attrs["eps"], variance)))
        normal = b.nn("mul", centred, r)
        if site.wanted[0]:
            of_x = layer_norm_gradient(b, dy if scale is None else b.nn("mul", dy, scale), normal, r, axes)
        if site.wanted[1] and scale is not None:
            of_scale = unbroadcast(b, b.nn("mul", dy, normal), scale)
    if site.wanted[2] and bias is not None:
        of_bias = unbroadcast(b, dy, bias)
    return [of_x, of_scale, of_bias]


@gradient("nn.rms_norm")
def rms_norm(b: OpMaker, site: Site) -> Cotangents:
    """r (g - normal mean(g normal)) with g = dy scale, r = 1 / sqrt(mean x^2 + eps), normal = x r; of the scale the sum of dy normal."""
    x, scale = site.operand(0), site.operand(1)
    dy, rank = site.dy, b.rank(x)
    axes = tuple(range(axis_in(site.attrs["axis"], rank), rank))
    square = mean(b, b.nn("mul", x, x), axes)
    r = b.nn("rsqrt", b.nn("add", square, b.scalar(site.attrs["eps"], square)))
    normal = b.nn("mul", x, r)
    of_x = of_scale = None
    if site.wanted[0]:
        scaled = b.nn("mul", dy, scale)
        along = b.nn("mul", normal, mean(b, b.nn("mul", scaled, normal), axes))
        of_x = b.nn("mul", r, b.nn("sub", scaled, along))
    if site.wanted[1]:
        of_scale = unbroadcast(b, b.nn("mul", dy, normal), scale)
    return [of_x, of_scale]
