"""Products and convolutions of bytes in tiles of AMX, emulated, which are exact; and which products are multiplied so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.graphs import Given, emulated_tiles, ran
from tests.runtime.engines.native.guarded import outcomes
from tests.runtime.engines.native.guarded_cases import FAMILIES
from tests.runtime.engines.native.jobs.test_integer_products import PLAIN, SIZES, codes, exact, product
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.jobs.amx_integer_products import are_bytes_in_tiles
from ttc.runtime.engines.native.jobs.lowering import Lowering

in_tiles = partial(exact, kernel="AmxIntegerGemm")


@settings(max_examples=25)
@given(m=st.sampled_from(SIZES), k=st.sampled_from(SIZES), n=st.sampled_from(SIZES), flags=st.integers(0, 7), zero=st.integers(-300, 300))
def test_odd_shapes(m: int, k: int, n: int, flags: int, zero: int) -> None:
    formats = ("Int8" if flags & 1 else "UInt8", "Int8")
    a, b = codes((m, k), formats[0]), codes((n, k) if flags & 2 else (k, n), "Int8")
    attrs = {"transpose_a": False, "transpose_b": bool(flags & 2)}
    in_tiles(product(a, b, formats, (zero, 0), "tile.matmul", (m, n), attrs, constant=bool(flags & 4), tiles=True))


@pytest.mark.parametrize("level", ["avx512", "avx2", "generic"])
@pytest.mark.parametrize("zeros", [(0, 0), (255, 0), (-128, 0), (13, 0)])
def test_levels(level: str, zeros: tuple[int, int]) -> None:
    a, b = codes((67, 130), "UInt8"), codes((130, 35), "Int8")
    in_tiles(product(a, b, ("UInt8", "Int8"), zeros, "tile.matmul", (67, 35), PLAIN, tiles=True, level=level))


@pytest.mark.parametrize("threads", [1, 3])
def test_groups_of_rows_and_tasks(threads: int) -> None:
    a, b = codes((300, 257), "Int8"), codes((257, 600), "Int8")
    in_tiles(product(a, b, ("Int8", "Int8"), (-7, 0), "tile.matmul", (300, 600), PLAIN, tiles=True, threads=threads))


def _product_of_wide(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """a of 16 bits, of which nothing more is known, times b of 8."""
    wide = [TensorType(x.shape, "Int32") for x in (a, b)]
    works = [Work("tile.cast", (i,), {"to": "int32"}, (type_,)) for i, type_ in enumerate(wide)]
    works.append(Work("tile.matmul", (2, 3), dict(PLAIN), (TensorType(tuple(shape), "Int32"),)))
    return ran(works, [Given(a, "Int16"), Given(b, "Int8", constant=True)], tiles=True)


@pytest.mark.parametrize("span", [0, 1, 255, 256, 511, 65535])
def test_each_block_of_rows_has_one_byte_or_two(span: int, rng: np.random.Generator) -> None:
    low = -32768 if span == 65535 else -span + span // 3
    a = rng.integers(low, low + span + 1, (75, 70)).astype(np.int16)
    a[3, 5], a[4, 69] = low, low + span
    a[32:64] = np.clip(a[32:64], -3, 3)
    in_tiles(_product_of_wide(a, codes((70, 40), "Int8"), (75, 40)))


@pytest.mark.parametrize("value", [-32768, 32767, 255, -255, 127])
def test_extremes_wrap(value: int) -> None:
    a, b = np.full((17, 4099), value, np.int16), np.full((4099, 33), -128, np.int8)
    a[:, ::2] = -value if value > -32768 else 32767
    in_tiles(_product_of_wide(a, b, (17, 33)))


@pytest.mark.parametrize(("a", "b"), [((3, 5, 7), (7, 9)), ((2, 1, 5, 7), (3, 7, 9)), ((5, 7), (2, 3, 7, 9)), ((2, 33, 64), (2, 64, 40))])
def test_batches(a: Sequence[int], b: Sequence[int]) -> None:
    x, y = codes(a, "UInt8"), codes(b, "Int8")
    shape = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    in_tiles(product(x, y, ("UInt8", "Int8"), (7, 0), "tile.matmul", shape, PLAIN, tiles=True, constant=False))


@pytest.mark.parametrize("zero", [0, 77, 300])
@pytest.mark.parametrize(
    ("shape", "filter_", "moves"),
    [
        ((2, 7, 9, 16), (3, 3, 16, 20), {"pads": (1, 1, 1, 1)}),
        ((1, 9, 8, 3), (5, 5, 3, 17), {"pads": (2, 2, 2, 2), "strides": (2, 2)}),
        ((1, 9, 8, 67), (3, 3, 67, 33), {"pads": (1, 0, 2, 1), "dilations": (2, 2)}),
        ((2, 5, 5, 15), (1, 1, 15, 17), {}),
        ((1, 7, 7, 20), (1, 1, 20, 40), {"strides": (2, 2)}),
        ((1, 13, 14, 64), (3, 3, 64, 64), {"pads": (1, 1, 1, 1)}),
    ],
)
def test_convolutions(shape: tuple[int, ...], filter_: tuple[int, ...], moves: Mapping[str, Any], zero: int) -> None:
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, **moves}
    counts = window_counts(shape[1:3], windows(filter_[:2], attrs["strides"], attrs["pads"], attrs["dilations"]))
    x, w = codes(shape, "UInt8"), codes(filter_, "Int8")
    result = (shape[0], *counts, filter_[3])
    in_tiles(product(x, w, ("UInt8", "Int8"), (zero, 0), "tile.conv2d", result, attrs, tiles=True))


@pytest.mark.parametrize("op", ["matmul", "conv2d", "depthwise"])
@pytest.mark.parametrize("format", ["UInt8", "Int8"])
def test_codes_are_read_as_they_are(format: str, op: str) -> None:
    """Where they are 8 bits without a zero point, nothing makes them wider."""
    x, w = codes((1, 6, 7, 20), format), codes((3, 3, 1, 20) if op == "depthwise" else (3, 3, 20, 33), "Int8")
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 20 if op == "depthwise" else 1}
    name, shape = "tile.conv2d", (1, 6, 7, w.shape[3])
    if op == "matmul":
        x, w, attrs, name, shape = x.reshape(42, 20), codes((20, 33), "Int8"), PLAIN, "tile.matmul", (42, 33)
    wide = [Work("tile.cast", (i,), {"to": "int32"}, (TensorType(a.shape, "Int32"),)) for i, a in enumerate((x, w))]
    works = [*wide, Work(name, (2, 3), attrs, (TensorType(shape, "Int32"),))]
    found = ran(works, [Given(x, format), Given(w, "Int8", constant=True)], tiles=True)
    exact(found, "Depthwise" if op == "depthwise" else "AmxIntegerGemm")
    assert found.sources[-1] == {"UInt8": "u8", "Int8": "i8"}[format]


def test_numbers_of_more_than_a_byte_on_the_right_are_multiplied_in_vectors() -> None:
    a, b = codes((9, 33), "UInt8"), codes((33, 17), "UInt8")
    exact(product(a, b, ("UInt8", "UInt8"), (0, 7), "tile.matmul", (9, 17), PLAIN, tiles=True))


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("level", ["avx512", "avx2"])
def test_kernels_stay_inside(level: str, at_end: bool) -> None:
    graphs = [graph for graph in FAMILIES["integers"]() if "Int8" in graph.name][:: 3 if at_end else 4]
    found = outcomes(graphs, emulated_tiles(level), at_end=at_end)
    problems = [f"{o.name}: {o.problem}" for o in found if o.problem]
    assert not problems, "\n".join(problems[:20])
    assert len(found) == len(graphs)


def test_small_and_thin_products_are_no_matter_of_tiles() -> None:
    cpu = Cpu("x86-64", frozenset({"amx-tile", "amx-int8"}))
    n = cast("Lowering", SimpleNamespace(cpu=cpu))
    assert are_bytes_in_tiles(n, 128, 768, 768)
    assert not are_bytes_in_tiles(n, 1, 768, 768)
    assert not are_bytes_in_tiles(n, 16, 32, 64)
    assert not are_bytes_in_tiles(n, 128, 768, 1 << 20)
    assert not are_bytes_in_tiles(cast("Lowering", SimpleNamespace(cpu=Cpu("x86-64", frozenset()))), 128, 768, 768)
