"""Integers of which some are known at import: what ops that move elements about make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp

MAX_PARTS: Final = 1 << 10
"""The most elements of a value that is known in part: lists of sizes, and what is computed with them."""
_MOVING: Final = frozenset(f"nn.{name}" for name in ("slice", "concat", "split", "reshape", "transpose", "expand", "cast", "repeat"))
_PICKING: Final = frozenset(("nn.gather",))


@record
class Partial:
    """Integers, and which of them are known; the others are 0."""

    values: NDArray
    known: NDArray


def sizes_known(shape: Sequence[int]) -> Partial:
    """Return the sizes of a tensor that are known."""
    sizes = np.array(shape, np.int64)
    return Partial(np.where(sizes == DYNAMIC, 0, sizes), sizes != DYNAMIC)


def partly(op: NNOp, operands: Sequence[Partial], evaluate: Callable[[Sequence[NDArray]], list[NDArray] | None]) -> list[Partial] | None:
    """Return what is known of an op's results; None for an op that mixes elements.  evaluate: the op's results for values of its operands.

    An op that only moves elements moves what is known of them alike.
    """
    if op.name not in _MOVING | _PICKING or any(p.values.size > MAX_PARTS or p.values.dtype.kind not in "iu" for p in operands):
        return None
    data, places = (operands, ()) if op.name in _MOVING else (operands[:1], operands[1:])
    if not all(p.known.all() for p in places):
        return None
    picked = [p.values for p in places]
    values = evaluate([*(p.values for p in data), *picked])
    known = evaluate([*(p.known.astype(p.values.dtype) for p in data), *picked])
    if values is None or known is None or any(v.dtype.kind not in "iu" for v in values):
        return None
    return [Partial(v, k != 0) for v, k in zip(values, known, strict=True)]
