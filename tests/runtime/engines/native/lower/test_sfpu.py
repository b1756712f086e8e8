"""Elementwise ops of Buda netlists against their numpy kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import Plain, TensorType, Work

EDGES = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 88.9, -88.9, 1e-40], np.float32)
FUNCTIONS = ("abs", "cosine", "exp", "gelu", "log", "lrelu", "power", "reciprocal", "sigmoid", "sine", "sqrt", "square", "tanh")


def found(op: str, *givens: Given, level: str = "amx", format: str = "Float32", **attrs: Plain) -> Ran:
    type_ = TensorType(givens[0].array.shape, format)
    return ran([Work(f"tile.{op}", tuple(range(len(givens))), attrs, (type_,))], givens, level=level)


def numbers() -> Given:
    return Given(np.concatenate([EDGES, normal(54) * 4]).reshape(2, 32))


@pytest.mark.parametrize("level", ["amx", "generic"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_functions_at_their_edges(fn: str, level: str):
    result = found("sfpu", numbers(), level=level, fn=fn, parameter=3.0 if fn == "power" else 0.25)
    assert result.kernels == ("Eltwise",)
    np.testing.assert_allclose(result.native, result.reference, rtol=2e-6, atol=5e-7)


@pytest.mark.parametrize("fn", ["add", "subtract", "multiply", "maximum"])
def test_products_with_zero_are_zero(fn: str):
    a = numbers()
    result = found("binary", a, Given(np.ascontiguousarray(a.array[:, ::-1])), fn=fn)
    assert not result.refusals
    np.testing.assert_array_equal(result.native, result.reference)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold", [0.0, 1.5, -0.5])
def test_thresholds(mode: str, threshold: float):
    result = found("relu", numbers(), mode=mode, threshold=threshold)
    assert not result.refusals
    np.testing.assert_array_equal(result.native, result.reference)


@pytest.mark.parametrize("kind", ["quantization", "requantization", "dequantization"])
def test_steps_to_and_from_integers(kind: str, rng: np.random.Generator):
    ints = rng.integers(-128, 128, (3, 40)).astype(np.int8)
    back = kind == "dequantization"
    x = Given(ints, "Int8") if back else Given(normal(3, 40) * 90)
    result = found(
        "rescale", x, Given(np.full((3, 40), 0.75, np.float32)), format="Float32" if back else "Int8", kind=kind, zero_point=-7.0
    )
    assert not result.refusals
    np.testing.assert_array_equal(result.native, result.reference)


@pytest.mark.parametrize(("attrs", "reason"), [({"fn": "dropout"}, "dropout"), ({"fn": "exp", "vector": "r"}, "exp in parts of tiles")])
def test_what_has_no_code_runs_in_python(attrs: dict[str, Plain], reason: str):
    result = found("sfpu", Given(normal(32, 32)), parameter=0.5, **attrs)
    assert result.refusals == (("tile.sfpu", reason),)
    np.testing.assert_array_equal(result.native, result.reference)
