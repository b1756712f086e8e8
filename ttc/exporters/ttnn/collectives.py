"""Works between the chips of a mesh: sums over all of them, and tensors that are gathered or cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ttc.exporters.ttnn.code import call
from ttc.exporters.ttnn.op_text import OpText
from ttc.exporters.ttnn.values import FULL, HOST, lifted
from ttc.passes.nn.sharding.divide import ALL_GATHER, ALL_REDUCE, PARTITION, REDUCE_SCATTER


def _all_reduce(step: OpText) -> None:
    """Write the sum of what all chips have."""
    step.give(call("ttnn.all_reduce", step.full(0)), FULL, stem="all_reduce")


def _reduce_scatter(step: OpText) -> None:
    """Write a part of the sum of what all chips have."""
    step.give(call("ttnn.reduce_scatter", step.full(0), _dim(step)), FULL, stem="scattered")


def _all_gather(step: OpText) -> None:
    """Write all of what each chip has a part of."""
    step.give(call("ttnn.all_gather", step.full(0), _dim(step)), FULL, stem="all_gather")


def _partition(step: OpText) -> None:
    """Write each chip's own part of what all have; what the host has is sent in parts."""
    value = step.operand(0)
    if not value.on_device and value.leaf is None:
        step.same(HOST, step.host(0))
        return
    step.give(call("ttnn.mesh_partition", step.full(0), _dim(step)), FULL, stem="partition")


def _dim(step: OpText) -> str:
    shape = step.operand(0).shape
    return str(cast("int", step.work.attrs["dim"]) + len(lifted(shape)) - len(shape))


COLLECTIVES: dict[str, Callable[[OpText], None]] = {
    ALL_REDUCE: _all_reduce,
    REDUCE_SCATTER: _reduce_scatter,
    ALL_GATHER: _all_gather,
    PARTITION: _partition,
}
"""What writes a work between chips, by the name of the work, which is none of dialect nn."""
