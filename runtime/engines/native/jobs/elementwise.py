"""From elementwise regions to jobs: dimensions joined, rows and columns cut into tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ttc.dialects.core.formats import format_named
from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.graph.storage import array_dtype
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.ir.regions import supported
from ttc.runtime.engines.native.jobs.copies import copy
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import dims_of
from ttc.runtime.engines.native.kernels.eltwise import Eltwise
from ttc.runtime.engines.native.kernels.words import batch_words

_PIECE_BYTES = 32 << 10
"""Bytes of all tensors together that a task reads and writes: they stay in the first- or second-level cache, and take microseconds."""


def compute(n: Lowering, own: Region, xs: Sequence[View]) -> None:
    """Add the jobs of the node's result: its own region of operands that broadcast, and what was fused into it. Raises NotTaken."""
    _require_plain_formats(n)
    region = n.region.after(_with_known_exponents(own, xs))
    reason = supported(region)
    if reason is not None:
        raise NotTaken(reason)
    shape = n.result_shape()
    if _keeps_elements(region):
        copy(n, xs[0].expanded(shape), n.result(strided=True))
        return
    _submit(n, region, [*xs, *n.extras], n.result(strided=True))


def compute_into(n: Lowering, region: Region, xs: Sequence[View], y: View) -> None:
    """Add the jobs of a region of operands that broadcast, written to a place, which may be an operand's. Raises NotTaken."""
    reason = supported(region)
    if reason is not None:
        raise NotTaken(reason)
    _submit(n, region, xs, y)


def _keeps_elements(region: Region) -> bool:
    """Return whether the region does nothing: what it reads in columns need not be copied to rows first."""
    return len(region.inputs) == 1 and all(step.fn == "identity" and step.storage == region.inputs[0] for step in region.steps)


def _submit(n: Lowering, region: Region, xs: Sequence[View], y: View) -> None:
    operands = [_readable(n, x.expanded(y.shape)) for x in xs]
    tensors = [y, *operands]
    dims = dims_of(y.shape, tensors)
    columns, *steps = dims.pop() if dims and dims[-1][1] == y.item_bytes else (1, *(t.item_bytes for t in tensors))
    spread = tuple(step == 0 for step in steps[1:])
    rows, *row_strides = dims.pop() if dims else (1, *[0] * len(tensors))
    kernel = Eltwise(region, spread, len(dims))
    row_bytes = sum(t.item_bytes for t, repeated in zip(tensors, (False, *spread), strict=True) if not repeated)
    elements = max(_PIECE_BYTES // row_bytes // 64 * 64, 64)
    piece, block = min(columns, elements), min(rows, max(elements // columns, 1))
    pieces, row_blocks = -(-columns // piece), -(-rows // block)
    words = {
        "rows": rows,
        "columns": columns,
        "row_blocks": row_blocks,
        "rows_of_block": block,
        "pieces": pieces,
        "piece": piece,
    }
    words |= dict(zip(kernel.tensors, tensors, strict=True))
    words |= {f"{name}_row": stride for name, stride in zip(kernel.tensors, row_strides, strict=True)}
    words |= batch_words(kernel.tensors, dims)
    tasks = pieces * row_blocks * prod(size for size, *_ in dims)
    n.job(
        kernel,
        words,
        tasks=tasks,
        written=[y],
        chunk=max(_PIECE_BYTES // (block * min(piece, columns) * row_bytes), 1),
        flops=y.elements * len(region.steps),
        moved_bytes=sum(prod(size for size, stride in zip(t.shape, t.strides, strict=True) if stride) * t.item_bytes for t in tensors),
    )


def _readable(n: Lowering, x: View) -> View:
    """Return an operand whose rows are dense, or one element each."""
    for axis in reversed(range(len(x.shape))):
        if x.shape[axis] != 1:
            return x if x.strides[axis] in (0, 1) else n.densified(x)
    return x


def _with_known_exponents(region: Region, xs: Sequence[View]) -> Region:
    """Powers whose exponent is one known number have it as a constant: a square is a product."""
    for x in reversed(range(len(xs))):
        used = any(step.fn == "pow" and step.operands[1:] == (x,) for step in region.steps)
        number = _known_number(xs[x]) if used else None
        if number is not None:
            region = _with_constant(region, x, number)
    return region


def _with_constant(region: Region, x: int, number: float) -> Region:
    """Return the region with an input taken for a constant; the input stays, unread."""
    count = len(region.inputs)

    def place(value: int) -> int:
        return count if value == x else value if value < count else value + 1

    constant = RegionStep("constant", (), region.inputs[x], (("value", number),))
    steps = [replace(step, operands=tuple(map(place, step.operands))) for step in region.steps]
    return Region(region.inputs, (constant, *steps), place(region.output))


def _known_number(x: View) -> int | float | None:
    array = x.buffer.array
    if x.elements != 1 or array is None or array.dtype != array_dtype(x.storage) or x.storage == "bf16":
        return None
    return array.reshape(-1)[x.offset].item()


def _require_plain_formats(n: Lowering) -> None:
    """Integers narrower than their storage would have to be clamped."""
    works = (n.work, *(n.work.body.works if n.work.body is not None else ()))
    for name in {type_.format for work in works for type_ in work.results}:
        format_ = format_named(name)
        if not format_.is_float and format_.storage != format_.compute:
            raise NotTaken(f"results in {name}")
