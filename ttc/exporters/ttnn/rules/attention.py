"""Attention as TT-NN has it: one call for scores, softmax and mean."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.exporters.ttnn.code import Code, call, items, literal, numbers
from ttc.exporters.ttnn.emitter import LEAST, Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import TILE, PlacedValue, lifted


@RULES.rule("attention")
def attention(step: OpText) -> None:
    """Write attention of [b, heads, s, d]; other ranks are made so, and masks get a row for each query."""
    queries, keys, values = (_four(step, index) for index in range(3))
    shapes = [step.operand(index).shape for index in range(3)]
    if shapes[0][-1] != shapes[2][-1]:
        raise Elsewhere("values have other features than keys")
    made = call(
        "ttnn.transformer.scaled_dot_product_attention",
        queries,
        keys,
        values,
        attn_mask=_mask(step) if step.has(3) else None,
        is_causal="False",
        scale=literal(step.work.attrs["scale"]),
        compute_kernel_config="precise",
    )
    four, width = _shape_of_four(step.shape), step.shape[-1]
    wide = (*four[:3], _padded(width))
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


def _padded(width: int) -> int:
    """Return the features of a head with zeros up to whole tiles, which TT-NN's attention asks for and which change no score."""
    return -(-width // TILE) * TILE


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
    one_head = index > 0 and wanted[0] == shape[0] and shape[1] == 1  # which serves all heads of queries
    if wanted != shape and not one_head:
        counts = [new // old for new, old in zip(wanted, shape, strict=True)]
        name, shape = step.let("heads", call("ttnn.repeat", name, numbers(counts)), wanted), wanted
    missing = _padded(shape[3]) - shape[3]
    if not missing:
        return name
    margins = items([numbers((0, size)) for size in (0, 0, 0, missing)], "[]")
    return step.let("padded", call("ttnn.pad", name, margins, "0.0"), (*shape[:3], shape[3] + missing))


def _mask(step: OpText) -> str:
    """Return the mask with four dimensions and a row for each query: TT-NN repeats it for batch and heads alone."""
    value = step.operand(3)
    rank = len(step.shape)
    rows, columns = step.shape[-2], step.operand(1).shape[-2]
    padded = (1,) * (rank - len(value.shape)) + value.shape
    lead = _shape_of_four(padded)[:2]
    if prod(padded[:-3]) not in (1, prod(step.shape[:-3])):
        lead = _shape_of_four(step.shape)[:2]
        return _computed(step, value, (*step.shape[:-2], rows, columns), (*lead, rows, columns))
    if value.leaf is not None:
        wide = np.broadcast_to(step.array(3), (*padded[:-2], rows, columns)).reshape(*lead, rows, columns)
        finite = np.clip(wide.astype(np.float32), LEAST, -LEAST)
        return step.emitter.weight(value, f"mask {rows} {columns}", finite, format_=step.emitter.format)
    return _computed(step, value, (*padded[:-2], rows, columns), (*lead, rows, columns))


def _computed(step: OpText, value: PlacedValue, wide: tuple[int, ...], four: tuple[int, ...]) -> str:
    """Return a mask that is computed, in four dimensions."""
    key = f"mask {four}"
    if key in value.forms:
        return value.forms[key]
    if not value.on_device and value.leaf is None:
        masked: Code = f"{step.host(3)}.expand({', '.join(map(str, wide))}).clamp(min={literal(LEAST)})"
        spread = step.emitter.let("mask", masked)
        if four != wide:
            spread = step.emitter.let("mask", f"{spread}.reshape({', '.join(map(str, four))})")
        return step.emitter.hold(value, key, step.emitter.let("mask", call("to_device", "device", spread)))
    padded = (1,) * (len(wide) - len(value.shape)) + value.shape
    name = step.full(3)
    if lifted(padded) != lifted(value.shape):
        name = step.let("mask", call("ttnn.reshape", name, numbers(padded)), padded)
    if padded != wide:
        name = step.let("mask", call("ttnn.repeat", name, numbers([new // old for new, old in zip(wide, padded, strict=True)])), wide)
    if four != wide:
        name = step.let("mask", call("ttnn.reshape", name, numbers(four)), four)
    finite = call("ttnn.clamp", name, min=literal(LEAST), memory_config="DRAM")  # where TT-NN's attention reads masks
    return step.emitter.hold(value, key, step.emitter.let("mask", finite))
