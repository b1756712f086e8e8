"""Convolutions of PyTorch over one to three dimensions."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402


def test_convolutions() -> None:
    functions = {
        "plain": lambda x, w: F.conv2d(x, w, padding=1),
        "strided": lambda x, w: F.conv2d(x, w, torch.arange(6.0), stride=(2, 1), padding=(0, 1), dilation=(1, 2)),
        "grouped": lambda x, w: F.conv2d(x, w[:, :2], groups=2),
        "same": lambda x, w: F.conv2d(x, w[:, :, :2], padding="same"),
        "one_image": lambda x, w: F.conv2d(x[0], w),
        "one_dimension": lambda x, w: F.conv1d(x[:, :, 0], w[:, :, 0], padding=1),
        "three_dimensions": lambda x, w: F.conv3d(x[:, :, None], w[:, :, None], padding=(0, 1, 1)),
        "transposed": lambda x, w: F.conv_transpose2d(x, w[:4], stride=2, padding=1, output_padding=1),
        "transposed_1d": lambda x, w: F.conv_transpose1d(x[:, :, 0], w[:4, :, 0], dilation=2),
        "transposed_3d": lambda x, w: F.conv_transpose3d(x[:, :, None], w[:4, :, None], stride=(1, 2, 2)),
    }
    agree(functions, randn(2, 4, 7, 9), randn(6, 4, 3, 3))
