"""Gradients of ops that write elements at computed places."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient
from ttc.dialects.nn.gradients.reduce import product_of_others
from ttc.dialects.nn.making import OpMaker, filled, zeros

Write: TypeAlias = Callable[[SSAValue, SSAValue, str], SSAValue]


@record(eq=False)
class _Places:
    """Reading and writing at the places of a scatter.

    read: elements of a tensor like x at the places of the updates.
    write: a tensor like x with updates written, given the reduction.
    """

    read: Callable[[SSAValue], SSAValue]
    write: Write


@gradient("nn.scatter_elements")
def scatter_elements(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of x and the updates of scatter_elements; see `_scattered`."""
    indices, axis = site.operand(1), site.attrs["axis"]
    places = _Places(
        lambda x: b.nn("gather_elements", x, indices, axis=axis),
        lambda x, updates, reduction: b.nn("scatter_elements", x, indices, updates, axis=axis, reduction=reduction),
    )
    return _scattered(b, site, places)


@gradient("nn.scatter_nd")
def scatter_nd(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of x and the updates of scatter_nd; see `_scattered`."""
    indices = site.operand(1)
    places = _Places(
        lambda x: b.nn("gather_nd", x, indices, batch_dims=0),
        lambda x, updates, reduction: b.nn("scatter_nd", x, indices, updates, reduction=reduction),
    )
    return _scattered(b, site, places)


def _scattered(b: OpMaker, site: GradientSite, places: _Places) -> Cotangents:
    """Cotangents of x and of the updates, by what the op makes of elements that meet."""
    rule = {"none": _replaced, "add": _added, "mul": _multiplied}.get(site.attrs["reduction"], _extreme)
    of_x, of_updates = rule(b, site, places)
    return [of_x, None, of_updates]


def _added(b: OpMaker, site: GradientSite, places: _Places) -> Cotangents:
    return [site.dy, places.read(site.dy) if site.wanted[2] else None]


def _replaced(b: OpMaker, site: GradientSite, places: _Places) -> Cotangents:
    """x counts where nothing was written; each update counts, as in PyTorch, which leaves open which of several at one place is kept."""
    of_x = places.write(site.dy, zeros(b, site.operand(2)), "none") if site.wanted[0] else None
    return [of_x, places.read(site.dy) if site.wanted[2] else None]


def _multiplied(b: OpMaker, site: GradientSite, places: _Places) -> Cotangents:
    """dy times the product of all other factors at the place."""
    x, updates = site.operand(0), site.operand(2)
    zero, one = b.scalar(0, x), b.scalar(1, x)
    none, nothing = (b.nn("equal", v, zero) for v in (x, updates))
    product = places.write(b.nn("where", none, one, x), b.nn("where", nothing, one, updates), "mul")
    count = places.write(b.cast(none, b.dtype(x)), b.cast(nothing, b.dtype(x)), "add")
    of_x = b.nn("mul", site.dy, product_of_others(b, x, product, count)) if site.wanted[0] else None
    if not site.wanted[2]:
        return [of_x, None]
    others = product_of_others(b, updates, places.read(product), places.read(count))
    return [of_x, b.nn("mul", places.read(site.dy), others)]


def _extreme(b: OpMaker, site: GradientSite, places: _Places) -> Cotangents:
    """dy for the extreme element of each place, in equal shares if there are several."""
    x, updates = site.operand(0), site.operand(2)
    kept = b.cast(b.nn("equal", x, site.y), b.dtype(x))
    taken = b.cast(b.nn("equal", updates, places.read(site.y)), b.dtype(x))
    count = places.write(kept, taken, "add")
    shares = b.nn("div", site.dy, b.nn("maximum", count, filled(b, 1.0, count)))
    of_x = b.nn("mul", shares, kept) if site.wanted[0] else None
    return [of_x, b.nn("mul", places.read(shares), taken) if site.wanted[2] else None]
