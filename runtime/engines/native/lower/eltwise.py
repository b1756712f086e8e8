"""Elementwise ops: single functions, casts, and regions of them."""

from __future__ import annotations

from ttc.runtime.engines.native.graph.region import region_of
from ttc.runtime.engines.native.jobs.elementwise import compute
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.lower import LOWERINGS, takes_region


@LOWERINGS.rule("map")
@takes_region
def map_(n: Lowering) -> None:
    """Lower tile.map: one elementwise function."""
    _eltwise(n)


@LOWERINGS.rule("cast")
@takes_region
def cast(n: Lowering) -> None:
    """Lower tile.cast: a conversion to another format; integers that are held narrower stay as they are."""
    x = n.operand(0)
    if n.is_narrowed and x.storage == n.result_storage():
        n.alias(x)
        return
    _eltwise(n)


@LOWERINGS.rule("eltwise")
@takes_region
def eltwise(n: Lowering) -> None:
    """Lower tile.eltwise: a region of elementwise functions."""
    _eltwise(n)


def _eltwise(n: Lowering) -> None:
    xs = [n.operand(i) for i in range(len(n.node.operands))]
    own = region_of(n.work, [x.storage for x in xs], n.node.unrounded)
    if own is None:
        raise NotTaken("values without a storage")
    compute(n, own, xs)
