"""Prompts as users give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error

Prompts: TypeAlias = "Sequence[int] | Sequence[Sequence[int]] | NDArray | Any"
"""Tokens of the one row of a batch, or tokens of each row; arrays and tensors of rank 1 or 2 likewise."""


def rows_of(prompts: Prompts, batch: int, vocabulary: int) -> list[list[int]]:
    """Return the tokens of each row. Raises E0801 for another number of rows or values that are no integers, E0802 for unknown tokens."""
    array: Any = prompts
    given = array.tolist() if hasattr(array, "tolist") else prompts
    if not isinstance(given, list | tuple):
        raise Error("E0801", f"prompts are rows of tokens, not a {type(prompts).__name__}")
    nested = [isinstance(row, list | tuple | np.ndarray) or hasattr(row, "tolist") and np.ndim(row) == 1 for row in given]
    rows = list(given) if nested and all(nested) else [given]
    if len(rows) != batch:
        raise Error("E0801", f"there are {len(rows)} prompts for a batch of {batch} rows", hint="give one prompt a row")
    return [_tokens(row, number, vocabulary) for number, row in enumerate(rows)]


def _tokens(row: Any, number: int, vocabulary: int) -> list[int]:
    found = np.asarray(row)
    if found.size == 0:
        return []
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise Error("E0801", f"the prompt of row {number} is not a list of integers")
    outside = found[(found < 0) | (found >= vocabulary)]
    if outside.size:
        raise Error("E0802", f"token {outside[0]} of row {number} is not one of the {vocabulary} that the model has")
    return [int(token) for token in found]
