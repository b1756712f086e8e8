"""Plain functions: the form of IR that runs, without xDSL.

A `Function` is a list of `Work` (one op each) over numbered values: inputs first, then the results of each work in order.  nn and tile
functions, derived tensors, and the work of a netlist op all take this form; archives hold it, engines run it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from math import prod
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

Plain: TypeAlias = "None | bool | int | float | str | tuple[Plain, ...]"
"""What an attribute can be: a scalar, or nested tuples of them."""

LEAVES = ("ttc.constant", "ttc.param", "ttc.state")
"""Works whose results are not computed."""

RECOMPUTED = "recomputed"
"""The source name that works have beside their own which compute again what another one computes: nothing merges the two."""


@record(slots=True)
class TensorType:
    """shape in elements (-1 where it depends on data), data format by name, layout: `rows`, or `tiles(h, w)` (text of the tile type)."""

    shape: tuple[int, ...]
    format: str
    layout: str = "rows"

    @property
    def elements(self) -> int:
        """Number of elements of a static shape."""
        return prod(self.shape)

    def tile_dims(self) -> tuple[int, int, int]:
        """(t, rows, columns) in tiles.  Raises E0602 for a layout without tiles."""
        found = TILES.fullmatch(self.layout)
        if found is None:
            raise Error("E0602", f"layout '{self.layout}' has no tiles")
        height, width, fold = int(found[1]), int(found[2]), int(found[3] or 1)
        return fold_to_tiles(self.shape, (height, width), fold)


TILES = re.compile(r"tiles\((\d{1,4}), (\d{1,4})(?:, (\d))?\)")
"""Text of a tiled layout: height, width, and how many dimensions before the last fold into tile rows."""


def fold_to_tiles(shape: tuple[int, ...], tile: tuple[int, int], fold: int) -> tuple[int, int, int]:
    """(t, rows, columns) in tiles of a tensor whose `fold` dimensions before the last fold into rows; the rest before them count as t."""
    lead = (1, 1, *shape)
    split = max(len(lead) - 1 - max(fold, 1), 0)
    return prod(lead[:split]), -(-prod(lead[split:-1]) // tile[0]), -(-lead[-1] // tile[1])


@record(slots=True)
class Work:
    """One op of a plain function.

    Args:
        op: full name, such as `tile.matmul`.
        operands: value numbers; None for an optional operand that is absent.
        attrs: attributes by name.
        results: types of the results.
        body: the region, for ops that have one and no kernel; its inputs are the operands.
        location: source names, such as ONNX nodes.
        bodies: the regions of an op that decides at run time what runs; it hands them values as it likes.
    """

    op: str
    operands: tuple[int | None, ...]
    attrs: dict[str, Plain]
    results: tuple[TensorType, ...]
    body: Function | None = None
    location: tuple[str, ...] = ()
    bodies: tuple[Function, ...] = ()


@record(slots=True)
class Function:
    """inputs: their types; works in order; outputs: value numbers."""

    inputs: tuple[TensorType, ...]
    works: tuple[Work, ...]
    outputs: tuple[int, ...]
    _last_use: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def value_types(self) -> list[TensorType]:
        """Types of all values, by number."""
        types = list(self.inputs)
        for work in self.works:
            types.extend(work.results)
        return types

    def last_use(self) -> dict[int, int]:
        """Value number -> index of the last work that reads it; outputs are absent (they live on)."""
        if not self._last_use:
            for index, work in enumerate(self.works):
                for operand in work.operands:
                    if operand is not None:
                        self._last_use[operand] = index
            for value in self.outputs:
                self._last_use.pop(value, None)
        return self._last_use


def numbered(function: Function) -> Iterator[tuple[Work, int]]:
    """Yield the works, each with the number of its first result."""
    number = len(function.inputs)
    for work in function.works:
        yield work, number
        number += len(work.results)


def all_works(function: Function) -> Iterator[Work]:
    """Yield the works of a function, and those of all functions inside of them."""
    waiting = [function]
    while waiting:
        for work in waiting.pop().works:
            yield work
            waiting += work.bodies if work.body is None else (work.body, *work.bodies)
