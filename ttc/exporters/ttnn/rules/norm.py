"""Normalizations over the last dimension, and by given statistics."""

from __future__ import annotations

import numpy as np

from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import call, literal, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FULL, lifted

RULES.refuse("training is not exported", "batch_norm_training")


@RULES.rule("layer_norm")
def layer_norm(step: OpText) -> None:
    """Write layer norm over the last dimension, with its scale and bias as rows."""
    _norm(step, "layer_norm", ("weight", "bias"))


@RULES.rule("rms_norm")
def rms_norm(step: OpText) -> None:
    """Write the root-mean-square norm over the last dimension."""
    _norm(step, "rms_norm", ("weight",))


def _norm(step: OpText, name: str, roles: tuple[str, ...]) -> None:
    """Write a norm; several normalized dimensions become one."""
    count = -step.axis()
    shape = step.shape
    joined = (*shape[: len(shape) - count], int(np.prod(shape[len(shape) - count :])))
    form, name_of_input = step.as_it_lies(0) if count == 1 else (FULL, step.full(0))
    if count > 1:
        name_of_input = step.let("rows", call("ttnn.reshape", name_of_input, numbers(lifted(joined))), joined)
    rows = {role: _row(step, index + 1, count) for index, role in enumerate(roles) if step.has(index + 1)}
    made = call(f"ttnn.{name}", name_of_input, epsilon=literal(step.work.attrs["eps"]), **rows, compute_kernel_config=step.config)
    if count > 1:
        step.give(call("ttnn.reshape", step.let(name, made, joined), numbers(lifted(shape))))
    else:
        step.give(made, form)


def _row(step: OpText, index: int, count: int) -> str:
    """Return a scale or bias as one row.  Raises Elsewhere for one that is computed, or differs outside the normalized dimensions."""
    value, shape = step.operand(index), step.shape[len(step.shape) - count :]
    if any(size != 1 for size in value.shape[: max(len(value.shape) - count, 0)]):
        raise Elsewhere("its scale is not that of the normalized dimensions")
    array = step.array(index)
    row = np.broadcast_to(array.reshape(array.shape[max(array.ndim - count, 0) :]), shape).reshape(1, -1)
    return step.emitter.weight(
        value, f"row {row.shape[1]}", row, format_=store.BFLOAT16 if step.emitter.format != store.FLOAT32 else store.FLOAT32
    )


@RULES.rule("batch_norm")
def batch_norm(step: OpText) -> None:
    """Write normalization by constant statistics as a factor and an addend of each channel."""
    scale, bias, mean, var = (step.array(index).astype(np.float64) for index in range(1, 5))
    factor = scale / np.sqrt(var + float(np.float64(step.work.attrs["eps"])))  # pyright: ignore[reportArgumentType]
    lengths = [1] * len(step.shape)
    lengths[step.axis()] = -1
    names = [
        step.emitter.weight(step.operand(place), f"norm {role}", array.reshape(lengths).astype(np.float32), format_=step.emitter.format)
        for place, role, array in ((1, "factor", factor), (2, "addend", bias - mean * factor))
    ]
    scaled = step.let("scaled", call("ttnn.multiply", step.full(0), names[0]))
    step.give(call("ttnn.add", scaled, names[1]))
