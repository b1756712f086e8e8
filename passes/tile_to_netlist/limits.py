"""What the user, and the effort of the search, ask of the grid and blocks of an op."""

from __future__ import annotations

from ttc.dialects.core.records import record

Pair = tuple[int, int]


@record
class PlacementLimits:
    """Limits on the candidates of an op; None: no limit.

    Args:
        grid: rows and columns of cores, as the op's blocks see them.
        start: row and column of the first core.
        transposed: whether the grid lies on its side.
        stream: dimension of a share that may be cut into steps: `r`, `c`, or `none`.
        inner: tiles of K that a product takes at a time (u_kt).
        policy: `fastest` or `smallest` of the candidates alone; None: the one with which the run is shortest.
        buffer: microbatches that L1 holds of what comes from other ops.
        text: of the rules that ask for all this.
        layouts: ways to lie on as many cores that are looked at; thorough: whether what is hardly ever best is looked at too.
    """

    grid: Pair | None = None
    start: Pair | None = None
    transposed: bool | None = None
    stream: str | None = None
    inner: int | None = None
    policy: str | None = None
    buffer: int | None = None
    text: str = ""
    layouts: int = 3
    thorough: bool = False

    def allows(self, grid: Pair, chip: Pair) -> bool:
        """Return whether a grid is as asked for, and fits on the chip the way it is to lie and from where it is to start."""
        if self.grid is not None and grid != self.grid:
            return False
        row, col = self.start or (0, 0)
        rows, cols = chip[0] - row, chip[1] - col
        upright = self.transposed is not True and grid[0] <= rows and grid[1] <= cols
        lying = self.transposed is not False and grid[1] <= rows and grid[0] <= cols
        return upright or lying
