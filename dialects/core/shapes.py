"""Rules of shapes that ops of all dialects share, as plain functions of tuples.  A size of -1 depends on data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from ttc.dialects.core.errors import Error

Shape: TypeAlias = tuple[int, ...]


@lru_cache(maxsize=1 << 14)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the numpy broadcast of shapes; a dynamic dimension stays dynamic unless another is larger than 1.  Raises E0401."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[int] = []
    for axis in range(-rank, 0):
        sizes = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        fixed = sizes - {-1}
        if len(fixed) > 1:
            raise Error("E0401", f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast")
        result.append(fixed.pop() if fixed else -1 if sizes else 1)
    return tuple(result)


def require_broadcastable(operand: Shape | None, shape: Shape) -> None:
    """Raises E0401 unless an operand, where present, broadcasts to the shape without enlarging it."""
    if operand is not None and broadcast_shapes(operand, shape) != shape:
        raise Error("E0401", f"{list(operand)} does not broadcast to {list(shape)}")


def axis_in(axis: int, rank: int) -> int:
    """Return the axis counted from the front.  Raises E0412."""
    if not -rank <= axis < rank:
        raise Error("E0412", f"axis {axis} is outside rank {rank}")
    return axis % rank


def axes_in(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the front, sorted.  Raises E0412."""
    found = sorted(axis_in(a, rank) for a in axes)
    if len(set(found)) != len(found):
        raise Error("E0412", f"axes {list(axes)} name a dimension twice")
    return tuple(found)


def tiles_in(shape: Shape, tile: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns in tiles of matrices of whole tiles.  Raises E0401 for others."""
    if len(tile) != 2 or min(tile) < 1 or len(shape) < 2 or shape[-2] % tile[0] or shape[-1] % tile[1]:
        raise Error("E0401", f"{list(shape)} does not consist of tiles of {list(tile)}")
    return shape[-2] // tile[0], shape[-1] // tile[1]


def require_rank(shape: Shape, *ranks: int) -> None:
    """Raises E0401 unless the rank is one of those given."""
    if len(shape) not in ranks:
        raise Error("E0401", f"needs rank {' or '.join(map(str, ranks))}, not {list(shape)}")


def require_length(values: Sequence[float], rank: int, what: str) -> None:
    """Raises E0402 unless there is one value a dimension."""
    if len(values) != rank:
        raise Error("E0402", f"{what} has {len(values)} values for a tensor of rank {rank}")


def require_sizes(values: Sequence[int], what: str) -> None:
    """Raises E0402 if a value is negative."""
    if any(v < 0 for v in values):
        raise Error("E0402", f"{what} {list(values)} has a negative value")
