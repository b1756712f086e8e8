"""Values of constant tensors: views of the file, except for those packed into less than a byte and sparse ones, spread out when read."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.flatbuffer import Buffer, Span
from ttc.importers.tflite.model import Sparsity, Tensor
from ttc.importers.tflite.schema import PACKED, dtypes

MAX_DENSE = 1 << 27
"""The most elements of a sparse tensor once it is spread out."""


def dtype_of(tensor: Tensor) -> np.dtype:
    """Return numpy's type for a tensor's elements.  Raises Unsupported."""
    found = dtypes().get(tensor.kind)
    if found is None:
        raise Unsupported(f"tensors of {tensor.kind.lower()}")
    return found


def declared_dtype(tensor: Tensor) -> np.dtype:
    """Return the type of a tensor between ops, which may be complex.  Raises Unsupported."""
    return np.dtype(np.complex64) if tensor.kind == "COMPLEX64" else dtype_of(tensor)


def weight_of(data: Buffer, tensor: Tensor) -> Weight:
    """Return the value of a constant tensor, not read yet. Raises E0203 where the bytes are not those of its shape; Unsupported."""
    dtype, span = dtype_of(tensor), tensor.data or Span(0, 0)
    if tensor.external:
        raise Unsupported("tensors with values in other files")
    if -1 in tensor.shape:
        raise Error("E0203", f"constant '{tensor.name}' has an open dimension")
    if tensor.sparsity is not None:
        return _sparse(data, tensor, dtype, span, tensor.sparsity)
    bits = PACKED[tensor.kind][0] if tensor.kind in PACKED else 8 * dtype.itemsize
    count = prod(tensor.shape)
    if span.size != (count * bits + 7) // 8:
        raise Error("E0203", f"constant '{tensor.name}' has {span.size} bytes for {tensor.kind.lower()}{list(tensor.shape)}")
    if tensor.kind in PACKED:
        return Weight(tensor.shape, dtype, lambda: unpacked(_bytes(data, span), count, *PACKED[tensor.kind]).reshape(tensor.shape))
    return Weight(tensor.shape, dtype, lambda: _bytes(data, span).view(dtype).reshape(tensor.shape))


def _bytes(data: Buffer, span: Span) -> NDArray:
    return np.frombuffer(data, np.uint8, span.size, span.offset) if span.size else np.empty(0, np.uint8)


def unpacked(packed: NDArray, count: int, bits: int, signed: bool) -> NDArray:
    """Return integers of 2 or 4 bits, packed from the low bits of each byte on, as bytes."""
    steps = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[:, None] >> steps & ((1 << bits) - 1)).reshape(-1)[:count]
    if not signed:
        return codes
    half = 1 << (bits - 1)
    return ((codes ^ half).astype(np.int8) - half).astype(np.int8)


# ---- sparse tensors --------------------------------------------------------------------------------------------------------------


def _sparse(data: Buffer, tensor: Tensor, dtype: np.dtype, span: Span, sparsity: Sparsity) -> Weight:
    if tensor.kind in PACKED or prod(tensor.shape) > MAX_DENSE:
        raise Unsupported(f"sparse tensors of {tensor.kind.lower()}{list(tensor.shape)}")
    places = _places(tensor, sparsity, span.size // dtype.itemsize)
    if places.size * dtype.itemsize != span.size:
        raise Error("E0203", f"sparse tensor '{tensor.name}' has {span.size} bytes for {places.size} elements")

    def load() -> NDArray:
        dense = np.zeros(prod(tensor.shape), dtype)
        dense[places] = _bytes(data, span).view(dtype)
        return dense.reshape(tensor.shape)

    return Weight(tensor.shape, dtype, load)


def _places(tensor: Tensor, sparsity: Sparsity, count: int) -> NDArray:
    """Return where each stored element belongs in the dense tensor, in row-major order.  Raises E0203."""
    rank, blocks = len(tensor.shape), sparsity.blocks
    if sorted(sparsity.order) != list(range(rank + len(blocks))) or len(sparsity.levels) != len(sparsity.order):
        raise _malformed(tensor)
    if len(set(blocks)) != len(blocks) or not all(0 <= d < rank for d in blocks):
        raise _malformed(tensor)
    along: dict[int, NDArray] = {}
    sizes: dict[int, int] = {}
    nodes = 1
    for dim, level in zip(sparsity.order, sparsity.levels, strict=True):
        parents, along[dim] = _children(tensor, level.size, level.segments, level.indices, nodes, count)
        along = {d: at if d == dim else at[parents] for d, at in along.items()}
        nodes, sizes[dim] = parents.size, level.size
    index = [along[d] for d in range(rank)]
    for block, dim in enumerate(blocks):
        index[dim] = index[dim] * sizes[rank + block] + along[rank + block]
    if any(at.size and not 0 <= at.min() <= at.max() < size for at, size in zip(index, tensor.shape, strict=True)):
        raise _malformed(tensor)
    return np.ravel_multi_index(tuple(index), tensor.shape) if rank else np.zeros(nodes, np.int64)


def _children(
    tensor: Tensor, size: int, segments: NDArray | None, indices: NDArray | None, nodes: int, count: int
) -> tuple[NDArray, NDArray]:
    """Return, for each node of a level, the node above it, and its place along the level's dimension; there are never more than elements
    stored.
    """
    if segments is None or indices is None:
        if not 0 < size or nodes * size > max(count, 1):
            raise _malformed(tensor)
        return np.repeat(np.arange(nodes), size), np.tile(np.arange(size), nodes)
    lengths = np.diff(segments.astype(np.int64))
    fits = segments.size == nodes + 1 and segments[0] == 0 and segments[-1] == indices.size <= count
    if not fits or lengths.min(initial=0) < 0:
        raise _malformed(tensor)
    return np.repeat(np.arange(nodes), lengths), indices.astype(np.int64)


def _malformed(tensor: Tensor) -> Error:
    return Error("E0203", f"sparse tensor '{tensor.name}' does not say where its elements belong")
