"""Elementwise ops over strided, broadcast operands, against their numpy kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import Function, TensorType, Work

LEVELS = ("amx", "avx2", "generic")


def mapped(fn: str, *operands: int, to: TensorType, **attrs: float | str) -> Work:
    named = {"names": tuple(attrs), "values": tuple(attrs.values())} if attrs else {}
    return Work("tile.map", operands, {"fn": fn, **named}, (to,))


def float_type(*shape: int, format: str = "Float32") -> TensorType:
    return TensorType(shape, format)


@st.composite
def broadcast_shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[int, ...]], tuple[int, ...]]:
    """A shape, two that broadcast to it, and an order of the first operand's dimensions in memory."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 15, 16, 17, 33]), min_size=1, max_size=4)))
    operands: list[tuple[int, ...]] = []
    for _ in range(2):
        lead = draw(st.integers(0, len(shape)))
        operands.append(tuple(d if draw(st.booleans()) else 1 for d in shape[lead:]))
    return shape, operands, tuple(draw(st.permutations(range(len(shape)))))


@settings(max_examples=40)
@given(broadcast_shapes(), st.sampled_from(LEVELS))
def test_operands_are_broadcast_and_may_lie_in_any_order(drawn: tuple[tuple[int, ...], list[tuple[int, ...]], tuple[int, ...]], level: str):
    shape, (b, c), order = drawn
    inverse = tuple(int(i) for i in np.argsort(order))
    works = [
        Work("tile.transpose", (0,), {"perm": inverse}, (float_type(*shape),)),
        mapped("sub", 3, 1, to=float_type(*shape)),
        mapped("mul", 4, 2, to=float_type(*shape)),
    ]
    found = ran(works, [Given(normal(*(shape[i] for i in order))), Given(normal(*b)), Given(normal(*c))], level=level)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Half", "Float64", "Int32", "Int8", "UInt8", "Int64", "UInt16"])
@pytest.mark.parametrize("level", LEVELS)
def test_all_storages(format: str, level: str, rng: np.random.Generator):
    dtype = {"Float16_b": "float32", "Half": "float32", "RawUInt16": "uint16"}.get(format, format.lower())
    integers = format.startswith(("I", "U"))
    x, y = (rng.integers(0, 9, (5, 37)).astype(dtype) if integers else normal(5, 37, dtype=dtype) for _ in range(2))
    to = float_type(5, 37, format=format)
    found = ran([mapped("add", 0, 1, to=to), mapped("relu", 2, to=to)], [Given(x, format), Given(y, format)], level=level)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("level", LEVELS)
def test_truth_values(level: str):
    bools = TensorType((4, 19), "Bool")
    works = [mapped("less", 0, 1, to=bools), mapped("not", 2, to=bools), mapped("where", 3, 0, 1, to=float_type(4, 19))]
    found = ran(works, [Given(normal(4, 19)), Given(normal(19))], level=level)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)
    found = ran(works[:2], [Given(normal(4, 19)), Given(normal(19))], level=level)
    np.testing.assert_array_equal(found.native, found.reference)


def test_a_region_with_constants_and_a_cast(rng: np.random.Generator):
    scalar, row = TensorType((), "Float32"), TensorType((3, 21), "Float32")
    ids = TensorType((3, 21), "Int64")
    body = Function(
        (ids, row),
        (
            Work("ttc.constant", (), {"values": (0.5,)}, (scalar,)),
            Work("tile.cast", (0,), {"to": "float32"}, (row,)),
            mapped("mul", 3, 2, to=row),
            mapped("add", 4, 1, to=row),
            mapped("leaky_relu", 5, to=row, alpha=0.25),
        ),
        (6,),
    )
    ints = rng.integers(-9, 9, (3, 21))
    found = ran([Work("tile.eltwise", (0, 1), {}, (row,), body)], [Given(ints, "Int64"), Given(normal(3, 21))])
    assert found.kernels == ("Eltwise",)
    np.testing.assert_array_equal(found.native, found.reference)


def test_ops_behind_each_other_are_one_kernel():
    to = float_type(6, 50)
    works = [mapped("add", 0, 1, to=to), mapped("clip", 2, to=to, min=0.0, max=6.0), mapped("mul", 3, 0, to=to)]
    found = ran(works, [Given(normal(6, 50)), Given(normal(50))])
    assert found.kernels == ("Eltwise",)
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0])
def test_powers_of_known_exponents(exponent: float):
    x = np.abs(normal(7, 33)) + 0.1
    works = [mapped("pow", 0, 1, to=float_type(7, 33))]
    found = ran(works, [Given(x), Given(np.array(exponent, np.float32), constant=True)])
    assert not found.refusals
    np.testing.assert_allclose(found.native, found.reference, rtol=2e-7)


def test_results_without_rounding_stay_in_float32():
    x = normal(3, 40)
    works = [mapped("mul", 0, 1, to=float_type(3, 40, format="Float16_b"))]
    found = ran(works, [Given(x), Given(x)], rounding="none")
    np.testing.assert_array_equal(found.native, found.reference)
    np.testing.assert_array_equal(found.native, x * x)


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (mapped("exp", 0, to=TensorType((3,), "Float64")), "exp: operands in f64"),
        (mapped("add", 0, 0, to=TensorType((3,), "Int4")), "results in Int4"),
        (Work("tile.cast", (0,), {"to": "float8_e4m3fn"}, (TensorType((3,), "Float64"),)), "cast: cast to float8_e4m3fn"),
    ],
)
def test_what_has_no_code_runs_in_python(work: Work, reason: str):
    dtype, format = ("int8", "Int4") if work.results[0].format == "Int4" else ("float64", "Float64")
    found = ran([work], [Given(np.ones(3, dtype), format)])
    if work.op != "tile.cast":  # casts are left out of what `ran` tells
        assert found.refusals == ((work.op, reason),)
    np.testing.assert_array_equal(found.native, found.reference)
