"""Elementwise functions, comparisons and choices of PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")


from tests.ttc.importers.torch.many import agree, randn  # noqa: E402

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor frac isfinite "
    "isinf isnan isneginf isposinf log log10 "
    "log1p log2 logical_not nan_to_num neg positive reciprocal round rsqrt sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc"
)


def test_functions() -> None:
    edge = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 1e-4, 9.0, torch.inf, -torch.inf, torch.nan])
    agree({name: getattr(torch, name) for name in UNARY.split()}, edge, tolerance=2e-6)


def test_functions_of_integers() -> None:
    names = "abs exp floor sqrt sign square isnan sigmoid round trunc log1p"
    agree({name: getattr(torch, name) for name in names.split()}, torch.arange(5))


def test_small_arguments_keep_their_digits() -> None:
    small = torch.tensor([1e-6, -1e-6, 1e-3, -3e-5])
    agree({"expm1": lambda x: torch.expm1(x) * 1e6, "log1p": lambda x: torch.log1p(x) * 1e6}, small, tolerance=1e-6)


def test_comparisons_and_choices() -> None:
    x, y = randn(3, 4), randn(3, 4, seed=1)
    functions = {
        **{name: getattr(torch, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")},
        "number": lambda x, y: x > 0.5,
        "integers": lambda x, y: x.int() > 0.5,
        "where": lambda x, y: torch.where(x > y, x, 0.0),
        "clamp": lambda x, y: x.clamp(-0.5, 0.5),
        "clamp_min": lambda x, y: x.clamp(min=0.25),
        "clamp_tensors": lambda x, y: torch.clamp(x, y - 1, y),
        "clamp_integers": lambda x, y: (10 * x).int().clamp(-3, 3),
        "clamp_promotes": lambda x, y: (10 * x).int().clamp(max=2.5),
        "masked_fill": lambda x, y: x.masked_fill(y > 0, -1.0),
        "round": lambda x, y: torch.round(x * 100, decimals=1),
        "max": lambda x, y: torch.max(x, y),
        "nan_to_num": lambda x, y: torch.nan_to_num(x / 0, nan=1.0, posinf=2.0),
    }
    agree(functions, x, y)


def test_bits() -> None:
    functions = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | 5,
        "xor": lambda a, b: a ^ b,
        "not": lambda a, b: ~a,
        "left": lambda a, b: a << 2,
        "right": lambda a, b: a >> 1,
        "narrow": lambda a, b: ~a.to(torch.uint8),
    }
    agree(functions, torch.arange(-8, 8), torch.arange(16))
