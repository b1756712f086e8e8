"""Quantization of PyTorch: as training for it rounds, and as quantized programs say it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.ao.quantization.fx import _decomposed  # noqa: E402, F401  # defines quantized_decomposed

import ttc  # noqa: E402
from tests.ttc.importers.torch.many import agree, randn  # noqa: E402

quantized = torch.ops.quantized_decomposed
SCALES, ZEROS = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -2])


def test_rounded_as_training_does() -> None:
    functions = {
        "tensor": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255),
        "few": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.25, 1, -8, 7),
        "computed": lambda x: torch.fake_quantize_per_tensor_affine(x, x.abs().max() / 7, torch.tensor(1), -8, 7),
        "channels": lambda x: torch.fake_quantize_per_channel_affine(x, SCALES, ZEROS.int(), 1, -128, 127),
        "mask": lambda x: torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.01, 0, -128, 127),
    }
    agree(functions, randn(2, 3, 4))


def test_quantized_programs() -> None:
    def codes(x: Any) -> Any:
        return quantized.quantize_per_tensor(x, 0.05, 3, -100, 127, torch.int8)

    def channels(x: Any) -> Any:
        return quantized.quantize_per_channel(x, SCALES, ZEROS, 1, -128, 127, torch.int8)

    functions = {
        "codes": codes,
        "bytes": lambda x: quantized.quantize_per_tensor.tensor(x, SCALES[0], ZEROS[1], 0, 255, torch.uint8),
        "numbers": lambda x: quantized.dequantize_per_tensor(codes(x), 0.05, 3, -100, 127, torch.int8),
        "channels": channels,
        "numbers_of_channels": lambda x: quantized.dequantize_per_channel(channels(x), SCALES, ZEROS, 1, -128, 127, torch.int8),
        "without_zeros": lambda x: quantized.dequantize_per_channel(channels(x), SCALES, None, 1, -128, 127, torch.int8),
    }
    agree(functions, randn(2, 3, 4))


def test_archive_of_a_quantized_program(tmp_path: Path) -> None:
    class Rounded(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            codes = quantized.quantize_per_tensor(x, 0.5, 0, -128, 127, torch.int8)
            return quantized.dequantize_per_tensor(codes, 0.5, 0, -128, 127, torch.int8)

    path = tmp_path / "rounded.pt2"
    torch.export.save(torch.export.export(Rounded(), (torch.zeros(3),)), path)
    (found,) = ttc.Executor(ttc.compile(path, target="host"))(torch.tensor([0.3, -1.1, 100.0]).numpy())
    assert found.tolist() == [0.5, -1.0, 63.5]
