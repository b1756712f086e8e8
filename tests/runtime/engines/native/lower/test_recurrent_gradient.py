"""The gradient of recurrent layers against its numpy kernel in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, emulated_tiles, normal, ran
from tests.runtime.engines.native.guarded import Graph, outcomes
from tests.runtime.engines.native.guarded_graphs import graph_of
from tests.runtime.engines.native.lower.test_attention import rounded
from ttc.dialects.core.plain.functions import Plain, TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

LEVELS = ("amx", "avx2", "generic")
LSTM = {"sources": (0, 0, 1, 1, 1, 1), "targets": (1, 5, 4, 6, 7, 3), "sums": 4, "inner": 0}
GRU = {"sources": (0, 0, 0, 0, 0), "targets": (2, 3, 4, 5, 1), "sums": 4, "inner": 0}
RESETTING_GRU = {"sources": (0, 0, 0, 5, 5), "targets": (2, 4, 1, 3, 1), "sums": 3, "inner": 1}
RNN = {"sources": (0,), "targets": (2,), "sums": 1, "inner": 0}
CELLS: dict[str, tuple[dict[str, Plain], int, int]] = {
    "lstm": (LSTM, 2, 4),
    "gru": (GRU, 1, 3),
    "resetting gru": (RESETTING_GRU, 1, 3),
    "rnn": (RNN, 1, 1),
    "two inner sums": ({"sources": (0, 0, 0, 1, 8, 8, 8), "targets": (1, 4, 6, 5, 2, 3, 7), "sums": 4, "inner": 2}, 2, 3),
}
"""By cell: the terms, states, and sums that are multiplied."""


def operands(cell: str, steps: int, samples: int, size: int) -> list[NDArray]:
    """factors, r, dy and ends, such that cotangents keep their size from step to step."""
    terms, states, multiplied = CELLS[cell]
    sources = terms["sources"]
    assert isinstance(sources, tuple)
    scale = np.float32(1 / (multiplied * size) ** 0.5)
    factors = np.tanh(normal(steps, samples, len(sources) * size))
    return [factors, normal(multiplied * size, size) * scale, normal(steps, samples, size), normal(states, samples, size)]


def check(
    cell: str,
    sizes: tuple[int, int, int],
    *,
    reverse: bool = False,
    level: str = "amx",
    format: str = "Float32",
    precision: str = "float32",
    tiles: bool = False,
) -> None:
    """Compare both results with those of float64.  tiles: of AMX, emulated."""
    terms, states, _ = CELLS[cell]
    steps, samples, size = sizes
    given = operands(cell, *sizes)
    if format == "Float16_b":
        given = [rounded(x) for x in given]
    attrs: dict[str, Plain] = {**terms, "reverse": reverse}
    sums = terms["sums"]
    assert isinstance(sums, int)
    results = TensorType((steps, samples, sums * size), format), TensorType((states, samples, size), format)
    expected = kernel("nn.recurrent_gradient")(*(x.astype(np.float64) for x in given), **attrs)
    for i, wanted in enumerate(expected):
        works = [Work("tile.recurrent_gradient", (0, 1, 2, 3), attrs, results), Work("tile.relayout", (4 + i,), {}, (results[i],))]
        found = ran(works, [Given(x, format) for x in given], level=level, precision=precision, tiles=tiles)
        assert not found.refusals
        assert "RecurrentGradientStep" in found.kernels
        share = 2e-5 if format == "Float32" and precision == "float32" else 3e-2
        assert np.linalg.norm(found.native - wanted) <= share * np.linalg.norm(wanted)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 1, 17), (5, 15, 31), (3, 8, 70), (4, 33, 16)])
def test_odd_shapes(cell: str, sizes: tuple[int, int, int]) -> None:
    check(cell, sizes)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("reverse", [False, True])
def test_instruction_sets(cell: str, level: str, reverse: bool) -> None:
    check(cell, (6, 5, 37), level=level, reverse=reverse)


@pytest.mark.parametrize("precision", ["float32", "high", "bfloat16"])
@pytest.mark.parametrize("cell", CELLS)
def test_narrow_formats(cell: str, precision: str) -> None:
    check(cell, (9, 5, 34), format="Float16_b", precision=precision)


@pytest.mark.parametrize("cell", ["lstm", "resetting gru"])
@pytest.mark.parametrize("format", ["Float32", "Half"])
def test_products_in_bfloat16_of_wider_cotangents(cell: str, format: str) -> None:
    check(cell, (9, 5, 34), format=format, precision="bfloat16")


@pytest.mark.parametrize("format", ["Float32", "Float16_b"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("sizes", [(4, 8, 64), (3, 17, 32), (2, 33, 96)])
def test_steps_in_tiles(cell: str, sizes: tuple[int, int, int], format: str) -> None:
    check(cell, sizes, format=format, precision="bfloat16", tiles=True, reverse=sizes[0] == 3)


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_steps_in_tiles_stay_inside(at_end: bool) -> None:
    graphs = list[Graph]()
    for cell, steps, samples, size in (("lstm", 3, 8, 64), ("resetting gru", 2, 17, 32), ("gru", 1, 33, 96)):
        terms, states, multiplied = CELLS[cell]
        sources = terms["sources"]
        assert isinstance(sources, tuple)
        shapes = [(steps, samples, len(sources) * size), (multiplied * size, size), (steps, samples, size), (states, samples, size)]
        for format in ("Float32", "Float16_b"):
            graph = graph_of("recurrent_gradient", shapes, {**terms, "reverse": False}, format, held=(1,), precision="bfloat16")
            graphs.append(replace(graph, tolerance=0.1))  # errors grow from step to step
    found = outcomes(graphs, emulated_tiles(), at_end=at_end)
    assert not [f"{outcome.name}: {outcome.problem}" for outcome in found if outcome.problem]
    assert all("RecurrentGradientStep" in outcome.kernels for outcome in found)


def test_inner_products_of_odd_depth_are_in_float32() -> None:
    check("resetting gru", (5, 3, 33), precision="bfloat16")


def test_float64_runs_in_python() -> None:
    given = [x.astype(np.float64) for x in operands("rnn", 3, 2, 5)]
    results = TensorType((3, 2, 5), "Float64"), TensorType((1, 2, 5), "Float64")
    works = [
        Work("tile.recurrent_gradient", (0, 1, 2, 3), {**RNN, "reverse": False}, results),
        Work("tile.relayout", (4,), {}, results[:1]),
    ]
    found = ran(works, [Given(x, "Float64") for x in given])
    assert found.refusals == (("tile.recurrent_gradient", "gradients of recurrent layers of f64"),)
    np.testing.assert_array_equal(found.native, found.reference)
