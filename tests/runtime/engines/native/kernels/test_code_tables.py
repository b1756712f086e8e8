"""Regions that are cut at a code of 8 bits, and the tables of what follows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.runtime.engines.native.elementwise import Computed
from tests.runtime.engines.native.graphs import Given, ran
from tests.runtime.engines.native.jobs.test_integer_products import PLAIN, codes, exact
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.runtime.engines.native.codegen.code import Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.region import Region, RegionBuilder
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.kernels.code_tables import CodeTable, split_at_code
from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

LEVELS = ("amx", "avx2", "generic")


def after_a_code(code: Storage, result: Storage, more: int = 6, further: bool = False) -> Region:
    """sum * 0.1 as a code, and from there on an error function, several sums and what holds the result; perhaps with another input."""
    b = RegionBuilder(("i32", "f32"))
    scale, zero = b.number(0.1), b("constant", storage=code, value=3)
    value = b("quantize", b("mul", b("cast", 0, to="float32"), 1), scale, zero, storage=code)
    value = b("erf", b("dequantize", value, scale, zero))
    for _ in range(more):
        value = b("add", value, 1 if further else scale)
    return b.region(value if result == "f32" else b("cast", b("mul", value, b.number(40.0)), storage=result))


@pytest.mark.parametrize("result", ["f32", "i16", "u8", "i8", "i32", "bf16"])
@pytest.mark.parametrize("code", ["i8", "u8"])
def test_a_region_is_cut_at_its_code(code: Storage, result: Storage) -> None:
    region = after_a_code(code, result)
    found = split_at_code(region)
    assert found is not None
    assert (found.first.storage, found.rest.inputs, found.rest.storage) == (code, (code,), result)
    x, scale = np.arange(-2000, 2000, dtype=np.int32), np.full(4000, 0.01, np.float32)
    np.testing.assert_array_equal(Computed(found.rest)(Computed(found.first)(x, scale)), Computed(region)(x, scale))


def test_no_region_is_cut_for_a_few_steps_or_where_something_else_is_read() -> None:
    assert split_at_code(after_a_code("i8", "f32", more=5)) is None
    assert split_at_code(after_a_code("i8", "f32", further=True)) is None
    assert split_at_code(after_a_code("i8", "f64")) is None
    assert split_at_code(after_a_code("i16", "f32")) is None


@dataclass(frozen=True)
class LookUp(Kernel):
    """y = region(x) for 256 codes.  Words: addresses of x and y."""

    region: Region
    lanes: int

    def emit(self, f: Writer) -> None:
        table = CodeTable.emit(f, self.region)
        with f.loop(0, 256, self.lanes) as i:
            found = table.of(f, f.load(f.at(f.pointer(0), i, self.region.inputs[0]), self.region.inputs[0], self.lanes))
            f.write(found, f.at(f.pointer(1), i, self.region.storage), self.region.storage)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize(("code", "result"), [("i8", "f32"), ("u8", "i16"), ("i8", "u8"), ("u8", "i8"), ("i8", "bf16")])
def test_tables_hold_what_is_computed(level: str, lanes: int, code: Storage, result: Storage) -> None:
    parts = split_at_code(after_a_code(code, result))
    assert parts is not None
    info = np.iinfo(array_dtype(code))
    x = np.arange(info.min, info.max + 1).astype(info.dtype)
    kernel, y = LookUp(parts.rest, lanes), np.zeros(256, array_dtype(result))
    compiled_code = compiled([kernel], host_cpu().limited_to(level))
    words = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    Signature(compiled_code.address(kernel))(words.ctypes.data, 0, 1, None)
    np.testing.assert_array_equal(y, Computed(parts.rest, level)(x))


@pytest.mark.parametrize("level", ["avx512", "avx2"])
def test_products_end_in_tables(level: str, rng: np.random.Generator) -> None:
    """Sums times a scale for each column, as codes, through a function of these."""
    shape = (37, 45)
    real, code, wide = (TensorType(shape, name) for name in ("Float32", "Int8", "Int32"))
    scalars = {"Float32": 0.05, "Int8": -9, "Int32": 0}
    constants = [Work("ttc.constant", (), {"values": (value,)}, (TensorType((), name),)) for name, value in scalars.items()]
    steps = [("dequantize", (0, 1, 4), real), ("quantize", (5, 2, 3), code), ("dequantize", (6, 2, 3), real), ("erf", (7,), real)]
    steps += [(fn, (8 + i, 8 + i), real) for i, fn in enumerate(("add", "mul", "add", "mul", "add"))]
    steps += [("quantize", (13, 2, 3), code)]
    maps = [Work("tile.map", operands, {"fn": fn}, (type_,)) for fn, operands, type_ in steps]
    body = Function((wide, TensorType(shape[-1:], "Float32")), (*constants, *maps), (14,))
    works = [
        Work("tile.cast", (0,), {"to": "int32"}, (TensorType((37, 70), "Int32"),)),
        Work("tile.cast", (1,), {"to": "int32"}, (TensorType((70, 45), "Int32"),)),
        Work("tile.matmul", (3, 4), PLAIN, (wide,)),
        Work("tile.eltwise", (5, 2), {}, (code,), body),
    ]
    scale = (rng.uniform(0.2, 1, 45) * 1e-5).astype(np.float32)
    given = [Given(codes((37, 70), "UInt8"), "UInt8"), Given(codes((70, 45), "Int8"), "Int8", constant=True), Given(scale, constant=True)]
    found = ran(works, given, level=level, tiles=True)
    exact(found, "AmxIntegerGemm")
    assert found.kernels[-1] == "AmxIntegerGemm"
    assert len(np.unique(found.native)) > 3
