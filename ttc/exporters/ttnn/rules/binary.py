"""Elementwise ops of two operands, and the choice between two."""

from __future__ import annotations

from ttc.exporters.ttnn.code import CallText, Code, call, literal
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FLAT, FULL, PlacedValue

NAMES = {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "minimum": "minimum", "maximum": "maximum", "pow": "pow"},
    **{"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"},
    **{"and": "logical_and", "or": "logical_or", "xor": "logical_xor"},
}
COMMUTES = ("add", "mul", "minimum", "maximum", "equal", "not_equal", "and", "or", "xor")
MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
WITH_NUMBER_FIRST = {"sub": "rsub", "div": "rdiv", "pow": "rpow"}


@RULES.rule(*NAMES)
def binary(step: OpText) -> None:
    """Write an op of two tensors, or of a tensor and a number."""
    _require_floats(step)
    op = step.work.op.removeprefix("nn.")
    left, right = step.scalar(0, 1), step.scalar(1, 0)
    form = form_of(step)
    if right is not None:
        step.give(call(f"ttnn.{NAMES[op]}", operand(step, 0, form), literal(right)), form)
        return
    if left is None:
        step.give(call(f"ttnn.{NAMES[op]}", operand(step, 0, form), operand(step, 1, form)), form)
        return
    if op in COMMUTES or op in MIRRORED:
        step.give(call(f"ttnn.{NAMES[MIRRORED.get(op, op)]}", operand(step, 1, form), literal(left)), form)
        return
    step.give(call(f"ttnn.{WITH_NUMBER_FIRST[op]}", operand(step, 1, form), literal(left)), form)


@RULES.rule("mod")
def mod(step: OpText) -> None:
    """Write the remainder, with the sign of b or, for fmod, of a."""
    _require_floats(step)
    form, number = form_of(step), step.scalar(1, 0)
    name = "fmod" if step.work.attrs.get("fmod") else "remainder"
    step.give(call(f"ttnn.{name}", operand(step, 0, form), operand(step, 1, form) if number is None else literal(number)), form)


@RULES.rule("where")
def where(step: OpText) -> None:
    """Write the choice; TT-NN's own takes numbers in place of either side."""
    if not step.results[0].is_float:
        raise Elsewhere("its result is no floating point")
    form = form_of(step)
    sides: list[Code] = []
    for index in (1, 2):
        number = step.scalar(index, 0)
        sides.append(operand(step, index, form) if number is None else literal(number))
    step.give(CallText("ttnn.where", (operand(step, 0, form), *sides)), form)


def operand(step: OpText, index: int, form: str) -> str:
    """Return an operand of an elementwise op in the form of its result."""
    value = step.operand(index)
    return step.flat(index) if form == FLAT and value.shape == step.shape else step.full(index)


def form_of(step: OpText) -> str:
    """Return FLAT where images lie as rows of pixels and all other operands are numbers or vectors along channels."""
    images = [value for value in step.present if value.shape == step.shape]
    if not any(value.is_flat for value in images):
        return FULL
    return FLAT if all(value in images or _along_channels(value) for value in step.present) else FULL


def _along_channels(value: PlacedValue) -> bool:
    return all(size == 1 for size in value.shape[:-1])


def _require_floats(step: OpText) -> None:
    """Raises Elsewhere for integers; truth values are numbers on the device."""
    if any(value.dtype.kind in "iu" for value in step.present):
        raise Elsewhere("its operands are integers")
