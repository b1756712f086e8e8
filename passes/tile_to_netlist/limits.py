"""What the user asks of the grid and blocks of an op."""

from __future__ import annotations

from dataclasses import dataclass

from ttc.dialects.core.errors import Error
from ttc.dialects.core.targets import Target
from ttc.runtime.perf.base import OpView


@dataclass(frozen=True)
class Limits:
    """Limits on the candidates of an op; None: no limit.

    Args:
        grid: rows and columns of cores, as the op's blocks see them.
        stream: dimension that may be cut into steps: `r`, `c`, or `none`.
        inner: tiles of K that a product takes at a time (u_kt).
        start: row and column of the first core.
        transposed: whether the grid lies on its side.
        text: of the rules that ask for it.
        layouts: ways to lie on as many cores that are looked at; thorough: whether what is hardly ever best is looked at too.
    """

    grid: tuple[int, int] | None = None
    stream: str | None = None
    inner: int | None = None
    start: tuple[int, int] | None = None
    transposed: bool | None = None
    text: str = ""
    layouts: int = 3
    thorough: bool = False

    def allows(self, grid: tuple[int, int], chip: tuple[int, int]) -> bool:
        """Whether a grid is as asked for, and lies on the chip where it is to start."""
        if self.grid is not None and grid != self.grid:
            return False
        return True

    def no_grid(self, view: OpView, target: Target) -> Error:
        """No grid is as asked for."""
        return Error("E0502", view.op)
