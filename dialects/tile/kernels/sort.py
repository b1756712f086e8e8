"""Numpy semantics of tile ops that order elements."""

from __future__ import annotations

from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("order")
def order(x: NDArray, *, k: int, axis: int, largest: bool) -> NDArray:
    """Return places of the first k of the order that nn.topk gives."""
    _, places = kernel("nn.topk")(x, k=k, axis=axis, largest=largest)
    return places
