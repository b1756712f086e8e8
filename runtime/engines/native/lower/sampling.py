"""Ops that read images at computed positions."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.sampling import OFFSETS, PADDINGS, GridSample
from ttc.runtime.engines.native.lower import LOWERINGS

_MOST_CORNERS = 16
"""Elements that a position meets: code grows with them."""


@LOWERINGS.rule("grid_sample")
def grid_sample(n: Lowering) -> None:
    """Lower tile.grid_sample: x[n, c, ...] at the positions of a grid [n, ..., k]."""
    n.only("mode", "padding", "align_corners")
    x, grid, mode, padding = n.dense(0), n.dense(1), str(n.attr("mode")), str(n.attr("padding"))
    if mode not in OFFSETS or padding not in PADDINGS:
        raise NotTaken(f"{mode} with {padding}")
    if x.storage not in FLOATS or grid.storage not in FLOATS or n.result_storage() not in FLOATS:
        raise NotTaken(f"samples of {x.storage} at {grid.storage}")
    y = n.result()
    kernel = GridSample(x.storage, grid.storage, y.storage, len(x.shape) - 2, mode, padding, bool(n.attr("align_corners", False)))
    if kernel.corners > _MOST_CORNERS:
        raise NotTaken(f"{kernel.corners} elements a position")
    points, elements = prod(grid.shape[1:-1]), prod(x.shape[2:])
    words = {"x": x, "grid": grid, "y": y, "channels": x.shape[1], "points": points, "elements": elements}
    words |= {f"size{i}": size for i, size in enumerate(x.shape[2:])}
    moved = sum(view.elements * view.item_bytes for view in (x, grid, y))
    n.job(
        kernel,
        words,
        tasks=x.shape[0] * -(-points // kernel.POINTS),
        written=[y],
        scratch=kernel.scratch_bytes,
        flops=2 * kernel.corners * y.elements,
        moved_bytes=moved,
    )
