"""Attention as TT-NN has it: one call for scores, softmax and mean."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import Code, call, literal, numbers, pairs
from ttc.exporters.ttnn.emitter import LEAST
from ttc.exporters.ttnn.op_text import OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FULL, PlacedValue, in_tiles, lifted, rows_dimension

Parts: TypeAlias = "dict[str, Callable[[], Code]]"
"""Calls that make a mask, and a column of 1 for rows that it leaves something of; those before them are written when they are asked for."""


@RULES.rule("attention")
def attention(step: OpText) -> None:
    """Write attention of [b, heads, s, d]; other ranks are made so, and masks get a row for each query."""
    queries, keys, values = (_four(step, index) for index in range(3))
    mask, alive = _mask(step) if step.has(3) else (None, None)
    if _is_in_steps(step):
        _in_steps(step, queries, keys, values, mask, alive)
        return
    made = call(
        "ttnn.transformer.scaled_dot_product_attention",
        queries,
        keys,
        values,
        attn_mask=mask,
        is_causal="False",
        scale=literal(step.work.attrs["scale"]),
        compute_kernel_config=step.config,
    )
    four, width = _shape_of_four(step.shape), step.shape[-1]
    wide = (*four[:3], _padded(width))
    if alive is not None:
        made = call("ttnn.multiply", step.let("attention", made, wide), alive)
    if wide == step.shape:
        step.give(made)
        return
    name = step.let("attention", made, wide)
    if wide == four:
        step.give(call("ttnn.reshape", name, numbers(lifted(step.shape))))
        return
    cut = call("ttnn.slice", name, numbers([0, 0, 0, 0], "[]"), numbers(four, "[]"))
    if four == step.shape:
        step.give(cut)
    else:
        step.give(call("ttnn.reshape", step.let("cut", cut, four), numbers(lifted(step.shape))))


def _is_in_steps(step: OpText) -> bool:
    """Return whether attention is written as products: TT-NN's own takes 16 bits at most, and values with as many features as keys."""
    return step.emitter.format == store.FLOAT32 or step.operand(1).shape[-1] != step.operand(2).shape[-1]


def _in_steps(step: OpText, queries: str, keys: str, values: str, mask: str | None, alive: str | None) -> None:
    """Write attention as products around a softmax."""
    batch, heads, rows, width = _shape_of_four(step.shape)
    columns, precise = step.operand(1).shape[-2], {"dtype": f"ttnn.{step.emitter.format}", "compute_kernel_config": step.config}
    four = (batch, heads, rows, columns)
    scores = step.let("scores", call("ttnn.matmul", queries, keys, transpose_b="True", **precise), four)
    scores = step.let("scores", call("ttnn.multiply", scores, literal(step.work.attrs["scale"])), four)
    if mask is not None:
        scores = step.let("scores", call("ttnn.add", scores, mask), four)
    shares = call("ttnn.softmax", scores, dim="-1", numeric_stable="True", compute_kernel_config=step.config)
    made = call("ttnn.matmul", step.let("shares", shares, four), values, **precise)
    if alive is not None:
        made = call("ttnn.multiply", step.let("attention", made, (batch, heads, rows, width)), alive)
    if (batch, heads, rows, width) == step.shape:
        step.give(made)
    else:
        step.give(call("ttnn.reshape", step.let("attention", made, (batch, heads, rows, width)), numbers(lifted(step.shape))))


def _padded(width: int) -> int:
    """Return the features of a head with zeros up to whole tiles, which TT-NN's attention asks for and which change no score."""
    return in_tiles(width)


def _shape_of_four(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return [b, heads, s, d]: dimensions before the heads become one."""
    lead = shape[:-2]
    return (prod(lead[:-1]), lead[-1] if lead else 1, *shape[-2:])


def _four(step: OpText, index: int) -> str:
    """Return queries, keys or values with four dimensions, with the batch and heads of all of them, and features of whole tiles."""
    value = step.operand(index)
    lead = step.shape[:-2]
    shape = _shape_of_four((1,) * (len(lead) + 2 - len(value.shape)) + value.shape)
    name = step.full(index)
    if shape != lifted(value.shape):
        name = step.let("heads", call("ttnn.reshape", name, numbers(shape)), shape)
    wanted = _shape_of_four((*lead, *value.shape[-2:]))
    in_steps = _is_in_steps(step)
    one_head = index > 0 and wanted[0] == shape[0] and shape[1] == 1 and not in_steps  # which serves all heads of queries
    if wanted != shape and not one_head:
        counts = [new // old for new, old in zip(wanted, shape, strict=True)]
        name, shape = step.let("heads", call("ttnn.repeat", name, numbers(counts)), wanted), wanted
    missing = _padded(shape[3]) - shape[3]
    if not missing or in_steps:
        return name
    return step.let("padded", call("ttnn.pad", name, pairs((0, 0, 0, missing)), "0.0"), (*shape[:3], shape[3] + missing))


def _mask(step: OpText) -> tuple[str, str | None]:
    """Return the mask with four dimensions and a row for each query, which TT-NN repeats for batch and heads alone; and which rows live.

    Where rows that are masked whole give zeros, the second is 1 for every other row: TT-NN's attention gives the mean of the values.
    """
    value = step.operand(3)
    rank = len(step.shape)
    rows, columns = step.shape[-2], step.operand(1).shape[-2]
    padded = (1,) * (rank - len(value.shape)) + value.shape
    lead = _shape_of_four(padded)[:2]
    if prod(padded[:-3]) not in (1, prod(step.shape[:-3])):
        lead = _shape_of_four(step.shape)[:2]
        return _computed(step, value, (*step.shape[:-2], rows, columns), (*lead, rows, columns))
    if value.parts is not None:  # of four dimensions: chips have a part of the heads
        return _stored(step, value, np.broadcast_to(step.array(3), (*value.on_host.shape[:-2], rows, columns)), value.parts)
    if value.leaf is not None:
        return _stored(step, value, np.broadcast_to(step.array(3), (*padded[:-2], rows, columns)).reshape(*lead, rows, columns))
    return _computed(step, value, (*padded[:-2], rows, columns), (*lead, rows, columns))


def _stored(step: OpText, value: PlacedValue, four: NDArray, parts: int | None = None) -> tuple[str, str | None]:
    """Return a constant mask, given in four dimensions.  parts: the dimension that chips divide."""
    emitter, wide = step.emitter, four.astype(np.float32)
    finite: NDArray = wide.clip(LEAST, -LEAST)
    mask = emitter.weight(value, f"mask {four.shape}", finite, format_=emitter.format, rows=parts)
    dead = np.isneginf(wide).all(-1, keepdims=True)
    if not (step.work.attrs["zero_masked"] and dead.any()):
        return mask, None
    alive = np.where(dead, np.float32(0), np.float32(1))
    return mask, emitter.weight(value, f"alive {four.shape}", alive, format_=emitter.format, rows=parts)


def _computed(step: OpText, value: PlacedValue, wide: tuple[int, ...], four: tuple[int, ...]) -> tuple[str, str | None]:
    """Return a mask that is computed, spread to a shape that becomes four dimensions."""
    forms = {role: f"{role} {four}" for role in (("mask", "alive") if step.work.attrs["zero_masked"] else ("mask",))}
    if any(form not in value.forms for form in forms.values()):
        of_rows = value.whole is None or rows_dimension(value, FULL) == 0
        write = _on_host if not value.on_device and value.leaf is None and of_rows else _on_device
        codes = write(step, value, wide, four)
        for role, form in forms.items():
            step.emitter.hold(value, form, step.emitter.let(role, codes[role]()))
    return value.forms[forms["mask"]], value.forms[forms["alive"]] if "alive" in forms else None


def _on_host(step: OpText, value: PlacedValue, wide: tuple[int, ...], four: tuple[int, ...]) -> Parts:
    """Return what sends a mask that is spread on the host, and which of its rows live."""
    chips = 1 if value.whole is None else value.whole.shape[0] // value.shape[0]
    shapes = [(shape[0] * chips, *shape[1:]) for shape in (wide, four)]
    spread = step.emitter.let("mask", f"{step.host(3)}.expand({', '.join(map(str, shapes[0]))})")
    if four != wide:
        spread = step.emitter.let("mask", f"{spread}.reshape({', '.join(map(str, shapes[1]))})")
    rows = f"{spread}.isneginf().all(-1, keepdim=True).logical_not().float()"
    divided: dict[str, Code] = {} if chips == 1 else {"rows": "0"}
    return {
        "mask": lambda: call("to_device", "device", f"{spread}.clamp(min={literal(LEAST)})", **divided),
        "alive": lambda: call("to_device", "device", rows, **divided),
    }


def _on_device(step: OpText, value: PlacedValue, wide: tuple[int, ...], four: tuple[int, ...]) -> Parts:
    """Return what makes a mask on the device, without infinities, and which of its rows live; both where TT-NN's attention reads masks."""
    padded = (1,) * (len(wide) - len(value.shape)) + value.shape
    name = step.full(3)
    if lifted(padded) != lifted(value.shape):
        name = step.let("mask", call("ttnn.reshape", name, numbers(padded)), padded)
    if padded != wide:
        name = step.let("mask", call("ttnn.repeat", name, numbers([new // old for new, old in zip(wide, padded, strict=True)])), wide)
    if four != wide:
        name = step.let("mask", call("ttnn.reshape", name, numbers(four)), four)

    def alive() -> Code:
        largest = step.let("largest", call("ttnn.max", name, dim="-1", keepdim="True"), (*four[:-1], 1))
        masked = step.let("masked", call("ttnn.isinf", largest), (*four[:-1], 1))
        return call("ttnn.logical_not", masked, memory_config="DRAM")

    return {"mask": lambda: call("ttnn.clamp", name, min=literal(LEAST), memory_config="DRAM"), "alive": alive}
