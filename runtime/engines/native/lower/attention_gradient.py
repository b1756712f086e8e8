"""The gradient of scaled dot-product attention as two jobs."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, dims_of
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.kernels.amx_block import SIZE
from ttc.runtime.engines.native.kernels.attention_gradient import AttentionGradient
from ttc.runtime.engines.native.kernels.attention_gradient_tiles import AttentionGradientTiles
from ttc.runtime.engines.native.kernels.gemm_block import block_for
from ttc.runtime.engines.native.kernels.query_sums import QuerySums
from ttc.runtime.engines.native.kernels.words import Word, batch_words
from ttc.runtime.engines.native.lower import LOWERINGS
from ttc.runtime.engines.native.lower.attention import BATCH_DIMENSIONS, SCRATCH_BYTES, column_of, key_block_of, rows_of, tensor_words

_KEY_BLOCK = 128
_KEY_BYTES = 512 << 10
"""Keys of a block, and bytes of them, their values, and the cotangents of both, at most: they lie in the second-level cache."""
_TASKS = 12
_NAMES = ("q", "k", "v", "y", "dy", "dk", "dv")


@LOWERINGS.rule("attention_gradient")
def attention_gradient(n: Lowering) -> None:
    """Lower attention's gradient to a job that goes through blocks of keys, and one that sums what chunks of them give to queries."""
    n.only("scale")
    scale = n.attr("scale")
    if not isinstance(scale, int | float):
        raise NotTaken("no scale")
    q, k, v, y, dy = (rows_of(n, n.operand(i)) for i in (0, 1, 2, 3, 5))
    lead, rows, keys, depth, columns = y.shape[:-2], q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    q, k, v = (x.expanded((*lead, *x.shape[-2:])) for x in (q, k, v))
    masks = [rows_of(n, n.operand(6).expanded((*lead, rows, keys)))] if n.has(6) else []
    log_sums = n.dense(4)
    if log_sums.storage != "f32" or any(n.result_storage(i) not in FLOATS for i in range(3)):
        raise NotTaken(f"sums in {log_sums.storage}, results in {n.result_storage()}")
    dq, dk, dv = (n.result(i, strided=True) for i in range(3))
    kernel, key_block, chunks = _kernel(n, (q, k, v, y, dy, dk, dv), masks)
    height, width = kernel.partial_shape(rows, depth)
    partial = n.temp((*lead, chunks * height, width), "f32")
    tensors = [q, k, v, y, column_of(log_sums), dy, dk, dv, partial, *masks]
    dims = dims_of(lead, tensors)
    if len(dims) > BATCH_DIMENSIONS:
        raise NotTaken(f"a batch of {len(dims)} dimensions")
    kernel = replace(kernel, batch=len(dims))
    places, scratch = kernel.places(rows, depth, columns, key_block)
    if scratch > SCRATCH_BYTES:
        raise NotTaken("rows of too many elements")
    words: dict[str, Word] = {"rows": rows, "keys": keys, "depth": depth, "columns": columns, "chunks": chunks, "key_block": key_block}
    words |= {"scale": float(scale), **places, **tensor_words(kernel.tensors, tensors), **batch_words(kernel.tensors, dims)}
    n.job(
        kernel,
        words,
        tasks=prod(lead) * chunks,
        written=[dk, dv, partial],
        chunk=1,
        scratch=scratch,
        flops=2 * prod(lead) * rows * keys * (3 * depth + 2 * columns),
        moved_bytes=sum(t.elements * t.item_bytes for t in tensors),
    )
    turned = isinstance(kernel, AttentionGradientTiles)
    sums = QuerySums(dq.storage, _lanes(n), kernel.GROUP, turned)
    _sum_up(n, sums, (partial, dq), {"depth": depth, "chunks": chunks, "scale": float(scale)})


def _kernel(n: Lowering, tensors: tuple[View, ...], masks: list[View]) -> tuple[AttentionGradient | AttentionGradientTiles, int, int]:
    """Return the kernel, for any batch, keys of a block, and chunks of keys.  tensors: q, k, v, y, dy, dk, dv."""
    q, k, v = tensors[:3]
    *lead, rows, depth = q.shape
    keys, columns = v.shape[-2:]
    storages: dict[str, Any] = {name: x.storage for name, x in zip(_NAMES, tensors, strict=True)}
    storages["mask"] = masks[0].storage if masks else None
    most = max(min(_KEY_BLOCK, _KEY_BYTES // (4 * (3 * depth + 2 * columns))), 1)
    chunks = max(min(-(-_TASKS // prod(lead)), -(-keys // most)), 1)
    share = -(-keys // chunks)
    if tile_parts(n, k, rows, keys, depth) == tile_parts(n, v, rows, columns, keys) == 1:
        key_block = key_block_of(share, max(most // SIZE, 1) * SIZE, SIZE)
        tiles = AttentionGradientTiles(**storages, lanes=_lanes(n))
        if tiles.places(rows, depth, columns, key_block)[1] <= SCRATCH_BYTES:
            return tiles, key_block, chunks
    scores = block_for(n.cpu, AttentionGradient.GROUP, min(keys, _KEY_BLOCK))
    by_depth, by_columns = (block_for(n.cpu, AttentionGradient.GROUP, size) for size in (depth, columns))
    kernel = AttentionGradient(**storages, scores=scores, by_depth=by_depth, by_columns=by_columns)
    return kernel, key_block_of(share, most, scores.columns), chunks


def _lanes(n: Lowering) -> int:
    """Return the float32 of a vector."""
    return max(n.cpu.vector_bytes // 4, 4)


def _sum_up(n: Lowering, kernel: QuerySums, views: tuple[View, View], words: dict[str, Word]) -> None:
    """Add the job that sums up what chunks of keys give to dq[..., rows, depth]."""
    partial, dq = views
    *lead, rows, _ = dq.shape
    dims = dims_of(lead, views)
    kernel = replace(kernel, batch=len(dims))
    chunks = words["chunks"]
    assert isinstance(chunks, int)
    words |= {"rows": rows, "step": partial.shape[-2] // chunks * partial.strides[-2] * partial.item_bytes}
    words |= {**tensor_words(kernel.TENSORS, views), **batch_words(kernel.TENSORS, dims)}
    moved_bytes = sum(t.elements * t.item_bytes for t in views)
    tasks = prod(lead) * -(-rows // kernel.group)
    n.job(kernel, words, tasks=tasks, written=[dq], flops=partial.elements, moved_bytes=moved_bytes)
