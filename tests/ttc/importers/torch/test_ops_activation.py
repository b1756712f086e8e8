"""Activations and softmaxes of PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402

NAMES = (
    "relu relu6 silu mish gelu hardswish hardsigmoid hardtanh elu selu celu leaky_relu softplus logsigmoid softsign tanhshrink hardshrink"
)


def test_activations() -> None:
    functions = {
        **{name: getattr(F, name) for name in NAMES.split()},
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "elu_slope": lambda x: F.elu(x, alpha=0.3),
        "celu_slope": lambda x: F.celu(x, alpha=2.0),
        "softplus_beta": lambda x: F.softplus(x, beta=2.0, threshold=1.0),
        "threshold": lambda x: F.threshold(x, 0.5, -7.0),
        "glu": lambda x: F.glu(x, -1),
        "softshrink": lambda x: F.softshrink(x, 0.3),
        "prelu": lambda x: F.prelu(x, torch.tensor([0.1, 0.2, 0.3])),
        "prelu_one": lambda x: F.prelu(x, torch.tensor([0.1])),
    }
    agree(functions, randn(2, 3, 6) * 3)


def test_softmaxes() -> None:
    functions = {
        "softmax": lambda x: x.softmax(1),
        "log_softmax": lambda x: x.log_softmax(-1),
        "of_double": lambda x: F.softmax(x, 0, dtype=torch.float64),
        "softmin": lambda x: F.softmin(x, 2),
        "of_a_number": lambda x: x[0, 0, 0].softmax(0),
    }
    agree(functions, randn(2, 3, 4))
