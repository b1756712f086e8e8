"""Regions against the numpy kernels of dialect nn: every function, every type, numbers at the edges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.elementwise import Computed
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype, storage_of_dtype
from ttc.runtime.engines.native.ir.regions import supported

COUNT = 61
"""Elements of an operand: whole vectors and a tail."""
FLOATS: tuple[Storage, ...] = ("f32", "f64")
INTEGERS: tuple[Storage, ...] = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
SIGNED: tuple[Storage, ...] = (*FLOATS, "i8", "i16", "i32", "i64")
NUMBERS = (*FLOATS, *INTEGERS)
BINARY = ("add", "sub", "mul", "div", "minimum", "maximum")
RELATIONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGIC = ("and", "or", "xor")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
EXACT_FLOAT = ("sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round")
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, -2.5, 8388609.0, -8388607.5, 1e30, -1e-30]


def operand(storage: Storage, seed: int) -> NDArray:
    """Numbers of a type: small ones, and those at its edges."""
    rng = np.random.default_rng(seed)
    dtype = array_dtype(storage)
    if storage == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype.kind == "f":
        return np.concatenate([rng.permutation(EDGES), rng.uniform(-9, 9, COUNT - len(EDGES))]).astype(dtype)
    info = np.iinfo(dtype)
    low = max(info.min, -9)
    return np.concatenate([np.array([info.min, info.max, 0, low, 1], dtype), rng.integers(low, 10, COUNT - 5).astype(dtype)])


def check(fn: str, storages: tuple[Storage, ...], attrs: Mapping[str, Plain] | None = None, *, level: str = "amx", rtol: float = 0) -> None:
    """One function against its kernel."""
    attrs = dict(attrs or {})
    xs = [operand(storage, seed) for seed, storage in enumerate(storages)]
    with np.errstate(all="ignore"):
        expected = np.asarray(kernel(f"nn.{fn}")(*xs, **{"dtype" if k == "to" else k: v for k, v in attrs.items()}))
    result = storage_of_dtype(expected.dtype)
    assert result is not None
    region = Region(storages, (RegionStep(fn, tuple(range(len(xs))), result, tuple(sorted(attrs.items()))),), len(xs))
    assert supported(region) is None, fn
    found = Computed(region, level)(*xs)
    message = f"{fn} {storages} {attrs} {level}"
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=message)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=message)


@pytest.mark.parametrize(
    ("level", "storages"), [("amx", ("f32", "i8", "u16", "u32", "i64")), ("avx2", ("f32", "i32")), ("generic", ("f64", "i8", "u64"))]
)
def test_arithmetic_of_all_numbers(level: str, storages: tuple[Storage, ...]):
    for storage in storages:
        for fn in BINARY:
            check(fn, (storage, storage), level=level)
        for fn in ("abs", "sign", "identity"):
            check(fn, (storage,), level=level)
        if storage in SIGNED:
            check("neg", (storage,), level=level)
    for storage in set(storages) & set(FLOATS):
        for fn in EXACT_FLOAT:
            check(fn, (storage,), level=level)


@pytest.mark.parametrize("fmod", [True, False])
def test_remainders(fmod: bool):
    for storage in ("f32", *INTEGERS):
        check("mod", (storage, storage), {"fmod": fmod})


@pytest.mark.parametrize(("level", "storages"), [("amx", (*NUMBERS, "bool")), ("avx2", ("f32", "i64")), ("generic", ("f64", "u8"))])
def test_relations_logic_and_choice(level: str, storages: tuple[Storage, ...]):
    for storage in storages:
        for fn in RELATIONS:
            check(fn, (storage, storage), level=level)
        check("not", (storage,), level=level)
        check("where", ("bool", storage, storage), level=level)
    for fn in LOGIC:
        check(fn, ("bool", "bool"), level=level)
        check(fn, ("f32", "i32"), level=level)
    check("where", ("f32", "f32", "f32"), level=level)
    for storage in FLOATS:
        check("is_nan", (storage,), level=level)
        check("is_inf", (storage,), level=level)


def test_bits():
    for storage in INTEGERS:
        for fn in BITS:
            check(fn, (storage, storage))
    for source, target in (("f32", "int32"), ("i32", "float32"), ("f64", "uint64"), ("u16", "int16")):
        check("bitcast", (source,), {"source": str(array_dtype(source)), "dtype": target})


@pytest.mark.parametrize(("level", "sources"), [("amx", (*NUMBERS, "bool")), ("generic", ("f32", "i8", "u64", "bool"))])
def test_casts_between_all_numbers(level: str, sources: tuple[Storage, ...]):
    for source in sources:
        for target in (*NUMBERS, "bool"):
            if array_dtype(source).kind != "f" or array_dtype(target).kind in "fb":
                check("cast", (source,), {"to": str(array_dtype(target))}, level=level)
    inside = np.array([0.0, -0.0, 1.5, -1.5, 100.9, -100.9, 127, 0.999], np.float32)
    for target in ("int8", "int16", "int32", "int64"):
        storage = storage_of_dtype(np.dtype(target))
        assert storage is not None
        region = Region(("f32",), (RegionStep("cast", (0,), storage, (("to", target),)),), 1)
        np.testing.assert_array_equal(Computed(region, level)(inside), inside.astype(target))


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_floats_beyond_an_integer_come_round(source: Storage, target: str):
    x = np.array([-3.7, -1, 255.9, 256, 300.5, -200, 70000, -70000, 2.0**31 - 128, -(2.0**31)], array_dtype(source))
    storage = storage_of_dtype(np.dtype(target))
    assert storage is not None
    for level in ("amx", "avx2", "generic"):
        region = Region((source,), (RegionStep("cast", (0,), storage, (("to", target),)),), 1)
        np.testing.assert_array_equal(Computed(region, level)(x), x.astype(np.int64).astype(target))


def test_casts_to_narrow_floats_round():
    x = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32) * 100
    found = Computed(Region(("f32",), (RegionStep("cast", (0,), "f32", (("to", "float16"),)),), 1))(x)
    np.testing.assert_array_equal(found, x.astype(np.float16).astype(np.float32))
    found = Computed(Region(("f32",), (RegionStep("cast", (0,), "f32", (("to", "bfloat16"),)),), 1))(x)
    np.testing.assert_array_equal(found.view(np.uint32) & 0xFFFF, 0)
    np.testing.assert_allclose(found, x, rtol=2**-8)


ACTIVATIONS: tuple[tuple[str, Mapping[str, Plain]], ...] = (
    ("relu", {}),
    ("leaky_relu", {"alpha": 0.1}),
    ("elu", {"alpha": 1.5}),
    ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    ("hard_swish", {}),
    ("clip", {"min": -1.5, "max": 2.25}),
    ("clip", {"max": 6}),
    ("clip", {}),
    ("sigmoid", {}),
    ("silu", {}),
    ("exp", {}),
    ("log", {}),
    ("tanh", {}),
)


@pytest.mark.parametrize("level", ["amx", "avx2", "generic"])
def test_activations(level: str):
    for fn, attrs in ACTIVATIONS:
        check(fn, ("f32",), attrs, level=level, rtol=1e-6)
    for storage in INTEGERS:
        check("relu", (storage,), level=level)
        check("clip", (storage,), {"min": -3.5, "max": 300.0}, level=level)


@pytest.mark.parametrize("zero", ["i8", "u8", "i16", "u16", "i32"])
def test_quantization(zero: Storage):
    region = Region(("f32", "f32", zero), (RegionStep("quantize", (0, 1, 2), zero),), 3)
    rng = np.random.default_rng(1)
    x = np.concatenate([EDGES, rng.uniform(-300, 300, COUNT - len(EDGES))]).astype(np.float32)
    scale, zeros = rng.uniform(0.01, 3, COUNT).astype(np.float32), operand(zero, 2)
    with np.errstate(all="ignore"):
        expected = np.asarray(kernel("nn.quantize")(x, scale, zeros))
    np.testing.assert_array_equal(Computed(region)(x, scale, zeros), expected)
    back = Region((zero, "f32", zero), (RegionStep("dequantize", (0, 1, 2), "f32"),), 3)
    np.testing.assert_array_equal(Computed(back)(expected, scale, zeros), np.asarray(kernel("nn.dequantize")(expected, scale, zeros)))


UNPROVEN = 1.7343744
"""A float32 by which quotients in two multiplications are not known to round as divisions do."""
SCALES = (1.0, 0.1, 0.0063806246, 3.9999998, 1.9999999, 2.0**-60, 2.0**60, 2.0**-70, 1e30, 0.017, UNPROVEN)
"""Scales by which bytes are quantized; two are too small and too large to be divided by in multiplications."""


@pytest.mark.parametrize("level", ["amx", "avx2", "generic"])
@pytest.mark.parametrize("zero", ["i8", "u8"])
def test_quantization_by_constants(level: str, zero: Storage) -> None:
    """Numbers are what they are where the scale is read from memory: on both sides of every half, too."""
    info, rng = np.iinfo(array_dtype(zero)), np.random.default_rng(7)
    for scale in [*SCALES, *np.exp(rng.uniform(-6, 3, 12))]:
        step = np.float32(scale)
        middle = int(rng.integers(info.min, info.max + 1))
        halves = np.arange(-530, 530).astype(np.float32) / np.float32(2) * step
        steps = (np.nextafter(halves, way, dtype=np.float32) for way in (np.float32(-np.inf), np.float32(np.inf)))
        x = np.concatenate([np.array(EDGES, np.float32), halves, *steps])
        x = np.concatenate([x, (rng.uniform(-300, 300, 4096 - len(x)) * step).astype(np.float32)])
        constants = (RegionStep("constant", (), "f32", (("value", float(step)),)), RegionStep("constant", (), zero, (("value", middle),)))
        region = Region(("f32",), (*constants, RegionStep("quantize", (0, 1, 2), zero)), 3)
        with np.errstate(all="ignore"):
            expected = np.asarray(kernel("nn.quantize")(x, step, np.array(middle, info.dtype)))
        np.testing.assert_array_equal(Computed(region, level)(x), expected)


@pytest.mark.parametrize("level", ["amx", "avx2", "generic"])
@pytest.mark.parametrize(("zero", "middle"), [("u8", 0), ("u8", 131), ("i8", 0), ("i8", -7)])
def test_codes_that_are_read_again_where_they_are_made(level: str, zero: Storage, middle: int) -> None:
    """What follows a code in a region, which may never be an integer then."""
    rng, dtype = np.random.default_rng(9), array_dtype(zero)
    for scale in (0.017, UNPROVEN, 2.0**-70):
        step = np.float32(scale)
        x = np.concatenate([np.array(EDGES, np.float32), (rng.uniform(-300, 300, 500) * step).astype(np.float32)])
        constants = (
            *(RegionStep("constant", (), "f32", (("value", float(step)),)), RegionStep("constant", (), zero, (("value", middle),))),
            *(RegionStep("constant", (), zero, (("value", 3),)), RegionStep("quantize", (0, 1, 2), zero)),
        )
        with np.errstate(all="ignore"):
            codes = np.asarray(kernel("nn.quantize")(x, step, np.array(middle, dtype)))
        cast = RegionStep("cast", (4,), "f32", (("to", "float32"),))
        same, other = (RegionStep("dequantize", (4, 1, at), "f32") for at in (2, 3))
        found = [Computed(Region(("f32",), (*constants, last), 5), level)(x) for last in (cast, same, other)]
        numbers = [codes.astype(np.float32), *(np.asarray(kernel("nn.dequantize")(codes, step, dtype.type(at))) for at in (middle, 3))]
        for values, expected in zip(found, numbers, strict=True):
            np.testing.assert_array_equal(values.view(np.uint32), expected.view(np.uint32))


def test_steps_round_to_what_holds_them():
    x = np.array([1.00390625, -3.7, 300.6, np.nan, 2.5, 1e9], np.float32)
    steps = (
        RegionStep("identity", (0,), "bf16"),
        RegionStep("add", (1, 0), "f32"),
        RegionStep("identity", (0,), "i8"),
        RegionStep("identity", (3,), "f32"),
    )
    for output, expected in ((2, [2.00390625, -7.3875, 600.6, np.nan, 5, 2e9]), (4, [1, -4, 127, 0, 2, 127])):
        found = Computed(Region(("f32",), steps, output))(x)
        np.testing.assert_allclose(found, expected, rtol=2**-8 if output == 2 else 0)


def test_operands_of_two_types_are_joined_as_numpy_does():
    a, b = operand("i32", 1), operand("f32", 2)
    with np.errstate(all="ignore"):
        expected = a * b
    assert expected.dtype == np.float64
    np.testing.assert_array_equal(Computed(Region(("i32", "f32"), (RegionStep("mul", (0, 1), "f64"),), 2))(a, b), expected)


def test_constants_are_values_of_their_storage():
    steps = (RegionStep("constant", (), "bf16", (("value", 1.001),)), RegionStep("add", (0, 1), "f32"))
    np.testing.assert_array_equal(Computed(Region(("f32",), steps, 2))(np.array([1, 2], np.float32)), [2, 3])
    alone = Region(("f32",), (RegionStep("constant", (), "i64", (("value", -5),)),), 1)
    np.testing.assert_array_equal(Computed(alone)(np.zeros(COUNT, np.float32)), np.full(COUNT, -5))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (RegionStep("nms", (0,), "f32"), "no kernel"),
        (RegionStep("exp", (0,), "f32", (("base", 2.0),)), "attributes"),
        (RegionStep("leaky_relu", (0,), "f32", (("alpha", "much"),)), "attributes"),
        (RegionStep("leaky_relu", (0,), "f32"), "attributes"),
        (RegionStep("clip", (0,), "f32", (("min", float("nan")),)), "attributes"),
        (RegionStep("clip", (0,), "f32", (("min", 10**400),)), "attributes"),
        (RegionStep("pow", (1, 0), "f64"), "f64 to the power of f32"),
        (RegionStep("add", (0,), "f32"), "attributes"),
        (RegionStep("exp", (1,), "f64"), "operands in f64"),
        (RegionStep("bitwise_and", (0, 0), "f32"), "operands in f32"),
        (RegionStep("cast", (0,), "f32", (("to", "float8_e5m2"),)), "cast to float8_e5m2"),
        (RegionStep("bitcast", (0,), "f64", (("source", "float32"), ("dtype", "float64"))), "another size"),
        (RegionStep("quantize", (0, 0, 0), "f32"), "f32 over f32 as f32"),
        (RegionStep("constant", (), "i8", (("value", 300),)), "its value has no place"),
        (RegionStep("constant", (), "f32", (("value", "text"),)), "its value is no number"),
    ],
)
def test_what_is_not_known_is_refused_before_code_is_made(step: RegionStep, reason: str):
    assert supported(Region(("f32", "f64"), (step,), 2)) == f"{step.fn}: {reason}"


def test_long_regions_are_refused():
    steps = tuple(RegionStep("neg", (i,), "f32") for i in range(200))
    assert supported(Region(("f32",), steps, 200)) == "200 steps"


@pytest.mark.parametrize("exponent", [1, 2, 3, -1, 0.5, -0.5, 4, -2.5])
def test_powers_of_known_exponents(exponent: float):
    x = np.concatenate([operand("f32", 1), np.array(EDGES, np.float32)])
    storage: Storage = "i64" if isinstance(exponent, int) else "f32"
    steps = (RegionStep("constant", (), storage, (("value", exponent),)), RegionStep("pow", (0, 1), "f32"))
    found = Computed(Region(("f32",), steps, 2))(x)
    with np.errstate(all="ignore"):
        expected = np.power(x, np.float32(exponent))
    np.testing.assert_allclose(found, expected, rtol=3e-7)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))


def test_whole_exponents_are_taken_as_real_ones():
    a, b = operand("f32", 1), operand("i32", 2)
    found = Computed(Region(("f32", "i32"), (RegionStep("pow", (0, 1), "f32"),), 2))(a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, np.asarray(kernel("nn.pow")(a, b)), rtol=3e-7)
