"""Arithmetic of PyTorch: promotion of dtypes, rounding of quotients, signs of remainders."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")


from tests.ttc.importers.torch.many import agree, randn  # noqa: E402

X, Y = randn(3, 4), randn(3, 4, seed=1)


def test_of_numbers_and_tensors() -> None:
    functions = {
        "add": lambda x, y, n: torch.add(x, y, alpha=2.5),
        "add_number": lambda x, y, n: x + 2,
        "add_integers": lambda x, y, n: n + 2,
        "integers_and_number": lambda x, y, n: n + 0.5,
        "mixed": lambda x, y, n: x * n,
        "rsub": lambda x, y, n: 3 - x,
        "div": lambda x, y, n: n / 3,
        "floor": lambda x, y, n: torch.div(x, y, rounding_mode="floor"),
        "trunc": lambda x, y, n: torch.div(x, y, rounding_mode="trunc"),
        "floor_integers": lambda x, y, n: n // 3,
        "remainder": lambda x, y, n: torch.remainder(x, y),
        "remainder_integers": lambda x, y, n: n % 3,
        "fmod": lambda x, y, n: torch.fmod(x, y),
        "pow": lambda x, y, n: x.abs() ** y,
        "square": lambda x, y, n: x**2,
        "exponent": lambda x, y, n: 2**x,
        "addcmul": lambda x, y, n: torch.addcmul(x, y, y, value=0.5),
        "addcdiv": lambda x, y, n: torch.addcdiv(x, y, y.abs() + 1, value=0.5),
        "lerp": lambda x, y, n: torch.lerp(x, y, 0.25),
        "copysign": lambda x, y, n: torch.copysign(x, y),
        "hypot": lambda x, y, n: torch.hypot(x, y),
        "heaviside": lambda x, y, n: torch.heaviside(x, y),
        "zero_dim": lambda x, y, n: n * x[0, 0],
    }
    agree(functions, X, Y, torch.arange(-6, 6).reshape(3, 4))


def test_corners() -> None:
    edge = torch.tensor([0.0, -0.0, 1.0, -1.0, torch.inf, -torch.inf, torch.nan])
    pairs = torch.cartesian_prod(edge, edge)
    functions = {
        "logaddexp": torch.logaddexp,
        "logaddexp2": torch.logaddexp2,
        "xlogy": torch.xlogy,
        "copysign": torch.copysign,
        "fmod": torch.fmod,
        "fmax": torch.fmax,
        "fmin": torch.fmin,
        "maximum": torch.maximum,
        "isclose": lambda x, y: torch.isclose(x, y, equal_nan=True),
    }
    agree(functions, pairs[:, 0].contiguous(), pairs[:, 1].contiguous())


def test_angles_of_all_quadrants() -> None:
    edge = torch.tensor([0.0, 1.0, -1.0, 0.3, -5.0, torch.inf, -torch.inf])
    pairs = torch.cartesian_prod(edge, edge)
    agree({"atan2": torch.atan2}, pairs[:, 0].contiguous(), pairs[:, 1].contiguous())


def test_of_truth_values() -> None:
    p, q = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    functions = {
        "add": torch.add,
        "mul": torch.mul,
        "maximum": torch.maximum,
        "bitwise": lambda p, q: (p & q, p | q, p ^ q, ~p),
        "sum": lambda p, q: p.sum(),
        "number": lambda p, q: p * 3,
        "where": lambda p, q: torch.where(p, 1, 2),
    }
    agree(functions, p, q)
