"""nn.rotary_embedding against complex multiplication."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.nn.rotary import RotaryEmbeddingOp


def tables(positions: int, size: int) -> NDArray:
    """Angles[position, pair]."""
    return np.arange(positions)[:, None] * 10.0 ** (-2 * np.arange(size // 2) / size)


def by_complex(x: NDArray, angles: NDArray, *, interleaved: bool) -> NDArray:
    """Each pair as a complex number, times e^(i angle)."""
    half = x.shape[-1] // 2
    pairs = x[..., 0::2] + 1j * x[..., 1::2] if interleaved else x[..., :half] + 1j * x[..., half:]
    turned = pairs * np.exp(1j * angles)
    parts = [turned.real, turned.imag]
    return np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 1e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("shape", [(2, 3, 5, 8), (5, 2), (1, 5, 6)])
def test_rotation(shape: tuple[int, ...], dtype: str, tol: float, interleaved: bool) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    angles = tables(shape[-2], shape[-1])
    full = np.repeat(angles, 2, -1) if interleaved else np.concatenate([angles, angles], -1)
    wanted = by_complex(x.astype(np.float64), angles, interleaved=interleaved).astype(dtype)
    check_op(RotaryEmbeddingOp, [x, np.cos(full).astype(dtype), np.sin(full).astype(dtype)], {"interleaved": interleaved}, wanted, tol)


def test_errors() -> None:
    attrs = {"interleaved": False}
    check_error("E0401", RotaryEmbeddingOp, [spec(2, 3), spec(2, 3), spec(2, 3)], attrs)
    check_error("E0401", RotaryEmbeddingOp, [spec(2, 4), spec(3, 4), spec(2, 4)], attrs)
    check_error("E0401", RotaryEmbeddingOp, [spec(2, 4), spec(2, 4), spec(1, 2, 4)], attrs)
    check_error("E0403", RotaryEmbeddingOp, [spec(2, 4, dtype="int32")] * 3, attrs)


def test_batch() -> None:
    random = np.random.default_rng(0).standard_normal
    x, table = random((6, 5, 4)).astype(np.float32), random((5, 4)).astype(np.float32)
    check_batch(RotaryEmbeddingOp, [x, table, table], [True, False, False], {"interleaved": True}, 3)
    check_no_batch(RotaryEmbeddingOp, [spec(6, 4), spec(6, 4), spec(6, 4)], [True, False, False], {"interleaved": True}, 3)
