"""Views and copies: a dimension that is divided stays one, or is the first of those that it is made into."""

from __future__ import annotations

from math import prod
from typing import cast

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division, part_size


def parted(shape: tuple[int, ...], place: int, chips: int) -> tuple[int, ...]:
    """Return the shape of one chip's part."""
    return (*shape[:place], part_size(shape[place], chips), *shape[place + 1 :])


@SHARDING.rule("reshape")
def reshape(step: DividedOp) -> Division | None:
    """Find the dimension of the result that begins where the divided one does, and that the chips divide in the same way."""
    split = step.splits[0]
    if split is None:
        return None
    before = prod(step.shapes[0][:split])
    places = [at for at, size in enumerate(step.shape) if size > 1 and prod(step.shape[:at]) == before]
    if not places or not step.divides(step.shape[places[0]]):
        return None
    if not step.are_equal(step.shape[places[0]]) and step.shape[places[0]] != step.shapes[0][split]:
        return None
    return Division((split,), (places[0],), {"shape": parted(step.shape, places[0], step.chips)})


@SHARDING.rule("transpose")
def transpose(step: DividedOp) -> Division | None:
    """Follow the divided dimension to its new place."""
    split, perm = step.splits[0], cast("tuple[int, ...]", step.work.attrs["perm"])
    return None if split is None else Division((split,), (perm.index(split),))


@SHARDING.rule("expand")
def expand(step: DividedOp) -> Division | None:
    """Keep divided a dimension that is not expanded."""
    split = step.splits[0]
    if split is None:
        return None
    place = split + len(step.shape) - len(step.shapes[0])
    if step.shape[place] != step.shapes[0][split]:
        return None
    return Division((split,), (place,), {"shape": parted(step.shape, place, step.chips)})
