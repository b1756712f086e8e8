"""Locations: which objects of the source an op came from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute, Operation

MAX_SOURCES = 32
"""Source names of one location: each fusion reads them all, so that chains of any length stay linear."""

CHIP = re.compile(r"on chip (\d{1,4})")
"""The source name that ops have beside their own where several chips divide a program: a value goes to the chip of what reads it."""


def chip_mark(chip: int) -> str:
    """Return the source name of ops that run on a chip."""
    return f"on chip {chip}"


def marked_chip(location: Attribute) -> int | None:
    """Return the chip that the source names of an op say; None if they say none."""
    found = [match for name in source_names(location) if name.startswith("on chip ") and (match := CHIP.fullmatch(name))]
    return int(found[-1][1]) if found else None


@lru_cache(maxsize=1 << 14)
def named_location(name: str) -> builtin.NameLoc:
    """Return the location of an op that came from the source object of that name."""
    return builtin.NameLoc(builtin.StringAttr(name), builtin.NoneAttr())


def fused_location(locations: Iterable[Attribute]) -> Attribute:
    """Return one location for an op that replaces several: their first MAX_SOURCES source names, each once, in order; a chip is kept."""
    names = dict.fromkeys(name for location in locations for name in source_names(location))
    kept = tuple(islice(names, MAX_SOURCES))
    chips = [name for name in islice(names, MAX_SOURCES, None) if CHIP.fullmatch(name)]
    return location_of((*kept[:-1], chips[-1]) if chips else kept)


@lru_cache(maxsize=1 << 12)
def location_of(names: tuple[str, ...]) -> builtin.LocationAttr:
    """Return the location that holds these source names, as they are."""
    if len(names) == 1:
        return named_location(names[0])
    return (
        builtin.FusedLoc(builtin.ArrayAttr([named_location(name) for name in names]), builtin.NoneAttr()) if names else builtin.UnknownLoc()
    )


def source_names(location: Attribute) -> tuple[str, ...]:
    """The source names a location holds: node names, or `file:line`."""
    match location:
        case builtin.NameLoc():
            return (location.desc.data,)
        case builtin.FusedLoc():
            return tuple(name for part in cast("builtin.ArrayAttr", location.locations).data for name in source_names(part))
        case builtin.FileLineColLoc():
            return (f"{location.filename.data}:{location.line.data}",)
        case builtin.CallSiteLoc():
            return source_names(location.callee)
        case _:
            return ()


def where(op: Operation) -> str:
    """Return the op's source names, for messages; its own name if it has none."""
    names = source_names(op.location)
    return f"{names[0]}{f' (+{len(names) - 1})' if len(names) > 1 else ''}" if names else op.name
