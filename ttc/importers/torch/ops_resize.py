"""Images sampled anew: upsample ops, grids of positions, and rearrangements of channels as places."""

from __future__ import annotations

from math import floor
from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.grids import affine_grid
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Row, Rows

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
MODES = ("linear", "nearest", "cubic")
PADDINGS = ("zeros", "border", "reflection")


def _resized(
    b: TorchBuilder,
    x: SSAValue,
    output: Ints | None,
    factors: tuple[float | None, ...],
    mode: str,
    coordinates: str,
    *,
    rounding: str = "floor",
    antialias: bool = False,
) -> SSAValue:
    """x[n, c, spatial...] to the sizes of the output, or by the factors; both: the factors say where samples lie."""
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


def _smooth(mode: str, *, antialias: bool = False, vec: bool) -> Row:
    def row(b: TorchBuilder, x: SSAValue, output: Ints | None, align_corners: bool, *scales: float | Floats | None) -> SSAValue:
        factors = _factors(b, x, scales, vec=vec)
        if antialias and align_corners:
            raise Unsupported("antialias between corners")
        coordinates = "align_corners" if align_corners else "half_pixel"
        return _resized(b, x, output, factors, mode, coordinates, antialias=antialias)

    return row


def _nearest(*, exact: bool, vec: bool) -> Row:
    def row(b: TorchBuilder, x: SSAValue, output: Ints | None, *scales: float | Floats | None) -> SSAValue:
        factors = _factors(b, x, scales, vec=vec)
        if exact:
            return _resized(b, x, output, factors, "nearest", "half_pixel", rounding="round_prefer_ceil")
        return _resized(b, x, output, factors, "nearest", "asymmetric")

    return row


def _factors(b: TorchBuilder, x: SSAValue, scales: tuple[float | Floats | None, ...], *, vec: bool) -> tuple[float | None, ...]:
    """One a spatial dimension: given as one list, or one by one."""
    rank = b.rank(x) - 2
    found = scales[0] if vec else scales
    if not isinstance(found, tuple):
        return (None,) * rank
    return tuple(float(f) if isinstance(f, float | int) else None for f in found)


def grid_sampler(b: TorchBuilder, x: SSAValue, grid: SSAValue, mode: int, padding: int, align_corners: bool) -> SSAValue:
    if (MODES[mode], PADDINGS[padding]) == ("cubic", "border"):  # nn moves positions inside first, PyTorch their neighbours alone
        raise Unsupported("bicubic samples beyond a repeated border")
    return b.nn("grid_sample", x, grid, mode=MODES[mode], padding=PADDINGS[padding], align_corners=align_corners)


def affine_grid_generator(b: TorchBuilder, theta: SSAValue, size: Ints, align_corners: bool) -> SSAValue:
    return affine_grid(b, theta, size, align_corners=align_corners)


def pixel_shuffle(b: TorchBuilder, x: SSAValue, factor: int) -> SSAValue:
    """x[..., c r^2, h, w] -> [..., c, h r, w r]."""
    *lead, c, h, w = b.shape(x)
    n, depth = len(lead), c // factor**2
    parts = b.reshape(x, *lead, depth, factor, factor, h, w)
    moved = b.nn("transpose", parts, perm=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return b.reshape(moved, *lead, depth, h * factor, w * factor)


def pixel_unshuffle(b: TorchBuilder, x: SSAValue, factor: int) -> SSAValue:
    """x[..., c, h r, w r] -> [..., c r^2, h, w]."""
    *lead, c, h, w = b.shape(x)
    n = len(lead)
    parts = b.reshape(x, *lead, c, h // factor, factor, w // factor, factor)
    moved = b.nn("transpose", parts, perm=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return b.reshape(moved, *lead, c * factor**2, h // factor, w // factor)


def channel_shuffle(b: TorchBuilder, x: SSAValue, groups: int) -> SSAValue:
    """Channels one of each group after the other."""
    n, c, *rest = b.shape(x)
    parts = b.reshape(x, n, groups, c // groups, *rest)
    return b.reshape(b.nn("transpose", parts, perm=(0, 2, 1, *range(3, len(rest) + 3))), n, c, *rest)


_SMOOTH = {"linear1d": "linear", "bilinear2d": "linear", "trilinear3d": "linear", "bicubic2d": "cubic"}

ROWS: Rows = {
    **{f"aten.upsample_{name}.default": _smooth(mode, vec=False) for name, mode in _SMOOTH.items()},
    **{f"aten.upsample_{name}.vec": _smooth(mode, vec=True) for name, mode in _SMOOTH.items()},
    **{f"aten._upsample_{name}_aa.default": _smooth(_SMOOTH[name], vec=False, antialias=True) for name in ("bilinear2d", "bicubic2d")},
    **{f"aten._upsample_{name}_aa.vec": _smooth(_SMOOTH[name], vec=True, antialias=True) for name in ("bilinear2d", "bicubic2d")},
    **{f"aten.upsample_nearest{n}d.default": _nearest(exact=False, vec=False) for n in (1, 2, 3)},
    **{f"aten.upsample_nearest{n}d.vec": _nearest(exact=False, vec=True) for n in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{n}d.default": _nearest(exact=True, vec=False) for n in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{n}d.vec": _nearest(exact=True, vec=True) for n in (1, 2, 3)},
    "aten.grid_sampler.default": grid_sampler,
    "aten.grid_sampler_2d.default": grid_sampler,
    "aten.grid_sampler_3d.default": grid_sampler,
    "aten.affine_grid_generator.default": affine_grid_generator,
    "aten.pixel_shuffle.default": pixel_shuffle,
    "aten.pixel_unshuffle.default": pixel_unshuffle,
    "aten.channel_shuffle.default": channel_shuffle,
}
