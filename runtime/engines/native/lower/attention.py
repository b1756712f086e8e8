"""Scaled dot-product attention as one job."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, dims_of, multiplier_of
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.kernels.amx_block import SIZE
from ttc.runtime.engines.native.kernels.attention import Attention
from ttc.runtime.engines.native.kernels.gemm_block import Block, block_for
from ttc.runtime.engines.native.kernels.words import batch_words
from ttc.runtime.engines.native.lower import LOWERINGS

_KEY_BLOCK = 256
_KEY_BYTES = 512 << 10
"""Keys of a block, and bytes of them and their values, at most: they lie in the second-level cache."""
_SCRATCH_BYTES = 32 << 20
"""The most bytes of scratch memory of a thread: rows of many thousand elements are left to products with all keys."""
_TASK_ROWS = (48, 192)
"""Query rows of a task: for fewer it is not worth while to pack keys and values, with more threads would wait for each other."""
_TASKS = 12
_BATCH_DIMENSIONS = 4


@LOWERINGS.rule("attention")
def attention(n: Lowering) -> None:
    """Lower attention, softmax(q k^T * scale + mask) v, to one job."""
    n.only("scale", "zero_masked")
    scale = n.attr("scale")
    if not isinstance(scale, int | float):
        raise NotTaken("no scale")
    q, k, v = (_rows(n, n.operand(i)) for i in range(3))
    rows, keys, depth, columns = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    lead = n.result_shape()[:-2]
    mask = n.operand(3).expanded((*lead, rows, keys)) if n.has(3) else None
    tensors = [x.expanded((*lead, *x.shape[-2:])) for x in (q, k, v)]
    mask = None if mask is None else _rows(n, mask)
    if n.result_storage() not in FLOATS:
        raise NotTaken(f"results in {n.result_storage()}")
    chunks = _chunks(rows, prod(lead))
    tiles = tile_parts(n, k, rows, keys, depth) == tile_parts(n, v, rows, columns, keys) == 1
    multiplier = "bf16" if tiles else multiplier_of(n, depth)
    most_keys = max(min(_KEY_BLOCK, _KEY_BYTES // (4 * (depth + columns))), 1)
    scores = _tile_block(n) if tiles else block_for(n.cpu, rows, min(keys, most_keys))
    y = n.result(strided=True)
    tensors = [*tensors, y, *([] if mask is None else [mask])]
    dims = dims_of(lead, tensors)
    if len(dims) > _BATCH_DIMENSIONS:
        raise NotTaken(f"a batch of {len(dims)} dimensions")
    storages = (q.storage, k.storage, v.storage, y.storage, None if mask is None else mask.storage)
    group = Attention(scores, scores, *storages).group
    kernel = Attention(
        scores,
        scores if tiles else block_for(n.cpu, min(rows, group), columns),
        *storages,
        zero_masked=n.attr("zero_masked") is True,
        batch=len(dims),
        multiplier=multiplier,
        tiles=tiles,
    )
    key_block = _key_block(keys, most_keys, scores.columns)
    places, scratch = kernel.places(depth, columns, key_block, -(-rows // chunks))
    if scratch > _SCRATCH_BYTES:
        raise NotTaken("rows of too many elements")
    words = {"rows": rows, "keys": keys, "depth": depth, "columns": columns, "chunks": chunks}
    words |= {"key_block": key_block, "scale": float(scale), **places}
    for name, tensor in zip(kernel.tensors, tensors, strict=True):
        words |= {name: tensor, f"{name}_row": tensor.strides[-2] * tensor.item_bytes}
    words |= batch_words(kernel.tensors, dims)
    n.job(
        kernel,
        words,
        tasks=prod(lead) * chunks,
        written=[y],
        chunk=1,
        scratch=scratch,
        flops=2 * prod(lead) * rows * keys * (depth + columns),
        moved_bytes=sum(t.elements * t.item_bytes for t in tensors),
    )


def _tile_block(n: Lowering) -> Block:
    """Return what a block of tiles is to code that works on it in vectors."""
    lanes = max(n.cpu.vector_bytes // 4, 4)
    return Block(SIZE, SIZE // lanes, lanes)


def _rows(n: Lowering, view: View) -> View:
    """Return a tensor that the kernel reads: numbers, each row dense."""
    if view.storage not in FLOATS:
        raise NotTaken(f"operands in {view.storage}")
    return view if view.strides[-1] == 1 or (view.shape[-1] == 1 and view.strides[-1] != 0) else n.densified(view)


def _chunks(rows: int, matrices: int) -> int:
    """Tasks of one element of the batch."""
    few, many = _TASK_ROWS
    return max(-(-rows // many), min(-(-rows // few), -(-_TASKS // matrices)))


def _key_block(keys: int, most: int, columns: int) -> int:
    """Return keys of a block: all alike, of whole panels."""
    blocks = -(-keys // most)
    return -(-keys // blocks // columns) * columns
