"""Matrix products: the left operand lies in SrcB, the right one in SrcA."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.attend import attend
from ttc.dialects.core.kernels.epilogue import finish
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core
from ttc.runtime.engines.exact.exponential import exponential


@RULES.rule("matmul")
def exact_matmul(
    core: Core,
    a: NDArray,
    b: NDArray,
    bias: NDArray | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    accumulate: bool = False,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
) -> NDArray:
    """activation(a @ b + bias), summed by K blocks; with accumulate, over the last but two dimension too."""
    left = a.swapaxes(-1, -2) if transpose_a else a
    right = b.swapaxes(-1, -2) if transpose_b else b
    pairs = [(left[..., z, :, :], right[..., z, :, :]) for z in range(left.shape[-3])] if accumulate else [(left, right)]
    return finish(_summed(core, pairs), bias, activation, activation_args)


@RULES.rule("attention")
def exact_attention(core: Core, q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None = None, **attrs: Any) -> NDArray:
    """Attention whose two products run on the matrix engine; the softmax between them stays in Float32."""
    return attend(lambda a, b: _summed(core, [(core.unpack(a), core.unpack(b))]), q, k, v, mask, exp=exponential(core), **attrs)


def _summed(core: Core, pairs: Iterable[tuple[NDArray, NDArray]]) -> NDArray:
    """Return the sum of left @ right over pairs of unpacked values."""
    blocks = (block for left, right in pairs for block in _blocks(core, left, right))
    return core.accumulate(core.multiply(_swapped, right, left) for left, right in blocks)


def _blocks(core: Core, left: NDArray, right: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """K blocks of both; everything at once where blocks make no difference."""
    size = left.shape[-1] if core.in_one_block or left.dtype != np.float32 else core.block
    for first in range(0, max(left.shape[-1], 1), max(size, 1)):
        yield left[..., first : first + size], right[..., first : first + size, :]


def _swapped(a: NDArray, b: NDArray) -> NDArray:
    """b @ a; one call of BLAS where all of `b` meets the same matrix."""
    if a.ndim != 2 or b.ndim == 2:
        return np.matmul(b, a)
    return np.matmul(b.reshape(-1, b.shape[-1]), a).reshape(*b.shape[:-1], a.shape[1])
