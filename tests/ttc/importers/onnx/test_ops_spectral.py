"""Fourier transforms against numpy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, ints, node_model, normal
from tests.ttc.importers.onnx.test_walk import failure, save


def pairs(values: Any) -> np.ndarray:
    return np.stack([values.real, values.imag], axis=-1).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("length", [None, 4, 9])
@pytest.mark.parametrize("onesided", [0, 1])
def test_dft_of_real_numbers(axis: int, length: int | None, onesided: int, tmp_path: Path) -> None:
    x = normal(3, 6, 1)
    operands = [x, None if length is None else ints(length)[0], ints(axis)[0]]
    model, feeds = node_model("DFT", *operands, opset=20, constant=(1, 2) if length else (2,), onesided=onesided)
    transform = np.fft.rfft if onesided else np.fft.fft
    check(model, feeds, tmp_path, wanted=[pairs(transform(x[..., 0], n=length, axis=axis % 3))], atol=1e-5)


@pytest.mark.parametrize("inverse", [0, 1])
def test_dft_of_complex_numbers(inverse: int, tmp_path: Path) -> None:
    x = normal(2, 5, 3, 2)
    model, feeds = node_model("DFT", x, opset=17, axis=1, inverse=inverse)
    transform = np.fft.ifft if inverse else np.fft.fft
    check(model, feeds, tmp_path, wanted=[pairs(transform(x[..., 0] + 1j * x[..., 1], axis=1))], atol=1e-5)


def test_long_transforms(tmp_path: Path) -> None:
    """A megabyte of a prime number of elements, as exact as numpy's."""
    x = normal(1, 65537, 2)
    model, feeds = node_model("DFT", x, opset=17)
    wanted = np.fft.fft((x[..., 0] + 1j * x[..., 1]).astype(np.complex64), axis=1)
    check(model, feeds, tmp_path, wanted=[pairs(wanted)], atol=0)


@pytest.mark.parametrize("size", [7, 8])
def test_from_half_a_spectrum(size: int, tmp_path: Path) -> None:
    spectrum = np.fft.rfft(normal(2, size), axis=1)
    model, feeds = node_model("DFT", pairs(spectrum), ints(size)[0], opset=20, constant=(1,), inverse=1, onesided=1)
    check(model, feeds, tmp_path, wanted=[np.fft.irfft(spectrum, n=size, axis=1).astype(np.float32)[..., None]], atol=1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
def test_stft(onesided: int, tmp_path: Path) -> None:
    signal, window = normal(2, 20, 1), normal(8)
    model, feeds = node_model("STFT", signal, ints(5)[0], window, opset=17, constant=(1,), onesided=onesided)
    frames = np.stack([signal[:, at : at + 8, 0] * window for at in (0, 5, 10)], axis=1)
    transform = np.fft.rfft if onesided else np.fft.fft
    check(model, feeds, tmp_path, wanted=[pairs(transform(frames, axis=2))], atol=1e-4)


def test_what_does_not_fit(tmp_path: Path) -> None:
    assert failure(save(node_model("DFT", normal(2, 4, 3), opset=17)[0], tmp_path)).code == "E0401"
    assert failure(save(node_model("DFT", normal(2, 4, 2), opset=17, axis=2)[0], tmp_path)).code == "E0401"
    huge = node_model("DFT", normal(1, 4, 1), ints(1 << 40)[0], opset=17, constant=(1,))[0]
    assert failure(save(huge, tmp_path)).code == "E0202"
    assert failure(save(node_model("STFT", normal(1, 4, 1), ints(0)[0], normal(2), opset=17, constant=(1,))[0], tmp_path)).code == "E0402"


@pytest.mark.parametrize(("bins", "size", "rate", "low", "high"), [(8, 16, 8192, 0.0, 4096.0), (5, 33, 2000, 100.0, 900.0)])
def test_mel_weight_matrix(bins: int, size: int, rate: int, low: float, high: float, tmp_path: Path) -> None:
    """Corner by corner, as ONNX's description says."""
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    mels = ends[0] + np.arange(bins + 2) * (ends[1] - ends[0]) / (bins + 2)
    corners = np.floor((size + 1) * 700 * (10 ** (mels / 2595) - 1) / rate).astype(int)
    wanted = np.zeros((size // 2 + 1, bins), np.float32)
    for column, (left, peak, right) in enumerate(zip(corners, corners[1:], corners[2:], strict=False)):
        for row in range(left, min(right, len(wanted) - 1) + 1):
            if row == peak:
                wanted[row, column] = 1
            elif row < peak:
                wanted[row, column] = (row - left) / (peak - left)
            elif row < right:
                wanted[row, column] = (right - row) / (right - peak)
    edges = [np.array(low, np.float32), np.array(high, np.float32)]
    integers = [np.array(v, np.int64) for v in (bins, size, rate)]
    model, feeds = node_model("MelWeightMatrix", *integers, *edges, constant=(0, 1, 2))
    check(model, feeds, tmp_path, wanted=[wanted])
