"""Numpy kernel of attention, shared by nn and tile."""

from __future__ import annotations

from numpy.typing import NDArray

from ttc.dialects.core.kernels.attend import attend
from ttc.dialects.core.kernels.blas import product
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("attention")
def attention(q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None = None, *, scale: float, zero_masked: bool) -> NDArray:
    """softmax(q k^T * scale + mask) v over the last two dimensions; with zero_masked, rows without any finite score give 0."""
    return attend(product, q, k, v, mask, scale=scale, zero_masked=zero_masked)
