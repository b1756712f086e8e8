"""Elementwise functions in terms of others."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.passes.tile.vocabulary import expand, one_op
from tests.passes.tiles import check_numbers, parse

SPECIAL = np.array([0.0, -0.0, 1e-30, -1e-30, 0.5, -0.5, 1.5, 2.5, -2.5, 1e7, -1e7, 4194304.5, 3e9, -3e30, 88.0, -88.0], np.float32)


def fragment(fn: str, operands: list[str], result: str, **attrs: float | str) -> str:
    given: dict[str, object] = {"fn": fn}
    if attrs:
        given |= {"names": tuple(attrs), "values": tuple(attrs.values())}
    return one_op("tile.map", operands, result, given)


def check(text: str, *inputs: NDArray, tolerance: float = 1e-6) -> None:
    outcome = expand(text)
    check_numbers(parse(text), outcome.unit, tolerance, inputs)


@pytest.mark.parametrize("fn", ["neg", "sign", "floor", "ceil", "round", "identity", "abs", "relu", "sin", "tanh"])
def test_unary_is_exact(fn: str) -> None:
    check(fragment(fn, ["Float32[16]"], "Float32[16]"), SPECIAL, tolerance=0)


@pytest.mark.parametrize("fn", ["erf", "silu", "softplus", "hard_swish", "gelu"])
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_unary(fn: str, scale: float) -> None:
    attrs = {"approximate": "none"} if fn == "gelu" else {}
    values = (np.linspace(-1, 1, 64) * scale).astype(np.float32)
    check(fragment(fn, ["Float32[64]"], "Float32[64]", **attrs), values, tolerance=1e-6)


def test_roots() -> None:
    values = np.linspace(0.1, 9, 16).astype(np.float32)
    check(fragment("rsqrt", ["Float32[16]"], "Float32[16]"), values)


@pytest.mark.parametrize(
    ("fn", "attrs"),
    [
        ("leaky_relu", {"alpha": 0.1}),
        ("elu", {"alpha": 0.7}),
        ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
        ("clip", {"min": -1.0, "max": 2.0}),
        ("clip", {"min": 0.0, "max": 6.0}),
        ("clip", {"min": 0.0}),
        ("clip", {"max": 0.25}),
        ("clip", {"min": -3.4028234663852886e38, "max": 1.0}),
    ],
)
def test_unary_with_attributes(fn: str, attrs: dict[str, float]) -> None:
    check(fragment(fn, ["Float32[16]"], "Float32[16]", **attrs), SPECIAL)


@pytest.mark.parametrize("fn", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
@pytest.mark.parametrize("format_", ["Float32", "Int32", "UInt8"])
def test_relations(fn: str, format_: str) -> None:
    a, b = np.divmod(np.arange(16), 4)
    held = {"Float32": np.float32, "Int32": np.int32, "UInt8": np.uint8}[format_]
    check(fragment(fn, [f"{format_}[16]", f"{format_}[16]"], "UInt8[16]"), a.astype(held), b.astype(held), tolerance=0)


@pytest.mark.parametrize("fn", ["and", "or", "xor"])
def test_logic(fn: str) -> None:
    a, b = np.divmod(np.arange(4, dtype=np.uint8), 2)
    check(fragment(fn, ["UInt8[4]", "UInt8[4]"], "UInt8[4]"), a, b, tolerance=0)
    check(fragment("not", ["UInt8[4]"], "UInt8[4]"), a, tolerance=0)


@pytest.mark.parametrize("fn", ["div", "minimum", "maximum", "sub"])
def test_binary(fn: str) -> None:
    generator = np.random.default_rng(5)
    a, b = (generator.normal(size=(4, 5)).astype(np.float32) + 3 for _ in range(2))
    check(fragment(fn, ["Float32[4, 5]", "Float32[5]"], "Float32[4, 5]"), a, b[0])


@pytest.mark.parametrize("exponent", [-2.0, 0.0, 0.5, 1.0, 2.0, 3.0, 7.0, 1.7])
def test_powers(exponent: float) -> None:
    text = f"""(%x: Float32[16])
        %e = ttc.constant() {{value = #ttc.literal<[{exponent}], f32[]>}} : () -> Float32[]
        %y = tile.map(%x, %e) {{fn = "pow"}} : (Float32[16], Float32[]) -> Float32[16]
        return %y : Float32[16]"""
    check(text, np.linspace(0.5, 3, 16).astype(np.float32))


@pytest.mark.parametrize("format_", ["Float32", "Int32"])
def test_where(format_: str) -> None:
    c = np.arange(12, dtype=np.uint8) % 2
    a, b = (np.arange(12) - 5).astype(format_.lower()), (np.arange(12) * 3).astype(format_.lower())
    if format_ == "Float32":
        a[:4], b[2:6] = [inf, -inf, 3e38, -3e38], [inf, -inf, -3.4e38, -inf]
    text = fragment("where", ["UInt8[12]", f"{format_}[12]", f"{format_}[12]"], f"{format_}[12]")
    check(text, c, a, b, tolerance=0)


@pytest.mark.parametrize("lowest", ["ninf", "-3.4028234663852886e38"])
def test_masks(lowest: str) -> None:
    text = f"""(%c: UInt8[4])
        %a = ttc.constant() {{value = #ttc.literal<[0.0], f32[]>}} : () -> Float32[]
        %b = ttc.constant() {{value = #ttc.literal<[{lowest}], f32[]>}} : () -> Float32[]
        %y = tile.map(%c, %a, %b) {{fn = "where"}} : (UInt8[4], Float32[], Float32[]) -> Float32[4]
        return %y : Float32[4]"""
    check(text, np.array([0, 1, 1, 0], np.uint8), tolerance=0)


@pytest.mark.parametrize("fn", ["is_nan", "is_inf"])
def test_what_has_no_terms_runs_on_the_host(fn: str) -> None:
    text = fragment(fn, ["Float32[4]"], "UInt8[4]")
    outcome = expand(text)
    assert outcome.names() == ["tile.to_host", f"nn.{fn}", "tile.from_host"]
    assert outcome.missed() == [f"{fn} runs on the host: {fn} has no terms in the vocabulary"]
    check_numbers(parse(text), outcome.unit, 0, [np.array([1, nan, inf, -inf], np.float32)])


def test_intermediates_do_not_lose_precision() -> None:
    text = fragment("gelu", ["Float16_b[64]"], "Float16_b[64]", approximate="none")
    check(text, np.linspace(-4, 4, 64).astype(np.float32), tolerance=4e-3)


def test_computed_powers() -> None:
    """Whole powers of numbers of any sign, others of positive ones, and what has no power."""
    base = np.array([0.9, 0.999, 2.0, 2.0, -2.0, -2.0, -3.0, 0.0, 0.0, 0.0, 1.5, 7.0, -0.5, 1.0, 0.25, -1.0], np.float32)
    power = np.array([3.0, 1000.0, 10.0, -2.0, 3.0, 2.0, -1.0, 2.0, 0.0, -1.0, 0.5, 0.0, 0.5, 1e30, 4.0, 1e9], np.float32)
    check(fragment("pow", ["Float32[16]", "Float32[16]"], "Float32[16]"), base, power, tolerance=1e-5)
