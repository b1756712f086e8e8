"""Normalizations of PyTorch, with running statistics and without."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402

WEIGHT, BIAS = torch.arange(6.0) / 3 - 1, torch.arange(6.0) / 5
MEAN, VAR = torch.arange(6.0) / 4, torch.arange(6.0) + 0.5


def test_normalizations() -> None:
    functions = {
        "batch": lambda x: F.batch_norm(x, MEAN, VAR, WEIGHT, BIAS),
        "batch_plain": lambda x: F.batch_norm(x, MEAN, VAR),
        "batch_computed": lambda x: F.batch_norm(x, x.mean((0, 2, 3)), x.var((0, 2, 3)), WEIGHT, BIAS),
        "batch_own": lambda x: F.batch_norm(x, None, None, WEIGHT, BIAS, training=True),
        "layer": lambda x: F.layer_norm(x, (4, 5), eps=1e-3),
        "layer_scaled": lambda x: F.layer_norm(x.mT, (4,), WEIGHT[:4], BIAS[:4]),
        "layer_statistics": lambda x: torch.native_layer_norm(x, (4, 5), None, None, 1e-5),
        "group": lambda x: F.group_norm(x, 3, WEIGHT, BIAS),
        "group_statistics": lambda x: torch.native_group_norm(x, WEIGHT, BIAS, 2, 6, 20, 3, 1e-5),
        "instance": lambda x: F.instance_norm(x, weight=WEIGHT, bias=BIAS),
        "instance_running": lambda x: F.instance_norm(x, MEAN, VAR, use_input_stats=False),
        "rms": lambda x: F.rms_norm(x, (5,), WEIGHT[:5]),
        "rms_plain": lambda x: F.rms_norm(x, (4, 5), eps=1e-2),
        "local": lambda x: F.local_response_norm(x, 3),
        "normalize": lambda x: F.normalize(x, dim=1),
        "renorm": lambda x: torch.renorm(x, 2, 1, 0.5),
    }
    agree(functions, randn(2, 6, 4, 5))


def test_running_statistics_move() -> None:
    def trained(x: Any) -> tuple[Any, ...]:
        return torch.ops.aten._native_batch_norm_legit_functional(x, WEIGHT, BIAS, MEAN, VAR, True, 0.25, 1e-5)

    agree({"trained": trained}, randn(3, 6, 4))
