"""From an op of the form to its work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp
from ttc.dialects.netlist.buda.work.building import ADJUSTED, Building, input_tile, relu, result_type
from ttc.dialects.netlist.buda.work.datacopy import COPIES
from ttc.dialects.netlist.buda.work.families import BUILDS
from ttc.dialects.netlist.buda.work.shared import FRAME, WorkBuilder, flag
from ttc.dialects.tile.facts.sfpu import BINARY_FUNCTIONS, RESCALES, SFPU_FUNCTIONS

ELEMENTWISE = frozenset((*COPIES, *SFPU_FUNCTIONS, *BINARY_FUNCTIONS, *RESCALES))
"""Types of ops that take their operands element for element."""


def work_of(op: BudaOp, inputs: Sequence[TensorType], fused: FusedOp | None, arch: str) -> Function:
    """Return the work of an op on inputs of those types [t, rows, columns].

    Args:    fused: what the attribute fused_op_id names, for a fused_op.  arch: grayskull, wormhole, wormhole_b0 or blackhole.
    Raises:  E0401, E0402 if inputs and attributes do not fit, E0602 if the result has other dimensions than the blocks say; each names
             the op.  E0503 for a type that cannot be executed.
    """
    try:
        return _work_of(op, tuple(inputs), fused, arch)
    except Error as error:
        raise error.at(op.name) from None


def _work_of(op: BudaOp, inputs: tuple[TensorType, ...], fused: FusedOp | None, arch: str) -> Function:
    build = BUILDS.get(op.type or "")
    if build is None:
        raise Error("E0503", f"ops of type '{op.type}' cannot be executed", hint=nearest(op.type or "", BUILDS.rules()))
    wanted = result_type(op)
    for type_ in inputs:
        if len(type_.shape) != 3:
            raise Error("E0401", f"an input of shape {list(type_.shape)} is not [t, rows, columns]")
    tiles = {input_tile(type_, op) for type_ in inputs} | {op.tile_dim or FRAME}
    transposed = any(tm.kind == "transpose" for tms in op.input_tms.values() for tm in tms)
    small = len(tiles) == 1 and op.type in ELEMENTWISE and not transposed
    building = Building(op, inputs, fused, arch, WorkBuilder(inputs), tiles.pop() if small else FRAME)
    value = build(building)
    value = _finished(building, value, wanted, [input_tile(t, op) for t in inputs])
    if building.shape(value) != wanted.shape:
        raise Error("E0602", f"its inputs give {list(building.shape(value))}, its blocks say {list(wanted.shape)}")
    if not building.builder.works or value != len(building.builder.types) - 1:
        value = building.emit("map", (value,), wanted.shape, fn="identity")
    return building.builder.finish(value, wanted, (op.name,))


def _finished(building: Building, value: int, wanted: TensorType, tiles: list[tuple[int, int]]) -> int:
    """Return what all ops do to their result: relu, rounding, small tiles."""
    op, attributes = building.op, building.op.attributes
    if flag(attributes, "relu_en") and op.type != "fused_op":
        value = relu(building, value, attributes)
    to = "Int8" if op.type in ("quantization", "requantization") or attributes.get("requant") else wanted.format
    if to in (*ADJUSTED, "Int8", "Int32"):
        value = building.emit("adjust", (value,), building.shape(value), to=to, rounding="rne")
    target = op.tile_dim or FRAME
    first = tiles[0] if tiles and op.type != "matmul" else FRAME
    kept = (min(first[0], target[0]), min(first[1], target[1]))
    if target == kept == building.tile:
        return value
    t, rows, columns = building.shape(value)
    shape = (t, rows // FRAME[0] * target[0], columns // FRAME[1] * target[1])
    return replace(building, tile=target).emit("retile", (value,), shape, source=FRAME, kept=kept, target=target)
