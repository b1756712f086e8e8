"""Numpy semantics of elementwise tile ops."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("map")
def map_(*xs: NDArray, fn: str, names: tuple[str, ...] = (), values: tuple[Any, ...] = ()) -> NDArray:
    """Return the nn kernel of `fn` on arrays that broadcast."""
    found = kernel(f"nn.{fn}")(*xs, **dict(zip(names, values, strict=True)))
    if isinstance(found, tuple):
        raise TypeError(f"nn.{fn} gives several results: it is not elementwise")
    return found


@KERNELS.rule("cast")
def cast(x: NDArray, *, to: str | None = None) -> Any:
    """Return x as the source's cast to the dtype named `to` gives it; the caller rounds to the result's format."""
    return x if to is None else kernel("nn.cast")(x, dtype=to)
