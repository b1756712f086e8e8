"""Packing rectangles of cores onto a chip's grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Grid

Shape = tuple[int, int]


@record
class Request:
    """The rectangles that would do for one op, best first, as (rows, columns).

    start: row and column of its first core, if that is asked for; transposed: whether it lies on its side, None: as it fits.
    """

    shapes: tuple[Shape, ...]
    start: tuple[int, int] | None = None
    transposed: bool | None = None


def pack(sizes: Sequence[Shape], rows: int, cols: int) -> list[Grid] | None:
    """Return places for rectangles (rows, columns) on a grid, none overlapping, or None if this method finds none."""
    found = pack_requests([Request((size,)) for size in sizes], rows, cols)
    return None if found is None else [place for _, place in found]


def pack_requests(requests: Sequence[Request], rows: int, cols: int) -> list[tuple[int, Grid]] | None:
    """Return for each request the number of the shape taken and its place, none overlapping, or None if this method finds none.

    Requests with a start come first.  The others go by one order after another until all fit, each at the first free spot in row-major
    order, upright or else transposed.
    """
    fixed = [i for i, request in enumerate(requests) if request.start is not None]
    loose = [i for i, request in enumerate(requests) if request.start is None]
    for key in _ORDERS:
        found = _attempt(requests, [*fixed, *sorted(loose, key=lambda i: (*key(requests[i].shapes[0]), i))], rows, cols)
        if found is not None:
            return [found[i] for i in range(len(requests))]
    return None


_ORDERS: tuple[Callable[[Shape], tuple[int, ...]], ...] = (
    lambda shape: (-max(shape), -shape[0] * shape[1]),
    lambda shape: (-shape[0] * shape[1], -max(shape)),
    lambda shape: (-min(shape), -max(shape)),
    lambda shape: (-shape[0], -shape[1]),
)
"""Orders in which rectangles are placed: long ones first, large ones first, thick ones first, high ones first."""


def _attempt(requests: Sequence[Request], order: Sequence[int], rows: int, cols: int) -> dict[int, tuple[int, Grid]] | None:
    free = [(1 << cols) - 1 for _ in range(rows)]
    placed: dict[int, tuple[int, Grid]] = {}
    for index in order:
        found = _place(free, cols, requests[index])
        if found is None:
            return None
        placed[index] = found
    return placed


def _place(free: list[int], cols: int, request: Request) -> tuple[int, Grid] | None:
    """Return the first shape that fits, at its first spot, which is no longer free then."""
    for number, (height, width) in enumerate(request.shapes):
        for transposed in (False, True):
            if (request.transposed is not None and request.transposed != transposed) or (
                transposed and height == width and request.transposed is None
            ):
                continue
            down, across = (width, height) if transposed else (height, width)
            spot = _spot(free, cols, down, across) if request.start is None else _at(free, cols, down, across, request.start)
            if spot is not None:
                _take(free, *spot, down, across)
                return number, Grid(*spot, height, width, transposed)
    return None


def _spot(free: list[int], cols: int, height: int, width: int) -> tuple[int, int] | None:
    """Return the first row and column at which a rectangle of free cores begins."""
    if width > cols or height > len(free):
        return None
    for row in range(len(free) - height + 1):
        common = free[row]
        for below in free[row + 1 : row + height]:
            common &= below
        starts = common
        for shift in range(1, width):
            starts &= common >> shift
        if starts:
            return row, (starts & -starts).bit_length() - 1
    return None


def _at(free: list[int], cols: int, height: int, width: int, start: tuple[int, int]) -> tuple[int, int] | None:
    row, col = start
    if row + height > len(free) or col + width > cols:
        return None
    mask = ((1 << width) - 1) << col
    return start if all(line & mask == mask for line in free[row : row + height]) else None


def _take(free: list[int], row: int, col: int, height: int, width: int) -> None:
    for r in range(row, row + height):
        free[r] &= ~(((1 << width) - 1) << col)
