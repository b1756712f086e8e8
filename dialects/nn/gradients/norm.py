"""Rules for the gradients of normalizations."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, Ints, cotangent, elements, gradient, mean, total, unbroadcast
from ttc.dialects.nn.making import OpMaker


@gradient("nn.batch_norm")
def batch_norm(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents: dx = dy scale r with r = 1 / sqrt(var + eps); those of the vectors are sums of dy and of dy (x - mean) r over
    other dimensions.
    """
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
def batch_norm_training(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of a batch normalization, as of a layer norm, channel by channel, and of the statistics that it gives."""
    x, scale = site.operand(0), site.operand(1)
    shape = b.shape(x)
    axis = axis_in(site.attrs["axis"], len(shape))
    others = tuple(i for i in range(len(shape)) if i != axis)
    inverse = _along(b, site.results[2], axis, len(shape))
    centred = b.nn("sub", x, _along(b, site.results[1], axis, len(shape)))
    of_x = _by_statistics(b, site, centred, axis) if site.wanted[0] else None
    of_scale = of_bias = None
    if site.cotangents[0] is not None:
        dy, normal = site.cotangents[0], b.nn("mul", centred, inverse)
        if site.wanted[0]:
            scaled = b.nn("mul", dy, _along(b, scale, axis, len(shape)))
            by_y = layer_norm_gradient(b, scaled, normal, inverse, others)
            of_x = by_y if of_x is None else b.nn("add", by_y, of_x)
        if site.wanted[1]:
            of_scale = total(b, b.nn("mul", dy, normal), others)
        if site.wanted[2]:
            of_bias = total(b, dy, others)
    stays = 1 - site.attrs["momentum"]
    of_running = (None if dy is None else b.nn("mul", dy, b.scalar(stays, dy)) for dy in site.cotangents[3:])
    return [of_x, of_scale, of_bias, *of_running]


def _by_statistics(b: OpMaker, site: GradientSite, centred: SSAValue, axis: int) -> SSAValue | None:
    """Return the cotangent of x that comes from the mean and 1 / deviation of the batch, and from the running statistics that they move.

    centred: x less its mean.  None where none of them has a cotangent.
    """
    if all(dy is None for dy in site.cotangents[1:]):
        return None
    shape, momentum = b.shape(centred), site.attrs["momentum"]
    count = max(elements(shape) // max(shape[axis], 1), 1)
    sample = max(count - 1, 1) if site.attrs["unbiased"] else count
    of_now, of_inverse, of_mean, of_var = (Formula(b, cotangent(b, site, i)) for i in range(1, 5))
    inverse = Formula(b, site.results[2])
    shift = (of_now + of_mean * momentum) / count
    spread = of_var * (2 * momentum / sample) - of_inverse * inverse * inverse * inverse / count
    shift_of, spread_of = (Formula(b, _along(b, found.value, axis, len(shape))) for found in (shift, spread))
    return (shift_of + Formula(b, centred) * spread_of).value


def _along(b: OpMaker, vector: SSAValue, axis: int, rank: int) -> SSAValue:
    """Return the vector as a tensor that has it along one dimension."""
    return b.reshape(vector, *(b.shape(vector)[0] if i == axis else 1 for i in range(rank)))


def layer_norm_gradient(b: OpMaker, scaled: SSAValue, normal: SSAValue, r: SSAValue, axes: Ints) -> SSAValue:
    """Return the cotangent of x, r (g - mean g - normal mean(g normal)), given g = dy scale, the normalized x, and r = 1 / sqrt(variance +
    eps).
    """
    along = b.nn("mul", normal, mean(b, b.nn("mul", scaled, normal), axes))
    return b.nn("mul", r, b.nn("sub", b.nn("sub", scaled, mean(b, scaled, axes)), along))


@gradient("nn.layer_norm")
def layer_norm(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents: of x by `layer_norm_gradient`, mean and variance computed again; of scale and bias the sums of dy normal and of
    dy.
    """
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
def rms_norm(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents: of x r (g - normal mean(g normal)), g = dy scale, r = 1 / sqrt(mean x^2 + eps), normal = x r; of the scale the sum
    of dy normal.
    """
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
