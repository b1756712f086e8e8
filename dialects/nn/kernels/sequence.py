"""Numpy semantics of sequences whose length data decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS
from ttc.dialects.nn.kernels.dynamic import require_announced


@KERNELS.rule("sequence_insert")
def sequence_insert(flat: NDArray, sizes: NDArray, x: NDArray, position: NDArray | None = None) -> tuple[NDArray, NDArray]:
    """Return the sequence with x before the tensor at the position; at the end without one."""
    starts = _starts(flat, sizes)
    at = len(sizes) if position is None else _place(position, len(sizes), ends=1)
    return (
        np.concatenate([flat[: starts[at]], x.reshape(-1), flat[starts[at] :]]),
        np.concatenate([sizes[:at], np.array(x.shape, np.int64).reshape(1, x.ndim), sizes[at:]]),
    )


@KERNELS.rule("sequence_erase")
def sequence_erase(flat: NDArray, sizes: NDArray, position: NDArray | None = None) -> tuple[NDArray, NDArray]:
    """Return the sequence without the tensor at the position, or without the last one."""
    starts = _starts(flat, sizes)
    at = _place(np.array(-1) if position is None else position, len(sizes))
    return np.delete(flat, np.s_[starts[at] : starts[at + 1]]), np.delete(sizes, at, axis=0)


@KERNELS.rule("sequence_at")
def sequence_at(flat: NDArray, sizes: NDArray, position: NDArray, *, shape: tuple[int, ...]) -> NDArray:
    """Return the tensor at the position."""
    return require_announced(_tensor(flat, sizes, _starts(flat, sizes), _place(position, len(sizes))), shape)


@KERNELS.rule("sequence_join")
def sequence_join(flat: NDArray, sizes: NDArray, *, axis: int, stacked: bool, shape: tuple[int, ...]) -> NDArray:
    """Return the tensors one after the other, or stacked."""
    starts = _starts(flat, sizes)
    tensors = [_tensor(flat, sizes, starts, at) for at in range(len(sizes))]
    try:
        return require_announced(np.stack(tensors, axis) if stacked else np.concatenate(tensors, axis), shape)
    except ValueError:
        raise Error("E0802", f"{len(tensors)} tensors of a sequence cannot be joined") from None


def _starts(flat: NDArray, sizes: NDArray) -> NDArray:
    """Return where the elements of each tensor start, and the end."""
    counts = np.prod(sizes.astype(object), axis=1) if sizes.shape[1] else np.ones(len(sizes), object)
    total = sum(counts.tolist())
    if sizes.min(initial=0) < 0 or total != flat.size:
        raise Error("E0802", f"{flat.size} elements do not make up the {len(sizes)} tensors of a sequence")
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _tensor(flat: NDArray, sizes: NDArray, starts: NDArray, at: int) -> NDArray:
    return flat[starts[at] : starts[at + 1]].reshape(sizes[at])


def _place(position: NDArray, length: int, ends: int = 0) -> int:
    at = position.item() + length if position.item() < 0 else position.item()
    if not 0 <= at < length + ends:
        raise Error("E0802", f"position {position.item()} is outside a sequence of {length}")
    return at
