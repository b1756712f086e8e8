"""Which tile ops only move elements: what they read is what they write, bit for bit."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import Work

MOVEMENT = frozenset(
    f"tile.{name}"
    for name in (
        *("reshape", "transpose", "hslice", "hstack", "broadcast", "slice", "relayout", "pad", "concat", "retile", "repeat"),
        *("tile_broadcast", "splice", "to_host", "from_host", "embedding", "gather", "gather_elements", "gather_nd", "lookup"),
        *("scatter_elements", "scatter_nd", "reverse_sequence"),
    )
)
"""Ops whose results hold elements of their operands, and numbers of their attributes, each as it is."""


def only_moves(work: Work) -> bool:
    """Whether an op moves elements and computes none: a scatter that combines what it meets computes."""
    return work.op in MOVEMENT and work.attrs.get("reduction", "none") == "none"
