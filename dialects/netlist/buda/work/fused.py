"""Fused ops: schedules of sub-ops over named values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.netlist.buda.form import SubOp
from ttc.dialects.netlist.buda.reader_fields import ARITY
from ttc.dialects.netlist.buda.work import binary, matmul, quantization, reduce, sfpu
from ttc.dialects.netlist.buda.work.building import Building, relu
from ttc.dialects.netlist.buda.work.families import BUILDS
from ttc.dialects.netlist.buda.work.shared import flag
from ttc.dialects.netlist.buda.work.tms import apply_tms
from ttc.dialects.tile.facts.sfpu import BINARY_FUNCTIONS, RESCALES, SFPU_FUNCTIONS

SUB_OPS: RuleTable[Callable[[Building, SubOp, list[int]], int]] = RuleTable("result of a sub-op", None)
"""What computes the result of a sub-op from its operands, by the sub-op's type."""
MAX_SUB_OPS = 1 << 10
"""Bound on the sub-ops of a fused op."""


def build(to: Building) -> int:
    """Return the sub-ops in their order, each on whole tensors; the last result named `output` is the op's."""
    if to.fused is None:
        raise Error("E0601", f"there is no fused op '{to.op.attributes.get('fused_op_id')}'")
    steps = [step for schedule in to.fused.schedules for step in schedule]
    if len(steps) > MAX_SUB_OPS:
        raise Error("E0402", f"fused op '{to.fused.name}' has {len(steps):,} sub-ops")
    values = {f"input{i}": to.input(i) for i in range(len(to.inputs))}
    for step in steps:
        values[str(step.output)] = _step(to, step, values)
    if "output" not in values:
        raise Error("E0402", f"no sub-op of fused op '{to.fused.name}' gives its output")
    return values["output"]


def _step(to: Building, step: SubOp, values: Mapping[str, int]) -> int:
    try:
        found = _result(to, step, [_operand(to, step, i, values) for i in range(len(step.inputs))])
    except Error as error:
        raise error.at(f"{to.op.name}: sub-op '{step.name}'") from None
    if flag(step.attributes, "relu_en"):
        found = relu(to, found, step.attributes)
    formats = {"dest": to.op.acc_df, "output": to.op.out_df}
    to_format = "Int8" if step.type in ("quantization", "requantization") else formats.get(str(step.output), to.op.intermed_df)
    if to_format in ("Int8", "Int32"):
        found = to.emit("adjust", (found,), to.shape(found), to=to_format, rounding="rne")
    return found


def _operand(to: Building, step: SubOp, index: int, values: Mapping[str, int]) -> int:
    name = step.inputs[index]
    if name not in values:
        raise Error("E0402", f"'{name}' has no value yet")
    return apply_tms(to.builder, values[name], step.input_tms.get(index, ()), to.tile)


def _result(to: Building, step: SubOp, operands: list[int]) -> int:
    kind = step.type or ""
    apply = SUB_OPS.get(kind)
    if apply is None:
        raise Error("E0503", f"'{kind}' cannot stand in a fused op")
    if len(operands) != ARITY[kind]:
        raise Error("E0401", f"'{kind}' takes {ARITY[kind]} inputs, not {len(operands)}")
    return apply(to, step, operands)


@SUB_OPS.rule(*BINARY_FUNCTIONS)
def _binary(to: Building, step: SubOp, operands: list[int]) -> int:
    return binary.combine(to, str(step.type), operands[0], operands[1])


@SUB_OPS.rule(*RESCALES)
def _rescale(to: Building, step: SubOp, operands: list[int]) -> int:
    """A dequantization of dest has its scale first."""
    swapped = step.type == "dequantization" and step.inputs[1] == "dest"
    x, scale = operands[::-1] if swapped else operands
    return quantization.rescale(to, str(step.type), x, scale, step.zero_point or 0.0)


@SUB_OPS.rule("nop", "datacopy")
def _copy(to: Building, step: SubOp, operands: list[int]) -> int:
    return to.emit("map", (operands[0],), to.shape(operands[0]), fn="identity")


@SUB_OPS.rule(*SFPU_FUNCTIONS)
def _sfpu(to: Building, step: SubOp, operands: list[int]) -> int:
    return sfpu.apply(to, str(step.type), operands[0], step.attributes, in_place=step.output in step.inputs)


@SUB_OPS.rule("matmul")
def _matmul(to: Building, step: SubOp, operands: list[int]) -> int:
    return matmul.product(to, operands[0], operands[1])


@SUB_OPS.rule("reduce")
def _reduce(to: Building, step: SubOp, operands: list[int]) -> int:
    return reduce.maximum(to, operands[0], step.attributes)


BUILDS.add("fused_op", build)
