"""Images sampled anew: upsample ops, grids of positions, and rearrangements of channels as places."""

from __future__ import annotations

from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.grids import affine_grid
from ttc.importers.common.resampling import channel_shuffle, pixel_shuffle, pixel_unshuffle, resized
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Row, Rows

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
MODES = ("linear", "nearest", "cubic")
PADDINGS = ("zeros", "border", "reflection")


def _smooth(mode: str, *, antialias: bool = False, vec: bool) -> Row:
    def row(b: TorchBuilder, x: SSAValue, output: Ints | None, align_corners: bool, *scales: float | Floats | None) -> SSAValue:
        factors = _factors(b, x, scales, vec=vec)
        if antialias and align_corners:
            raise Unsupported("antialias between corners")
        coordinates = "align_corners" if align_corners else "half_pixel"
        return resized(b, x, output, factors, mode, coordinates, antialias=antialias)

    return row


def _nearest(*, exact: bool, vec: bool) -> Row:
    def row(b: TorchBuilder, x: SSAValue, output: Ints | None, *scales: float | Floats | None) -> SSAValue:
        factors = _factors(b, x, scales, vec=vec)
        if exact:
            return resized(b, x, output, factors, "nearest", "half_pixel", rounding="round_prefer_ceil")
        return resized(b, x, output, factors, "nearest", "asymmetric")

    return row


def _factors(b: TorchBuilder, x: SSAValue, scales: tuple[float | Floats | None, ...], *, vec: bool) -> tuple[float | None, ...]:
    """Return one a spatial dimension: given as one list, or one by one."""
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
