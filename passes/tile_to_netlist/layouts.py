"""How results lie on grids of cores: every useful rectangle, and the share of a core."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf, isqrt, prod

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.netlist.sizes import dealt
from ttc.passes.tile_to_netlist.limits import PlacementLimits

WORTH = 0.95
"""The share of a core's work that may remain on more cores for them to be looked at."""


@record(slots=True)
class GridLayout:
    """How a result lies on a grid.

    spread: rows and columns of equal parts of the grid, as a blocking has them; rows, cols: of cores, all parts together;
    share: (t, rows, columns) of one core in tiles.
    """

    spread: tuple[int, int]
    rows: int
    cols: int
    share: tuple[int, int, int]


def layouts(dims: tuple[int, int, int], target: Target, limits: PlacementLimits, *, wide: bool = False) -> Iterator[GridLayout]:
    """Return every useful way for a result to lie on a grid, upright or on its side.

    dims: (t, rows, columns) of the result in tiles.  wide: whether parts of the grid may share the columns of a matrix of few rows.
    Buda's kernels pass through matrices in time, and cores have equal shares without padding; others spread matrices over parts of the
    grid too, or the rows of one that has few columns.
    """
    height, width = target.grid or (0, 0)
    longest = max(height, width)
    shares = _splits if target.kernels == "fused" else _even_splits
    for spread, (slices, part_rows, part_cols) in _spreads(dims, target, wide):
        for down, share_rows in shares(part_rows, longest // spread[0]):
            for across, share_cols in shares(part_cols, longest // spread[1]):
                rows, cols = spread[0] * down, spread[1] * across
                if limits.allows((rows, cols), (height, width)):
                    yield GridLayout(spread, rows, cols, (slices, share_rows, share_cols))


def chosen_layouts(
    dims: tuple[int, int, int], target: Target, limits: PlacementLimits, *, wide: bool = False, joined: bool = False
) -> list[GridLayout]:
    """Return, by number of cores, the squarest of the layouts that leave least to do for a core, if that is less than on fewer cores.

    wide: as `layouts` has it.  joined: whether cores that share the columns of a row join partial sums, which layouts of whole rows spare.
    """

    def order(layout: GridLayout) -> tuple[int, bool, float, int]:
        _, rows, cols = layout.share
        return prod(layout.share), joined and cols < dims[2], max(rows, cols) / min(rows, cols), layout.rows

    by_cores: dict[int, list[GridLayout]] = {}
    for layout in layouts(dims, target, limits, wide=wide):
        by_cores.setdefault(layout.rows * layout.cols, []).append(layout)
    found: list[GridLayout] = []
    least: float = inf
    for _, alike in sorted(by_cores.items()):
        best = sorted(alike, key=order)[: limits.layouts]
        kept = [layout for layout in best if prod(layout.share) < least * WORTH] or (best if limits.thorough else [])
        found.extend(kept)
        least = min([least, *(prod(layout.share) for layout in kept)])
    return found


def _spreads(dims: tuple[int, int, int], target: Target, wide: bool) -> Iterator[tuple[tuple[int, int], tuple[int, int, int]]]:
    """Yield rows and columns of parts that a result is spread over, and the matrices, tile rows and tile columns of each part."""
    height, width = target.grid or (0, 0)
    longest = max(height, width)
    t, rows, cols = dims
    if target.kernels != "fused":
        yield (1, 1), dims
    elif t > 1:
        for parts, slices in _splits(t, height * width):
            yield from ((spread, (slices, rows, cols)) for spread in _rectangles(parts, longest))
    else:
        beside = [(1, parts) for parts in range(1, longest // min(cols, longest) + 1 if rows > longest else 2)]
        below = [(parts, 1) for parts in range(2, longest + 1 if wide and cols > longest else 2)]
        for spread in (*beside, *below):
            share = dealt(dims, spread)
            if share[0]:
                yield spread, share


@lru_cache(maxsize=4096)
def _rectangles(parts: int, longest: int) -> tuple[tuple[int, int], ...]:
    """Return rows and columns of the rectangles of that many parts."""
    return tuple((rows, parts // rows) for rows in divisors(parts) if rows <= longest and parts // rows <= longest)


@lru_cache(maxsize=4096)
def _splits(tiles: int, limit: int) -> tuple[tuple[int, int], ...]:
    found: dict[int, int] = {}
    for cores in range(1, min(tiles, limit) + 1):
        share = -(-tiles // cores)
        found.setdefault(-(-tiles // share), share)
    return tuple(found.items())


@lru_cache(maxsize=4096)
def _even_splits(tiles: int, limit: int) -> tuple[tuple[int, int], ...]:
    return tuple((cores, share) for cores, share in _splits(tiles, limit) if cores * share == tiles)


def splits(tiles: int, limit: int) -> Iterator[tuple[int, int]]:
    """Return (cores, tiles a core) for every useful way to spread tiles along one side of the grid, no core without work."""
    return iter(_splits(tiles, limit))


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors of a number, the largest first."""
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}, reverse=True))


@lru_cache(maxsize=4096)
def largest_divisor(number: int, limit: int) -> int:
    """Return the largest divisor that is at most `limit`."""
    return next(d for d in divisors(number) if d <= max(limit, 1))
