"""Windows of convolutions and pools: ONNX's attributes as the two-dimensional ones of dialect nn.

One spatial dimension becomes two by a height of 1.  Padding that is asked for by rule is worked out from the static sizes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.kernels import windows as core
from ttc.dialects.nn.window import SpatialWindow
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported


def spatial_rank(b: Builder, x: SSAValue) -> int:
    """Return the number of spatial dimensions, 1 or 2. Raises E0401, Unsupported."""
    rank = b.rank(x) - 2
    if rank < 1:
        raise Error("E0401", f"needs a batch, channels and at least one spatial dimension, not {b.spec(x)}")
    if rank > 2:
        raise Unsupported(f"{rank} spatial dimensions")
    return rank


def lift(b: Builder, x: SSAValue) -> SSAValue:
    """Return [a, b, w] as [a, b, 1, w]; values of rank 4 as they are."""
    shape = b.shape(x)
    return b.reshape(x, *shape[:2], 1, *shape[2:]) if len(shape) == 3 else x


def lower(b: Builder, x: SSAValue, rank: int) -> SSAValue:
    """Undo `lift` for values of that many spatial dimensions."""
    shape = b.shape(x)
    return b.reshape(x, *shape[:2], *shape[3:]) if rank == 1 else x


def window(
    b: Builder,
    x: SSAValue,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    auto_pad: str,
) -> SpatialWindow:
    """Return the window over x[n, c, one or two spatial dimensions].  Raises E0401, E0402, Unsupported."""
    spatial_rank(b, x)
    return two_dimensional(flat_window(b, x, kernel, strides, dilations, pads, auto_pad))


def flat_window(
    b: Builder,
    x: SSAValue,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    auto_pad: str,
) -> SpatialWindow:
    """Return the window over x[n, c, spatial...] in as many dimensions; empty attributes take their defaults. Raises E0402, Unsupported."""
    rank = b.rank(x) - 2
    strides, dilations, pads = strides or (1,) * rank, dilations or (1,) * rank, pads or (0,) * (2 * rank)
    if not (len(kernel) == len(strides) == len(dilations) == rank and len(pads) == 2 * rank):
        raise Error("E0402", f"kernel {kernel}, strides {strides}, dilations {dilations}, pads {pads} do not fit {rank} spatial dimensions")
    if min(kernel + strides + dilations) < 1:
        raise Error("E0402", f"kernel {kernel}, strides {strides} and dilations {dilations} must be positive")
    if max(kernel + strides + dilations + pads) > 1 << 24 or min(pads) < -(1 << 24):
        raise Error("E0402", f"kernel {kernel}, strides {strides}, dilations {dilations} or pads {pads} are too large")
    flat = SpatialWindow(kernel, strides, dilations, pads)
    pads = _pads(b.shape(x)[2:], flat, auto_pad)
    return SpatialWindow(kernel, strides, dilations, pads)


def _pads(sizes: tuple[int, ...], flat: SpatialWindow, auto_pad: str) -> tuple[int, ...]:
    if auto_pad in ("NOTSET", ""):
        if min(flat.pads) < 0:
            raise Unsupported("negative pads")
        return flat.pads
    if auto_pad == "VALID":
        return (0,) * len(flat.pads)
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise Error("E0402", f"auto_pad '{auto_pad[:40]}' is unknown")
    return split_pads(same_totals(sizes, flat.kernel, flat.strides, flat.dilations), upper=auto_pad == "SAME_UPPER")


def same_totals(sizes: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> list[int]:
    """Return the padding by dimension, before and after together, with which there are as many windows as strides begin."""
    found: list[int] = []
    for size, taps, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (taps - 1) * dilation + 1
        found.append(max((-(-size // stride) - 1) * stride + reach - size, 0))
    return found


def split_pads(totals: list[int], *, upper: bool) -> tuple[int, ...]:
    """Return all beginnings, then all ends; an odd element goes to the end (upper) or the beginning."""
    small, large = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    return small + large if upper else large + small


def reaching_up(sizes: tuple[int, ...], win: SpatialWindow) -> SpatialWindow:
    """Return the window with so much padding at the end that the last ones of ceil_mode fit."""
    rank, ends = len(sizes), list(win.pads[len(sizes) :])
    for i, (size, kernel, stride, dilation) in enumerate(zip(sizes, win.kernel, win.strides, win.dilations, strict=True)):
        along = core.Window(kernel, stride, dilation, win.pads[i], ends[i], ceil=True)
        ends[i] = max(ends[i], along.reach(along.count(size)) - size - win.pads[i])
    return replace(win, pads=(*win.pads[:rank], *ends))


def two_dimensional(flat: SpatialWindow) -> SpatialWindow:
    """Return the window with a height of 1 if it has one dimension."""
    if len(flat.kernel) == 2:
        return flat
    begin, end = flat.pads
    return SpatialWindow((1, *flat.kernel), (1, *flat.strides), (1, *flat.dilations), (0, begin, 0, end))


def pool_attrs(w: SpatialWindow, ceil_mode: int) -> dict[str, Any]:
    """Return attributes that the two pools share."""
    return {
        "kernel": w.kernel,
        "strides": w.strides,
        "pads": w.pads,
        "dilations": w.dilations,
        "layout": "nchw",
        "ceil_mode": bool(ceil_mode),
    }
