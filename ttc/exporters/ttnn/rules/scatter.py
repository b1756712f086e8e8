"""Rows that a program writes at computed places: into caches in place, else by a product that chooses rows."""

from __future__ import annotations

from math import prod

from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.caches import CachePair
from ttc.exporters.ttnn.code import call, numbers, pairs
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FULL, TURNED, PlacedValue, in_tiles
from ttc.passes.nn.sharding.scatter import is_rows

MOST_ROWS = 256
"""The most rows that one call of TT-NN writes into a cache."""
RULES.refuse("elements at computed places are the host's", "scatter_elements")


@RULES.rule("scatter_nd")
def scatter_nd(step: OpText) -> None:
    """Write rows by pairs of indices, as into caches; other elements are not written."""
    pair = step.emitter.caches.pairs.get(id(step.work))
    if pair is not None:
        _cache(step, pair)
    elif is_rows(step.work) and step.operand(1).shape[-1] == 2 and step.operand(0).is_float and not step.operand(1).on_device:
        _chosen(step)
    else:
        raise Elsewhere("elements at computed places are the host's")


def _cache(step: OpText, pair: CachePair) -> None:
    """Write rows into one of two caches [b, heads, places, width]; the second of them writes both, by one call for so many rows."""
    emitter, packed = step.emitter, _packed(step)
    if step.work is pair.works[0]:
        pair.packed = emitter.hold(step.results[0], "packed", packed)
        return
    names = [emitter.cache(leaf) for leaf in pair.leaves]
    batch, size, heads, width = step.shape
    rows = _rows(step, in_tiles(size))
    count = step.operand(2).shape[1] * batch
    for start in range(0, count, MOST_ROWS):
        end = min(start + MOST_ROWS, count)
        parts = [_part(step, name, start, end, (1, heads, count, in_tiles(width))) for name in (pair.packed, packed)]
        places = rows if count <= MOST_ROWS else f"{rows}[:, {start}:{end}]"
        key = f"places {in_tiles(size)} {start}"
        if key not in step.operand(1).forms:
            emitter.hold(step.operand(1), key, emitter.send("places", places, store.ROW_MAJOR, store.INT32))
        made = call("ttnn.experimental.indexed_fused_update_cache", names[0], parts[0], names[1], parts[1], step.operand(1).forms[key])
        emitter.write("", made)
    for work, name in zip(pair.works, names, strict=True):
        _read(step, emitter.result_of(work), name)


def _packed(step: OpText) -> str:
    """Return the rows of a cache as [1, heads, b * n, width] in whole tiles."""
    batch, count, heads, width = step.operand(2).shape
    turned = step.operand(2).forms.get(TURNED)
    name, order = (step.full(2), (2, 0, 1, 3)) if turned is None else (turned, (1, 0, 2, 3))
    if turned is None or batch > 1:
        name = step.let("rows", call("ttnn.permute", name, numbers(order)), (heads, batch, count, width))
        name = step.keep("rows", call("ttnn.reshape", name, numbers((1, heads, batch * count, width))), (1, heads, batch * count, width))
    missing = in_tiles(width) - width
    if not missing:
        return name
    wide = (1, heads, batch * count, width + missing)
    return step.keep("padded", call("ttnn.pad", name, pairs((0, 0, 0, missing)), "0.0"), wide)


def _rows(step: OpText, size: int) -> str:
    """Return the name of the rows of a cache that are written, [1, b * n] on the host; each text has `size` of them."""
    value = step.operand(1)
    if f"rows {size}" in value.forms:
        return value.forms[f"rows {size}"]
    batch, count = step.shape[:2]
    places = step.host(1)
    text = f"({places}[..., 0] % {batch} * {size} + {places}[..., 1] % {count}).reshape(1, -1)"
    return step.emitter.hold(value, f"rows {size}", step.emitter.let("rows", text))


def _part(step: OpText, name: str, start: int, end: int, shape: tuple[int, ...]) -> str:
    """Return some of the rows that are written."""
    if end - start == shape[2]:
        return name
    ends = numbers((1, shape[1], end, shape[3]), "[]")
    return step.let("part", call("ttnn.slice", name, numbers((0, 0, start, 0), "[]"), ends), (1, shape[1], end - start, shape[3]))


def _read(step: OpText, value: PlacedValue, name: str) -> None:
    """Give a result the cache, without what fills it up to whole tiles."""
    batch, size, heads, width = value.shape
    exact, whole = (batch, heads, size, width), (batch, heads, in_tiles(size), in_tiles(width))
    if exact != whole:
        name = step.keep("cut", call("ttnn.slice", name, numbers((0, 0, 0, 0), "[]"), numbers(exact, "[]")), exact)
    step.emitter.hold(value, TURNED, name)


def _chosen(step: OpText) -> None:
    """Write a tensor with rows of it replaced: a product with a matrix of zeros and ones gives each row that is written its place."""
    emitter, (batch, size, heads, width) = step.emitter, step.shape
    count = prod(step.operand(2).shape[:2])
    lines, features = batch * size, heads * width
    chosen = emitter.let("chosen", f"(torch.arange({lines})[:, None] == {_rows(step, size)}).float()")
    chosen = emitter.let("chosen", f"{chosen} * ({chosen}.flip(1).cumsum(1).flip(1) == 1)")
    matrix = emitter.send("chosen", chosen)
    kept = emitter.send("kept", f"1 - {chosen}.sum(1, keepdim=True)")
    rows = step.let("rows", call("ttnn.reshape", step.full(2), numbers((count, features))), (count, features))
    made = call("ttnn.matmul", matrix, rows, dtype=f"ttnn.{emitter.format}", compute_kernel_config=step.config)
    new = step.let("new", made, (lines, features))
    old = step.let("old", call("ttnn.reshape", step.full(0), numbers((lines, features))), (lines, features))
    rest = step.let("rest", call("ttnn.multiply", old, kept), (lines, features))
    both = step.let("both", call("ttnn.add", rest, new), (lines, features))
    step.give(call("ttnn.reshape", both, numbers(step.shape)), FULL)
