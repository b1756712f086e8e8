"""Shapes of ops that read images at computed positions."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.resampling import MODES
from ttc.dialects.core.kernels.windows import windows
from ttc.dialects.core.shapes import Shape, require_rank

PADDINGS = ("zeros", "border", "reflection")


def grid_sample(x: Shape, grid: Shape, *, mode: str, padding: str, align_corners: bool) -> Shape:
    """Return [n, c, o..] for x[n, c, d..] and grid[n, o.., k].  Raises E0401, E0402."""
    for value, known in ((mode, MODES), (padding, PADDINGS)):
        if value not in known:
            raise Error("E0402", f"'{value}' is not one of {', '.join(known)}")
    require_rank(x, 3, 4, 5)
    if len(grid) < 2 or grid[-1] != len(x) - 2 or grid[0] != x[0] or min(x[2:]) < 1:
        raise Error("E0401", f"a grid {list(grid)} has no positions in {list(x)}")
    return (*x[:2], *grid[1:-1])


def roi_align(
    x: Shape, rois: Shape, batch_indices: Shape, *, size: tuple[int, ...], samples: int, scale: float, offset: float, mode: str
) -> Shape:
    """Return [r, c, size[0], size[1]] for x[n, c, h, w] and rois[r, 4].  Raises E0401, E0402."""
    require_rank(x, 4)
    require_rank(rois, 2)
    if rois[1] != 4 or batch_indices != rois[:1] or min(x[2:]) < 1:
        raise Error("E0401", f"regions {list(rois)} of images {list(batch_indices)} do not fit {list(x)}")
    if len(size) != 2 or min(size) < 1 or not 0 <= samples <= 1 << 10 or mode not in ("avg", "max"):
        raise Error("E0402", f"size {list(size)}, samples {samples} or mode '{mode}' is out of range")
    return (rois[0], x[1], *size)


def deform_conv(
    x: Shape,
    w: Shape,
    offset: Shape,
    mask: Shape | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
    offset_groups: int,
) -> Shape:
    """Return [n, o, oh, ow] for x[n, c, h, w] and w[o, c / groups, kh, kw].  Raises E0401, E0402."""
    for operand in (x, w, offset):
        require_rank(operand, 4)
    rows, columns = windows(w[2:], strides, pads, dilations)
    if groups < 1 or offset_groups < 1:
        raise Error("E0402", f"{groups} groups and {offset_groups} groups of offsets are not at least 1 each")
    channels, filters, taps = x[1], w[0], w[2] * w[3]
    if channels != groups * w[1] or filters % groups or channels % offset_groups:
        raise Error("E0401", f"weight {list(w)} does not fit {list(x)} in {groups} groups, or {offset_groups} groups of offsets do not")
    size = rows.count(x[2]), columns.count(x[3])
    if min(size) < 1 or min(x) < 1:
        raise Error("E0401", f"no window fits {list(x)}")
    for value, each in ((offset, 2), (mask, 1)):
        wanted = (x[0], each * offset_groups * taps, *size)
        if value is not None and value != wanted:
            raise Error("E0401", f"{list(value)} is not of shape {list(wanted)}")
    return (x[0], filters, *size)
