"""Normalizations that write their rows in parts for the products that follow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.conftest import Builder
from tests.runtime.engines.native.graphs import Given, Ran, emulated_tiles, normal, ran
from tests.runtime.engines.native.guarded import Graph, outcomes
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Host, Op
from ttc.runtime.tensors import TensorSource

PRODUCT = {"transpose_a": False, "transpose_b": False}


def normalized(rows: int, depth: int, precision: str = "float32", *, x: NDArray | None = None) -> Ran:
    """Rows that are normalized and multiplied."""
    works = [
        Work("tile.layer_norm", (0, 1, 2), {"axis": -1, "eps": 1e-5}, (TensorType((rows, depth), "Float32"),)),
        Work("tile.matmul", (4, 3), PRODUCT, (TensorType((rows, 700), "Float32"),)),
    ]
    left = Given(normal(rows, depth) if x is None else x)
    weights = Given(normal(depth, 700), constant=True)
    return ran(works, [left, Given(normal(depth)), Given(normal(depth)), weights], precision=precision, tiles=True)


@pytest.mark.parametrize("precision", ["float32", "high"])
@pytest.mark.parametrize(("rows", "depth"), [(33, 257), (70, 320), (45, 400)])
def test_rows_are_written_in_parts_by_the_norm(precision: str, rows: int, depth: int) -> None:
    found = normalized(rows, depth, precision)
    assert found.kernels.count("SplitRows") == 1
    assert "SplitRows" not in found.each_run
    assert found.each_run.count("NormParts") == 1
    share = 2.0**-19 if precision == "float32" else 2.0**-13
    np.testing.assert_allclose(found.native, found.reference, rtol=0, atol=share * depth * 12)


def test_infinities_are_passed_on() -> None:
    x = normal(40, 300)
    x[3, 7], x[11] = np.inf, 0
    found = normalized(40, 300, x=x)
    assert "NormParts" in found.each_run
    assert np.isnan(found.native[3]).all()
    rest = np.delete(np.arange(40), 3)
    np.testing.assert_allclose(found.native[rest], found.reference[rest], rtol=0, atol=0.01)


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_kernels_stay_inside(at_end: bool) -> None:
    graphs = [_graph(rows, depth, precision) for rows, depth in ((33, 257), (64, 320)) for precision in ("float32", "high")]
    found = outcomes(graphs, emulated_tiles(), at_end=at_end)
    assert not [outcome.problem for outcome in found if outcome.problem]
    assert all("NormParts" in outcome.kernels for outcome in found)


def _graph(rows: int, depth: int, precision: str) -> Graph:
    """A norm and a product, with the weights in the program."""
    type_, result = TensorType((rows, depth), "Float32"), TensorType((rows, 700), "Float32")
    held = {"scale": normal(depth), "bias": normal(depth), "weights": normal(depth, 700)}
    b, types = Builder(), [type_, *(TensorType(array.shape, "Float32") for array in held.values())]
    b.queue("x", "input", type_)
    for name, array in held.items():
        b.queue(name, "constant", TensorType(array.shape, "Float32"), key=name)
    b.queue("y", "output", result, source="op")
    works = (
        Work("tile.layer_norm", (0, 1, 2), {"axis": -1, "eps": 1e-5}, (type_,)),
        Work("tile.matmul", (4, 3), PRODUCT, (result,)),
    )
    work = Function(tuple(types), works, (5,))
    op = Op("op", "op", ("x", *held), Host(), None, work, precision=precision)  # pyright: ignore[reportArgumentType]
    b.graph("g", [op], [("op", "y")])
    tensors = {name: TensorSource.of_array(array, "Float32") for name, array in held.items()}
    return Graph(f"norm and product {rows} x {depth}, {precision}", b.netlist(), tensors, {"x": normal(rows, depth)}, 1e-3)
