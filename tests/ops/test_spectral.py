"""Fourier transforms against numpy's in double precision, and their sums by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, run_op, spec
from tests.ops.tile_cases import check_error as check_tile_error
from ttc.dialects.nn.spectral import FftOp, IrfftOp
from ttc.dialects.tile.base import twin

A, C = generator("spectral.A, C").standard_normal((2, 3, 6, 4)).astype(np.float32)


def parts(y: Any, dtype: type = np.float32) -> list[np.ndarray]:
    return [y.real.astype(dtype), y.imag.astype(dtype)]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("size", [1, 4, 6, 9])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("onesided", [False, True])
def test_fft(axis: int, size: int, inverse: bool, onesided: bool) -> None:
    attrs = {"axis": axis, "size": size, "inverse": inverse, "onesided": onesided}
    transform = np.fft.ifft if inverse else np.fft.fft
    for c in (None, C):
        x = A.astype(np.complex128) if c is None else A + 1j * c.astype(np.float64)
        wanted = transform(x, size, axis)
        wanted = np.take(wanted, range(size // 2 + 1 if onesided else size), axis)
        check_op(FftOp, [A, c], attrs, parts(wanted), 2e-6)


def test_one_transform_by_hand() -> None:
    """1 + 2i turns by a quarter from element to element."""
    attrs = {"axis": 0, "size": 4, "inverse": False, "onesided": False}
    operands = [np.array([0, 1], np.float32), np.array([0, 2], np.float32)]
    check_op(FftOp, operands, attrs, [np.array([1, 2, -1, -2], np.float32), np.array([2, -1, -2, 1], np.float32)])


@pytest.mark.parametrize("size", [1, 2, 5, 6, 8])
def test_irfft(size: int, rng: np.random.Generator) -> None:
    x = A + 1j * C.astype(np.float64)
    for c, given in ((C, x), (None, x.real)):
        check_op(IrfftOp, [A, c], {"axis": 1, "size": size}, np.fft.irfft(given, size, 1).astype(np.float32), 2e-6)
    whole = rng.standard_normal((2, size)).astype(np.float32)
    there = run_op(FftOp, [whole, None], {"axis": 1, "size": size, "inverse": False, "onesided": True})
    check_op(IrfftOp, there, {"axis": 1, "size": size}, whole, 1e-6)


def test_precisions() -> None:
    """That of the operands: double stays double, halves are computed in float32."""
    attrs = {"axis": 0, "size": 3, "inverse": False, "onesided": True}
    for dtype, tolerance in ((np.float64, 1e-14), (np.float16, 2e-3)):
        x = A.astype(dtype)
        check_op(FftOp, [x, None], attrs, parts(np.fft.rfft(x.astype(np.float64), 3, 0), dtype), tolerance)


def test_batches() -> None:
    attrs = {"axis": 2, "size": 5, "inverse": False, "onesided": False}
    check_batch(FftOp, [A, C], [True, True], attrs, 3, 1e-6)
    check_batch(IrfftOp, [A, None], [True, False], {"axis": 1, "size": 7}, 3, 1e-6)
    check_no_batch(FftOp, [spec(3, 4), None], [True, False], {**attrs, "axis": 0}, 3)
    check_no_batch(FftOp, [spec(3, 4), spec(3, 4)], [True, False], {**attrs, "axis": 1}, 3)


def test_what_does_not_fit() -> None:
    attrs = {"axis": 1, "size": 4}
    for kind, more in ((FftOp, {"inverse": False, "onesided": False}), (IrfftOp, {})):
        check_error("E0412", kind, [spec(2, 4), None], {**attrs, **more, "axis": 2})
        check_error("E0402", kind, [spec(2, 4), None], {**attrs, **more, "size": 0})
        check_error("E0402", kind, [spec(2, 4), None], {**attrs, **more, "size": 1 << 40})
        check_error("E0401", kind, [spec(2, 4), spec(1, 4)], {**attrs, **more})
        check_error("E0401", kind, [spec(2, 0), None], {**attrs, **more})
        check_error("E0403", kind, [spec(2, 4), spec(2, 4, dtype="float16")], {**attrs, **more})
        check_error("E0403", kind, [spec(2, 4, dtype="int32"), None], {**attrs, **more})
    check_tile_error(twin("fft"), [(2, 4), (1, 4)], {**attrs, "inverse": False, "onesided": False}, "E0401")
    check_tile_error(twin("irfft"), [(2, 4), None], {**attrs, "axis": 2}, "E0412")
