"""Matrix products: the left operand lies in SrcB, the right one in SrcA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.attend import attend
from ttc.dialects.core.epilogue import finish
from ttc.runtime.engines.exact.core import Core


def exact_matmul(
    core: Core,
    a: NDArray,
    b: NDArray,
    bias: NDArray | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
) -> NDArray:
    """activation(a @ b + bias), summed by K blocks."""
    left = a.swapaxes(-1, -2) if transpose_a else a
    right = b.swapaxes(-1, -2) if transpose_b else b
    return finish(product(core, left, right), bias, activation, activation_args)


def exact_attention(core: Core, q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None = None, **attrs: Any) -> NDArray:
    """Attention whose two products run on the matrix engine; the softmax between them stays in Float32."""
    return attend(lambda a, b: product(core, core.unpack(a), core.unpack(b)), q, k, v, mask, **attrs)


def product(core: Core, left: NDArray, right: NDArray) -> NDArray:
    """left @ right of unpacked values."""
    if core.in_one_block or left.dtype != np.float32 or left.shape[-1] == 0:
        return core.multiply(_swapped, right, left)
    return core.accumulate(core.multiply(_swapped, b, a) for a, b in _blocks(left, right, core.block))


def _swapped(a: NDArray, b: NDArray) -> NDArray:
    """b @ a; one call of BLAS where all of `b` meets the same matrix."""
    if a.ndim != 2 or b.ndim == 2:
        return np.matmul(b, a)
    return np.matmul(b.reshape(-1, b.shape[-1]), a).reshape(*b.shape[:-1], a.shape[1])


def _blocks(left: NDArray, right: NDArray, size: int) -> Iterator[tuple[NDArray, NDArray]]:
    for first in range(0, left.shape[-1], size):
        yield left[..., first : first + size], right[..., first : first + size, :]
