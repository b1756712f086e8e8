"""Cycles that one core needs for its share of a tile op, from the primitives that the op consists of."""

from __future__ import annotations

from ttc.dialects.core.formats import format_named
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.core import core_cycles
from ttc.runtime.perf.primitives import reading, works_of
from ttc.runtime.perf.table import table
from ttc.runtime.perf.work import OpCycles, in_sequence, overlapped


def cycles(view: OpView, share: Share, arch: str) -> int:
    """Return cycles a microbatch on one core, arithmetic and its own data movement overlapped."""
    return max(int(share_cycles(view, share, arch).core), 1)


def share_cycles(view: OpView, share: Share, arch: str) -> OpCycles:
    """Return the cycles of one core's share of an op, with its parts by what takes them."""
    found = in_sequence([core_cycles(work, arch) for work in works_of(view, share)])
    return beside(found, gathering(view, share), arch)


def gathering(view: OpView, share: Share) -> int:
    """Return bytes that an op gathers in L1 for its windows, or reads again for whole rows."""
    tiles = reading(view, share)
    return tiles * format_named(view.operand(0).format).tile_bytes(32, 32, 32) if tiles else 0


def beside(found: OpCycles, gathered: int, arch: str) -> OpCycles:
    """Return cycles with the gathering of so many bytes beside the engines; it counts as unpacking."""
    if not gathered:
        return found
    spent = gathered / table(arch)["gather"]
    core = overlapped(found.core, spent)
    return OpCycles(found.math, max(found.unpack, spent), found.pack, found.pipes, core, overlapped(core, found.pipes))
