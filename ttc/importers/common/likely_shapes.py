"""Shapes that a model's open dimensions are likely to have, for hints and for checks of models whose shapes nobody gave."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from math import prod

from ttc.dialects.core.records import record
from ttc.importers.common.open_input import OpenInput

Shapes = Mapping[str, tuple[int, ...]]
CHANNELS = (1, 3, 4)
"""The sizes of a dimension that holds the channels of an image."""
COLOURS = 3
TERM = re.compile(r"\s*([+*-])\s*")
"""Operators between the names and numbers of a dimension that is an expression: `past_length + 1`."""


@record
class Guess:
    """Sizes to assume where a model does not say any.

    Args:
        image: pixels a side.
        volume: points a side of an image with three dimensions.
        length: of a sequence.
    """

    image: int = 224
    volume: int = 64
    length: int = 128


GUESSES = (Guess(), *(Guess(size, size, size) for size in (32, 28, 64, 256, 299, 384, 512, 16)))
"""Guesses in the order in which they are tried: sizes that published models have."""


def likely_shapes(
    inputs: Sequence[OpenInput], given: Shapes, batch: int | None = None, guess: Guess = GUESSES[0]
) -> dict[str, tuple[int, ...]]:
    """Return shapes of the inputs with open dimensions: those given, else a batch of 1 and sizes of a guess.

    Dimensions of one name get one size; one that is a sum or product of others gets its value where theirs are known.
    """
    sizes: dict[str, int] = {}
    for known in inputs:
        for size, dim in zip(given.get(known.name, ()), known.dims, strict=False):
            sizes.update({dim: size} if isinstance(dim, str) and dim else {})
    places = [(item, axis, dim) for item in inputs for axis, dim in enumerate(item.dims)]
    for item, axis, dim in sorted(places, key=lambda place: place[1] > 0):  # a dimension that leads anywhere is a batch everywhere
        if isinstance(dim, str) and dim and len(TERM.split(dim)) == 1:
            sizes.setdefault(dim, item.nearest_size(dim, _likely(item, axis, batch, guess)))
    found: dict[str, tuple[int, ...]] = {}
    for item in inputs:
        shape = tuple(_size(item, axis, dim, sizes, batch, guess) for axis, dim in enumerate(item.dims))
        if item.name in given or shape != item.dims:
            found[item.name] = given.get(item.name, shape)
    return found


def flags_text(shapes: Shapes) -> str:
    """Return the flags that set shapes, as a shell takes them: `--shape x=1x3x224x224`."""
    texts = [f"{name}={'x'.join(map(str, shape))}" for name, shape in shapes.items()]
    return " ".join(f"--shape {shlex.quote(text)}" for text in texts)


def value_of(dim: str, sizes: Mapping[str, int]) -> int | None:
    """Return the value of a sum, difference or product of names and numbers; None where one is unknown, or for any other text."""
    total, sign = 0, 1
    for part in re.split(r"\s*([+-])\s*", dim):
        if part in ("+", "-"):
            sign = 1 if part == "+" else -1
            continue
        factors = [int(f) if re.fullmatch(r"\d{1,9}", f) else sizes.get(f) for f in re.split(r"\s*\*\s*", part)]
        if any(factor is None for factor in factors):
            return None
        total += sign * prod(factor for factor in factors if factor is not None)
    return total if total > 0 else None


def _size(item: OpenInput, axis: int, dim: int | str, sizes: Mapping[str, int], batch: int | None, guess: Guess) -> int:
    if isinstance(dim, int):
        return dim
    known = sizes.get(dim) or value_of(dim, sizes)
    return known or item.nearest_size(dim, _likely(item, axis, batch, guess))


def _likely(item: OpenInput, axis: int, batch: int | None, guess: Guess) -> int:
    """Return the size of an open dimension by its place among the others."""
    dims, rank = item.dims, len(item.dims)
    if axis == 0:
        return batch or 1
    if rank < 4 or item.dtype.kind not in "fu":
        return guess.length
    last = dims[-1] in CHANNELS and dims[1] not in CHANNELS
    channel = rank - 1 if last else 1
    if axis == channel:
        return COLOURS
    spatial = [dim for index, dim in enumerate(dims) if index not in (0, channel)]
    sides = {dim for dim in spatial if isinstance(dim, int)}
    if sides and dims[channel] not in CHANNELS:
        return guess.length
    return next(iter(sides)) if len(sides) == 1 else guess.image if rank == 4 else guess.volume
