"""Works of a fused op back to sub-ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.work.building import INTEGERS
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading, relu_said
from ttc.dialects.netlist.buda.work.schedule import FusedInput, FusedResult, FusedStep, scheduled
from ttc.dialects.netlist.buda.work.sfpu import said_by
from ttc.dialects.netlist.buda.work.shared import ImpliedConstant
from ttc.dialects.tile.facts import in_transit


def read_schedule(work: Reading) -> Parts:
    """Return the steps of a work that is elementwise throughout.  Raises E0503 for other works."""
    inputs = len(work.function.inputs)
    operands: list[Operand | ImpliedConstant] = []
    steps: list[FusedStep] = []
    places: dict[int, int] = {}
    for at, made in enumerate(work.function.works, start=inputs):
        if in_transit(made.op):
            continue
        if made.op == "tile.relu" and steps:
            steps[-1] = _with_relu(steps[-1], made.attrs)
            places[at] = len(steps) - 1
            continue
        steps.append(_step(work, at, operands, places))
        places[at] = len(steps) - 1
    blocking = work.op.blocking
    if blocking is None or not steps:
        raise Error("E0602", "an op of Buda needs its blocks, and something to compute")
    fused = scheduled(work.op.name, steps, len(operands), (blocking.mblock, blocking.ublock), floats=work.result.format not in INTEGERS)
    return Parts("fused_op", tuple(operands), {"fused_op_id": work.op.name}, fused)


def _step(work: Reading, at: int, operands: list[Operand | ImpliedConstant], places: Mapping[int, int]) -> FusedStep:
    made = work.makers[at]
    type_, attributes, zero_point = _kind(made.op, made.attrs)
    found: list[FusedInput | FusedResult] = []
    spread = ""
    for index, value in enumerate(v for v in made.operands if v is not None):
        source, inner = value, ""
        if work.maker(source) == "tile.tile_broadcast" and index == 1:
            inner, source = str(work.makers[source].attrs["dim"]), int(work.makers[source].operands[0] or 0)
        spread = inner or spread
        while work.maker(source) == "tile.adjust":
            source = int(work.makers[source].operands[0] or 0)
        if source in places:
            found.append(FusedResult(places[source]))
            continue
        known = Operand(source)
        if known not in operands:
            operands.append(known)
        found.append(FusedInput(operands.index(known)))
    return FusedStep(type_, tuple(found), spread, attributes, zero_point)


def _kind(op: str, attrs: Mapping[str, Plain]) -> tuple[str, dict[str, Plain], float | None]:
    """Type, attributes and zero point of a sub-op."""
    if op == "tile.binary":
        return str(attrs["fn"]), {}, None
    if op == "tile.sfpu":
        return str(attrs["fn"]), said_by(attrs), None
    if op == "tile.rescale":
        zero = attrs["zero_point"]
        return str(attrs["kind"]), {}, float(zero) if isinstance(zero, int | float) else 0.0
    if op == "tile.map" and attrs.get("fn") == "identity":
        return "nop", {}, None
    raise Error("E0503", f"{op} cannot stand in a fused op whose schedule is not known")


def _with_relu(step: FusedStep, attrs: Mapping[str, Plain]) -> FusedStep:
    return replace(step, attributes={**step.attributes, **relu_said(attrs)})
