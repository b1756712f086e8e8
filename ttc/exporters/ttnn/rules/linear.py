"""Products of matrices: `ttnn.linear` with a weight, `ttnn.matmul` of two tensors."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.exporters.ttnn.code import Code, call, literal, numbers
from ttc.exporters.ttnn.merged import MergedProduct
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.rules.activation import FUSED, follow
from ttc.exporters.ttnn.values import FLAT, FULL, PlacedValue, lifted

RULES.refuse("determinants have no kernel on the device", "det")
RULES.refuse("matrices chosen by computed indices have no kernel on the device", "grouped_matmul")


@RULES.rule("matmul")
def matmul(step: OpText) -> None:
    """Write a product with its bias and activation; a constant matrix is stored as [k, n]."""
    if not step.results[0].is_float:
        raise Elsewhere("its operands are integers")
    weight = step.operand(1)
    alone = prod(weight.shape[:-2]) == 1 and len(weight.shape) <= max(2, len(step.operand(0).shape))
    merged = step.emitter.merged.get(id(step.work))
    if merged is not None and not (merged.name is None and step.operand(0).is_flat):
        _part(step, merged)
    elif weight.leaf is not None and alone and not step.work.attrs["transpose_a"]:
        _linear(step)
    else:
        _product(step)


def _part(step: OpText, merged: MergedProduct) -> None:
    """Write the columns of a product that is one with others; the first of them writes the product."""
    if merged.name is None:
        merged.name = _merged(step, merged)
    shape, start = lifted(step.shape), merged.first_column(step.work)
    first, last = [0] * (len(shape) - 1) + [start], [*shape[:-1], start + shape[-1]]
    step.give(call("ttnn.slice", merged.name, numbers(first, "[]"), numbers(last, "[]")))
    if merged.is_last(step.work):
        step.emitter.pass_through(merged.name)


def _merged(step: OpText, merged: MergedProduct) -> str:
    """Write several products as one; returns its name."""
    emitter = step.emitter
    array, row = merged.matrix(emitter.graph), merged.row(emitter.graph)
    rows = None if merged.parts is None else 1
    matrix = emitter.joint_weight("weight", merged.weights, array, step.weight_format, rows)
    bias = None
    if row is not None:
        bias = emitter.joint_weight("bias", [leaf for leaf in merged.biases if leaf is not None], row, emitter.format, rows)
    made = call("ttnn.linear", step.full(0), matrix, bias=bias, dtype=f"ttnn.{emitter.format}", compute_kernel_config=step.config)
    return step.keep("merged", made, (*step.shape[:-1], merged.columns))


def _linear(step: OpText) -> None:
    """Write a product with a weight."""
    lies = FLAT if step.operand(0).is_flat and len(step.shape) == 4 else FULL
    given = step.flat(0) if lies == FLAT else step.full(0)
    weight = step.operand(1)
    turned = bool(step.work.attrs["transpose_b"])
    array = step.array(1).reshape(step.emitter.stored_shape(weight)[-2:])
    rows = None if weight.parts is None else (weight.parts - len(weight.shape) + 2) ^ turned
    form = f"linear {turned}"
    matrix = step.emitter.weight(weight, form, array.T if turned else array, format_=step.weight_format, rows=rows)
    bias, rest = _bias(step)
    fused = _fused(step) if rest is None else None
    made = call(
        "ttnn.linear", given, matrix, bias=bias, activation=fused, dtype=f"ttnn.{step.emitter.format}", compute_kernel_config=step.config
    )
    _end(step, made, rest, fused, lies)


def _product(step: OpText) -> None:
    """Write a product of two tensors; leading dimensions are made equal where both have some."""
    left, right = (_spread(step, index) for index in (0, 1))
    made = call(
        "ttnn.matmul",
        left,
        right,
        **{key: "True" for key in ("transpose_a", "transpose_b") if step.work.attrs[key]},
        dtype=f"ttnn.{step.emitter.format}",
        compute_kernel_config=step.config,
    )
    rest = step.full(2) if step.has(2) else None
    _end(step, made, rest, None, FULL)


def _end(step: OpText, made: Code, rest: str | None, fused: str | None, form: str) -> None:
    """Write the product, a bias that is no row, and an activation that is not part of it."""
    applied = step.work.attrs.get("activation") is not None and fused is None
    if rest is None and not applied:
        step.give(made, form)  # pyright: ignore[reportArgumentType]: a call
        return
    name = step.let(step.stem, made)  # pyright: ignore[reportArgumentType]: a call
    if rest is not None and not applied:
        step.give(call("ttnn.add", name, rest), form)
        return
    if rest is not None:
        name = step.let("add", call("ttnn.add", name, rest))
    follow(step, name, form)


def _bias(step: OpText) -> tuple[str | None, str | None]:
    """Return the bias as a row that the product adds itself, or as a tensor that is added behind it."""
    if not step.has(2):
        return None, None
    bias = step.operand(2)
    columns = step.shape[-1]
    if bias.leaf is None or prod(bias.shape[:-1]) != 1:
        return None, step.full(2)
    all_columns = columns if bias.parts is None else step.results[0].on_host.shape[-1]
    row = np.broadcast_to(step.array(2).reshape(-1)[None], (1, all_columns))
    rows = None if bias.parts is None else 1
    return step.emitter.weight(bias, f"row {columns}", row, format_=step.emitter.format, rows=rows), None


def _fused(step: OpText) -> str | None:
    kind = step.work.attrs.get("activation")
    return literal(kind) if kind in FUSED else None


def _spread(step: OpText, index: int) -> str:
    """Return an operand with the leading dimensions of the result; a matrix that serves all of them stays as it is."""
    value: PlacedValue = step.operand(index)
    lead = step.shape[:-2]
    name = step.full(index)
    own = value.shape[:-2]
    if own == lead or (index == 1 and prod(own) == 1):
        return name
    shape = (*lead, *value.shape[-2:])
    padded = (1,) * (len(shape) - len(value.shape)) + value.shape
    if len(value.shape) < len(shape):
        name = step.let("lifted", call("ttnn.reshape", name, numbers(lifted(padded))), padded)
    if padded == shape:
        return name
    return step.let("spread", call("ttnn.repeat", name, numbers([wide // size for wide, size in zip(shape, padded, strict=True)])), shape)
