"""Scaled dot-product attention as one job."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, dims_of, multiplier_of
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.kernels.amx_block import SIZE
from ttc.runtime.engines.native.kernels.attention import Attention
from ttc.runtime.engines.native.kernels.gemm_block import Block, block_for
from ttc.runtime.engines.native.kernels.words import Word, batch_words
from ttc.runtime.engines.native.lower import LOWERINGS

_KEY_BLOCK = 256
_KEY_BYTES = 512 << 10
"""Keys of a block, and bytes of them and their values, at most: they lie in the second-level cache."""
SCRATCH_BYTES = 32 << 20
"""The most bytes of scratch memory of a thread: rows of many thousand elements are left to products with all keys."""
_TASK_ROWS = (48, 192)
"""Query rows of a task: for fewer it is not worth while to pack keys and values, with more threads would wait for each other."""
_TASKS = 12
BATCH_DIMENSIONS = 4


@LOWERINGS.rule("attention", "attention_training")
def attention(n: Lowering) -> None:
    """Lower attention, softmax(q k^T * scale + mask) v, to one job; in training it gives ln sum exp of the scores, too."""
    n.only("scale", "zero_masked")
    scale = n.attr("scale")
    if not isinstance(scale, int | float):
        raise NotTaken("no scale")
    q, k, v = (rows_of(n, n.operand(i)) for i in range(3))
    rows, keys, depth, columns = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    lead = n.result_shape()[:-2]
    mask = n.operand(3).expanded((*lead, rows, keys)) if n.has(3) else None
    tensors = [x.expanded((*lead, *x.shape[-2:])) for x in (q, k, v)]
    if n.result_storage() not in FLOATS:
        raise NotTaken(f"results in {n.result_storage()}")
    chunks = _chunks(rows, prod(lead))
    y = n.result(strided=True)
    tensors = [*tensors, y, *([] if mask is None else [rows_of(n, mask)]), *log_sums_of(n)]
    dims = dims_of(lead, tensors)
    if len(dims) > BATCH_DIMENSIONS:
        raise NotTaken(f"a batch of {len(dims)} dimensions")
    kernel, most_keys = _kernel(n, tensors, (rows, keys, depth, columns), len(dims))
    key_block = key_block_of(keys, most_keys, kernel.scores.columns)
    places, scratch = kernel.places(depth, columns, key_block, -(-rows // chunks))
    if scratch > SCRATCH_BYTES:
        raise NotTaken("rows of too many elements")
    words = {"rows": rows, "keys": keys, "depth": depth, "columns": columns, "chunks": chunks}
    words |= {"key_block": key_block, "scale": float(scale), **places, **tensor_words(kernel.tensors, tensors)}
    words |= batch_words(kernel.tensors, dims)
    n.job(
        kernel,
        words,
        tasks=prod(lead) * chunks,
        written=list(n.results.values()),
        chunk=1,
        scratch=scratch,
        flops=2 * prod(lead) * rows * keys * (depth + columns),
        moved_bytes=sum(t.elements * t.item_bytes for t in tensors),
    )


def _kernel(n: Lowering, tensors: Sequence[View], sizes: tuple[int, int, int, int], batch: int) -> tuple[Attention, int]:
    """Return the kernel, and the most keys of a block.  tensors: q, k, v, y, and the mask.  sizes: rows, keys, depth, columns."""
    rows, keys, depth, columns = sizes
    q, k, v, y, *others = tensors
    tiles = tile_parts(n, k, rows, keys, depth) == tile_parts(n, v, rows, columns, keys) == 1
    most_keys = max(min(_KEY_BLOCK, _KEY_BYTES // (4 * (depth + columns))), 1)
    scores = tile_block(n) if tiles else block_for(n.cpu, rows, min(keys, most_keys))
    storages = (q.storage, k.storage, v.storage, y.storage, others[0].storage if n.has(3) else None)
    group = Attention(scores, scores, *storages).group
    kernel = Attention(
        scores,
        scores if tiles else block_for(n.cpu, min(rows, group), columns),
        *storages,
        zero_masked=n.attr("zero_masked") is True,
        batch=batch,
        multiplier="bf16" if tiles else multiplier_of(n, depth),
        tiles=tiles,
        gives_sums=len(n.work.results) > 1,
    )
    return kernel, most_keys


def log_sums_of(n: Lowering) -> list[View]:
    """Return memory for the logarithms of sums that attention gives in training, as a column of float32."""
    if len(n.work.results) < 2:
        return []
    if n.result_storage(1) != "f32":
        raise NotTaken(f"sums in {n.result_storage(1)}")
    return [column_of(n.result(1))]


def column_of(view: View) -> View:
    """Return [..., rows] as [..., rows, 1]."""
    found = view.reshaped((*view.shape, 1))
    if found is None:
        raise NotTaken("no rows")
    return found


def tensor_words(names: Sequence[str], tensors: Sequence[View]) -> dict[str, Word]:
    """Return the words of tensors of a kernel: where each lies, and bytes from row to row."""
    found: dict[str, Word] = {}
    for name, tensor in zip(names, tensors, strict=True):
        found |= {name: tensor, f"{name}_row": tensor.strides[-2] * tensor.item_bytes}
    return found


def tile_block(n: Lowering) -> Block:
    """Return what a block of tiles is to code that works on it in vectors."""
    lanes = max(n.cpu.vector_bytes // 4, 4)
    return Block(SIZE, SIZE // lanes, lanes)


def rows_of(n: Lowering, view: View) -> View:
    """Return a tensor that the kernel reads: numbers, each row dense."""
    if view.storage not in FLOATS:
        raise NotTaken(f"operands in {view.storage}")
    return view if view.strides[-1] == 1 or (view.shape[-1] == 1 and view.strides[-1] != 0) else n.densified(view)


def _chunks(rows: int, matrices: int) -> int:
    """Tasks of one element of the batch."""
    few, many = _TASK_ROWS
    return max(-(-rows // many), min(-(-rows // few), -(-_TASKS // matrices)))


def key_block_of(keys: int, most: int, columns: int) -> int:
    """Return keys of a block: all alike, of whole panels."""
    blocks = -(-keys // most)
    return -(-keys // blocks // columns) * columns
