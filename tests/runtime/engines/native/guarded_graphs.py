"""Makes graphs of one tile op over random operands, for tests on guarded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tests.runtime.conftest import Builder
from tests.runtime.engines.native.guarded import Graph
from ttc.dialects.core.formats import FORMATS, format_named
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.core.shapes import Shape
from ttc.dialects.netlist.model import Host, Op
from ttc.dialects.tile.facts import facts
from ttc.runtime.tensors import TensorSource

TOLERANCES = dict.fromkeys(FORMATS, 0.0) | {"Float32": 1e-4, "Float64": 1e-12, "Float16_b": 2e-2, "Half": 4e-3}


def graph_of(
    op: str,
    shapes: Sequence[Shape | None],
    attrs: Mapping[str, Plain] | None = None,
    formats: str | Sequence[str] = "Float32",
    *,
    limits: Mapping[int, tuple[int, int]] | None = None,
    values: Mapping[int, NDArray] | None = None,
    held: Sequence[int] = (),
    result: str = "",
    body: Function | None = None,
    precision: str = "float32",
    codes: str = "",
) -> Graph:
    """One op over operands of those shapes and formats.

    Args:    limits: of integers in an operand.  values: operands that are not random.  held: operands that the program holds.
             result: its format, by default the first's.
             codes: the format that operands are widened from, if any.
    """
    given = dict(attrs or {})
    formats = [formats] * len(shapes) if isinstance(formats, str) else list(formats)
    shape = facts()[op].shape(*shapes, **given)
    results = [TensorType(s, result or formats[0]) for s in (shape if isinstance(shape, list) else [shape])]
    type_ = results[0]
    types = [None if s is None else TensorType(s, f) for s, f in zip(shapes, formats, strict=True)]
    present = [i for i, type_ in enumerate(types) if type_ is not None]
    work = Work(f"tile.{op}", tuple(present.index(i) if i in present else None for i in range(len(types))), given, tuple(results), body)
    name = f"{op} {[list(s) if s else s for s in shapes]} {given or ''} {formats} -> {type_.format}{' held' if held else ''}{codes}"
    rng = np.random.default_rng(crc32(name.encode()))
    b, arrays, tensors, ops, names = Builder(), dict[str, NDArray](), dict[str, TensorSource](), list[Op](), list[str]()
    for i in present:
        wide = types[i]
        assert wide is not None
        operand = TensorType(wide.shape, codes or wide.format)
        fixed = (values or {}).get(i)
        source = TensorSource.of_array(_values(rng, operand, (limits or {}).get(i)) if fixed is None else fixed, operand.format)
        names.append(f"x{i}")
        b.queue(f"x{i}", "constant" if i in held else "input", operand, key=f"x{i}" if i in held else None)
        if i in held:
            tensors[f"x{i}"] = source
        else:
            arrays[f"x{i}"] = source.value()
        if codes or (operand.format in ("Float16_b", "Half") and i not in held):
            stored = Function((operand,), (Work("tile.cast", (0,), {"to": "int32"} if codes else {}, (wide,)),), (1,))
            ops.append(Op(f"stored{i}", "cast", (f"x{i}",), Host(), None, stored))
            names[-1] = f"stored{i}"
    function = Function(tuple(t for t in types if t is not None), (work,), (len(present),))
    ops.append(Op("op", op, tuple(names), Host(), None, function, precision=precision))  # pyright: ignore[reportArgumentType]
    b.queue("y", "output", type_, source="op")
    b.graph("g", ops, [("op", "y")])
    tolerance = max(TOLERANCES[f] for f in (*formats, type_.format, "Float16_b" if precision == "bfloat16" else type_.format))
    return Graph(name, b.netlist(), tensors, arrays, tolerance)


def _values(rng: np.random.Generator, type_: TensorType, limits: tuple[int, int] | None) -> NDArray:
    dtype = format_named(type_.format).compute
    if dtype.kind == "f":
        return rng.standard_normal(type_.shape).astype(dtype)
    low, high = limits or ((0, 2) if dtype == np.bool_ else (0 if dtype.kind == "u" else -9, 9))
    if type_.format in ("Int8", "UInt8") and limits is None:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max) + 1
    return rng.integers(low, high, type_.shape).astype(dtype)
