"""Why an op has no candidate, in words: what it needs, what there is, what comes nearest."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.passes.tile_to_netlist.buffers import tile_dims
from ttc.passes.tile_to_netlist.limits import Pair, PlacementLimits
from ttc.runtime.perf.base import OpView

LISTED = 8
"""The most divisors that an error names."""


@record(slots=True)
class TooLarge:
    """The least L1 that a grid was found to need, in bytes, and the step that needs it: tile rows and columns."""

    rows: int
    cols: int
    need_bytes: int
    step: tuple[int, int]


def too_large(view: OpView, refused: Sequence[TooLarge], target: Target) -> Error:
    """Return an E0502 that says that no grid leaves cores with a share that fits L1, in however small steps."""
    least = min(refused, key=lambda r: r.need_bytes)
    over = least.need_bytes / target.l1_usable_bytes
    message = (
        f"{view.op} needs {least.need_bytes:,} bytes of L1 on a core even in steps of {least.step[0]} x {least.step[1]} tiles "
        f"(best of {len(refused)} grids: {least.rows} x {least.cols} cores); {target.name} has {target.l1_usable_bytes:,}"
    )
    narrower = f"a smaller format (--format Bfp8_b) or a tensor narrower by {over:.1f} would fit"
    return Error("E0502", message, hint=f"{narrower}; kernels of Buda's vocabulary (--kernels buda) take less at a time")


def refused_rule(view: OpView, limits: PlacementLimits, refused: Sequence[TooLarge], target: Target, possible: Sequence[Pair]) -> Error:
    """Return an E0504 that says that no candidate is as rules ask.  possible: grids of candidates without the rules."""
    wanted = limits.grid or (1, 1)
    near = min(possible, key=lambda grid: (abs(grid[0] - wanted[0]) + abs(grid[1] - wanted[1]), grid), default=None)
    hint = None if near is None else f"the nearest grid that is possible: {near[0]} x {near[1]}"
    return Error("E0504", f"{view.op} cannot be placed as asked ({limits.text}): {_reason(view, limits, refused, target)}", hint=hint)


def _reason(view: OpView, limits: PlacementLimits, refused: Sequence[TooLarge], target: Target) -> str:
    if refused:
        least = min(refused, key=lambda r: r.need_bytes)
        return (
            f"{least.rows} x {least.cols} cores need {least.need_bytes:,} bytes of L1 each in steps of {least.step[0]} x {least.step[1]} "
            f"tiles; {target.name} has {target.l1_usable_bytes:,}"
        )
    chip = target.grid or (0, 0)
    lying = {None: "", True: ", on its side", False: ", upright"}[limits.transposed]
    place = "" if limits.start is None else f", from core ({limits.start[0]}, {limits.start[1]}) on"
    if limits.grid is None or not limits.allows(limits.grid, chip):
        what = "no grid of the op" if limits.grid is None else f"no grid of {limits.grid[0]} x {limits.grid[1]} cores"
        return f"{what} fits on the {chip[0]} x {chip[1]} cores of {target.name}{lying}{place}"
    t, rows, cols = tile_dims(view.result)
    grid = f"{limits.grid[0]} x {limits.grid[1]} cores"
    return f"its result of {t} x {rows} x {cols} tiles would leave some of {grid} without work, or shares unequal"


def refused_inner(view: OpView, limits: PlacementLimits, depth: int) -> Error:
    """Return an E0504 that says that the inner dimension is not cut as a rule asks.  depth: of it in tiles; 0: the op has none."""
    if depth == 0:
        return Error("E0504", f"{view.op} has no inner dimension to cut as asked ({limits.text})", hint="leave out u_kt")
    asked = limits.inner or 1
    divisors = sorted((d for d in range(1, depth + 1) if depth % d == 0), key=lambda d: (abs(d - asked), d))[:LISTED]
    message = f"{view.op} cannot be placed as asked ({limits.text}): its inner dimension of {depth} tiles is not cut into {asked} at a time"
    return Error("E0504", message, hint=f"possible: {', '.join(map(str, sorted(divisors)))}")
