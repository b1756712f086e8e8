"""Names of variables, and what cannot be one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.tflite.cases import imported, normal
from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.importers.tflite import import_tflite

X = normal(2, 3)
HANDLE = {"container": "", "shared_name": "total"}


def counter(*, name: str = "total", output: str = "y", first: Tensor | None = None, init: tuple[Op, ...] = ()) -> bytes:
    """A variable that x is added to, and a weight that may have its name."""
    first = first or Tensor("first", X.shape, data=np.zeros(X.shape, np.float32))
    handle = {"container": "", "shared_name": name}
    tensors = [
        Tensor("x", X.shape),
        Tensor("v", (), "RESOURCE"),
        Tensor("held", X.shape),
        Tensor("moved", X.shape),
        Tensor("total", X.shape, data=np.full(X.shape, 5, np.float32)),
        Tensor(output, X.shape),
    ]
    ops = [
        Op("CALL_ONCE", [], [], {"init_subgraph_index": 1}),
        Op("VAR_HANDLE", [], ["v"], handle),
        Op("READ_VARIABLE", ["v"], ["held"]),
        Op("ADD", ["held", "x"], ["moved"]),
        Op("ASSIGN_VARIABLE", ["v", "moved"], []),
        Op("ADD", ["moved", "total"], [output]),
    ]
    start = [Op("VAR_HANDLE", [], ["v"], handle), *init, Op("ASSIGN_VARIABLE", ["v", first.name], [])]
    return model(Graph(tensors, ["x"], [output], ops), Graph([Tensor("v", (), "RESOURCE"), first], [], [], start))


def test_a_variable_and_a_weight_of_one_name(tmp_path: Path) -> None:
    np.testing.assert_allclose(imported(counter(), {"x": X}, tmp_path)[0], X + 5, rtol=1e-6, atol=1e-5)


def test_a_result_with_the_name_of_an_update(tmp_path: Path) -> None:
    imported(counter(name="v", output="v/next"), {"x": X}, tmp_path)
    (function,) = entry_functions(import_tflite(tmp_path / "model.tflite")[0])
    assert [(p.name, p.updates) for p in ports(function)[1]] == [("v/next", None), ("v/next'", "v")]


@pytest.mark.parametrize(
    "first",
    [
        Tensor("first", X.shape),
        Tensor("first", (9,), data=np.zeros(9, np.float32)),
        Tensor("first", X.shape, "INT32", np.zeros(X.shape, np.int32)),
        Tensor("first", X.shape, "STRING", b"\0" * 24),
    ],
)
def test_values_to_start_with(first: Tensor, tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        imported(counter(first=first), {"x": X}, tmp_path)
    assert caught.value.code in ("E0202", "E0401", "E0403")


def test_only_constants_are_set_before_the_first_run(tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot be imported") as caught:
        imported(counter(init=(Op("EXP", ["first"], ["first"]),)), {"x": X}, tmp_path)
    assert "before the first run" in str(caught.value.excerpt)


def test_a_handle_is_no_operand(tmp_path: Path) -> None:
    tensors = [Tensor("x", X.shape), Tensor("v", (), "RESOURCE"), Tensor("y", X.shape)]
    graph = Graph(tensors, ["x"], ["y"], [Op("VAR_HANDLE", [], ["v"], HANDLE), Op("EXP", ["v"], ["y"])])
    for broken in (graph, replace(graph, ops=[Op("READ_VARIABLE", ["x"], ["y"])])):
        with pytest.raises(Error) as caught:
            imported(model(broken), {"x": X}, tmp_path)
        assert caught.value.code == "E0203"
