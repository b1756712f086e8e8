"""Images with channels first, x[n, c, spatial...]: sampled anew, and channels rearranged as places."""

from __future__ import annotations

from math import floor
from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported

Ints: TypeAlias = tuple[int, ...]


def resized(
    b: Builder,
    x: SSAValue,
    output: Ints | None,
    factors: tuple[float | None, ...],
    mode: str,
    coordinates: str,
    *,
    rounding: str = "floor",
    antialias: bool = False,
) -> SSAValue:
    """Return x[n, c, spatial...] in the sizes of the output, or by the factors; with both, the factors say where samples lie."""
    sizes = b.shape(x)[2:]
    if output is None:
        output = tuple(floor(d * (f or 1.0)) for d, f in zip(sizes, factors, strict=True))
    if min(sizes) < 1 or len(output) != len(sizes):
        raise Unsupported(f"output_size {output} of {b.spec(x)}")
    if coordinates == "align_corners":  # corners decide where samples lie
        factors = (None,) * len(sizes)
    scales = tuple(f if f else o / d for o, d, f in zip(output, sizes, (*factors, *(None,) * len(sizes)), strict=False))
    rank = b.rank(x)
    return b.nn(
        "resize",
        x,
        sizes=(*b.shape(x)[:2], *output),
        scales=(1.0, 1.0, *scales),
        window=(0.0,) * rank + (1.0,) * rank,
        mode=mode,
        coordinates=coordinates,
        rounding=rounding,
        cubic=-0.5 if antialias else -0.75,
        exclude_outside=antialias,
        antialias=antialias,
        fill=0.0,
    )


def pixel_shuffle(b: Builder, x: SSAValue, factor: int) -> SSAValue:
    """Return x[..., c r^2, h, w] as [..., c, h r, w r]."""
    *lead, c, h, w = b.shape(x)
    n, depth = len(lead), c // factor**2
    parts = b.reshape(x, *lead, depth, factor, factor, h, w)
    moved = b.nn("transpose", parts, perm=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return b.reshape(moved, *lead, depth, h * factor, w * factor)


def pixel_unshuffle(b: Builder, x: SSAValue, factor: int) -> SSAValue:
    """Return x[..., c, h r, w r] as [..., c r^2, h, w]."""
    *lead, c, h, w = b.shape(x)
    n = len(lead)
    parts = b.reshape(x, *lead, c, h // factor, factor, w // factor, factor)
    moved = b.nn("transpose", parts, perm=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return b.reshape(moved, *lead, c * factor**2, h // factor, w // factor)


def channel_shuffle(b: Builder, x: SSAValue, groups: int) -> SSAValue:
    """Return the channels in turn, one of each group after the other."""
    n, c, *rest = b.shape(x)
    parts = b.reshape(x, n, groups, c // groups, *rest)
    return b.reshape(b.nn("transpose", parts, perm=(0, 2, 1, *range(3, len(rest) + 3))), n, c, *rest)
