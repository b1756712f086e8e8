"""Fourier transforms against numpy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, ints, node_model, normal
from tests.ttc.importers.onnx.test_walk import failure, save


def pairs(values: np.ndarray) -> np.ndarray:
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
    assert failure(save(node_model("DFT", normal(1, 5000, 1), opset=17)[0], tmp_path)).code == "E0202"
    assert failure(save(node_model("STFT", normal(1, 4, 1), ints(0)[0], normal(2), opset=17, constant=(1,))[0], tmp_path)).code == "E0402"
