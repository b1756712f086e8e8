"""Selections of rows, as `tile.sparse_matmul` describes them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ttc.dialects.core.kernels.windows import Window
from ttc.dialects.core.records import record

MAX_TAP_ROWS = 8
"""The most rows of taps that are gathered by themselves: one op puts them together again, and it has so many inputs."""
TILE_ROWS = 32
"""Rows of a tile, of which selections are made."""
HELD_TILES = 128
"""The most tiles of an image, a tile of channels wide, that a core can hold while it passes over the image once a tap."""


@record
class Selection:
    """Which row of the source each row of the result is; see `tile.sparse_matmul`.

    Args:
        source: sizes of the grid of source rows.
        sizes: of the grid of terms and result rows.
        steps: a row a dimension of the source, a column a dimension of `sizes`.
        offsets, divisors: one a dimension of the source.
        terms: leading dimensions of `sizes` that are summed over.
        nearest: points outside the source count as the nearest inside.
    """

    source: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    divisors: tuple[int, ...]
    terms: int = 0
    nearest: bool = False

    @property
    def is_identity(self) -> bool:
        """Whether the result is all rows of the source in their order."""
        moved = [i for i, size in enumerate(self.source) if size > 1]
        walked = [j for j, size in enumerate(self.sizes) if size > 1]
        if self.terms or self.nearest or any(self.offsets) or [self.source[i] for i in moved] != [self.sizes[j] for j in walked]:
            return False
        places = dict(zip(moved, walked, strict=True))
        steps = [[self.steps[i][j] for j in walked] for i in moved]
        return all(row == [int(j == places[i]) for j in walked] and self.divisors[i] == 1 for i, row in zip(moved, steps, strict=True))

    def attrs(self) -> dict[str, Any]:
        """Return the selection as attributes of the op."""
        return {
            "source": self.source,
            "sizes": self.sizes,
            "steps": tuple(step for row in self.steps for step in row),
            "offsets": self.offsets,
            "divisors": self.divisors,
            "terms": self.terms,
            "nearest": self.nearest,
        }


def along(
    source: Sequence[int], sizes: Sequence[int], starts: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Selection:
    """Return the selection by dimension: point i of the result is point starts[d] + steps[d] * i[d] of the source."""
    rank = len(source)
    found = steps or [1] * rank
    matrix = tuple(tuple(found[d] if j == d else 0 for j in range(rank)) for d in range(rank))
    return Selection(tuple(source), tuple(sizes), matrix, tuple(starts or [0] * rank), (1,) * rank)


def permuted(source: Sequence[int], perm: Sequence[int]) -> Selection:
    """Return the selection in which dimension i of the result is dimension perm[i] of the source."""
    rank = len(source)
    matrix = tuple(tuple(int(perm[j] == d) for j in range(rank)) for d in range(rank))
    return Selection(tuple(source), tuple(source[p] for p in perm), matrix, (0,) * rank, (1,) * rank)


def windows_of(image: Sequence[int], counts: Sequence[int], moves: Sequence[Window], *, terms: int = 0, nearest: bool = False) -> Selection:
    """Return the selection of the pixels under the taps of sliding windows.

    Args:
        image: n, h, w.
        counts: windows along height and width.
        moves: of the windows along height and width.
        terms: 2 to sum over the taps, 0 for a row a tap and window: the result's grid is [kh, kw, n, h', w'].
        nearest: taps outside the image count as its nearest pixel, instead of zeros.
    """
    rows, columns = moves
    steps = ((0, 0, 1, 0, 0), (rows.dilation, 0, 0, rows.stride, 0), (0, columns.dilation, 0, 0, columns.stride))
    sizes = (rows.kernel, columns.kernel, image[0], *counts)
    return Selection(tuple(image), sizes, steps, (0, -rows.before, -columns.before), (1, 1, 1), terms, nearest)


def row_of_taps(taps: Selection, row: int, bands: int) -> Selection:
    """Return one row of taps of a grid [kh, kw, n, h', w'], band by band of windows: [n, bands, kw, h' / bands, w'].

    A band's windows then lie in the image behind those of the band before, so that the image is passed over once.
    """
    _, columns, n, height, width = taps.sizes
    steps = tuple((r[2], r[3] * (height // bands), r[1], r[3], r[4]) for r in taps.steps)
    offsets = tuple(offset + r[0] * row for offset, r in zip(taps.offsets, taps.steps, strict=True))
    return Selection(taps.source, (n, bands, columns, height // bands, width), steps, offsets, taps.divisors, 0, taps.nearest)


def bands_of(taps: Selection) -> int:
    """Return the bands of windows that fill whole tiles, the most there are, for an image that no core can hold; 0 for others."""
    kh, _, _, height, width = taps.sizes
    if not 1 < kh <= MAX_TAP_ROWS or prod(taps.source) // TILE_ROWS <= HELD_TILES:
        return 0
    return aligned_bands(height, width)


def aligned_bands(height: int, width: int) -> int:
    """Return the most bands of rows of windows that each fill whole tiles; 0 if none do."""
    return max((n for n in range(1, height + 1) if height % n == 0 and height // n * width % TILE_ROWS == 0), default=0)


def scattered(image: Sequence[int], counts: Sequence[int], moves: Sequence[Window]) -> Selection:
    """Return the selection of pixels that each tap of a transposed convolution sends to each pixel of its result [kh, kw, n, h', w']; zeros
    where none.
    """
    rows, columns = moves
    steps = ((0, 0, 1, 0, 0), (-rows.dilation, 0, 0, 1, 0), (0, -columns.dilation, 0, 0, 1))
    sizes = (rows.kernel, columns.kernel, image[0], *counts)
    return Selection(tuple(image), sizes, steps, (0, rows.before, columns.before), (1, rows.stride, columns.stride))


def stacked(selection: Selection, groups: int) -> Selection:
    """Return the selection made from each of several sources that lie one after another."""
    steps = ((1, *(0,) * len(selection.sizes)), *((0, *row) for row in selection.steps))
    return Selection(
        (groups, *selection.source),
        (groups, *selection.sizes),
        steps,
        (0, *selection.offsets),
        (1, *selection.divisors),
        0,
        selection.nearest,
    )
