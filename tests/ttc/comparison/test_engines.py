"""Engines compared op by op: right ones, a wrong kernel, kernels that are wrong together, errors that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import ttc
from tests.ttc.residual import residual_model
from ttc.comparison.engines import Agreement, compared_program
from ttc.dialects.netlist.model import Graph, Netlist, Op
from ttc.runtime.engines.base import Engine, Plan
from ttc.runtime.engines.into import write_into
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.executor import Executor
from ttc.runtime.tensors import Constants

X = {"x": np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)}


@dataclass(frozen=True)
class Forgetful:
    """Forgets the activation of matmuls, in graphs that have an op of the type `beside`, if one is named."""

    beside: str | None = None
    name: str = "forgetful"
    joins_graphs: bool = True

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        forgets = self.beside is None or any(op.type == self.beside for op in graph.ops)
        ops = tuple(_without_activation(op) for op in graph.ops) if forgets else graph.ops
        return ReferenceEngine().prepare(replace(graph, ops=ops), netlist, constants)


def _without_activation(op: Op) -> Op:
    works = [replace(w, attrs={k: v for k, v in w.attrs.items() if k != "activation"}) for w in op.work.works]
    return replace(op, work=replace(op.work, works=tuple(works)))


@dataclass(frozen=True)
class Drifting:
    """Every op of a graph makes what it writes larger by a few hundred-thousandths."""

    name: str = "drifting"
    joins_graphs: bool = True

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        return Drift(ReferenceEngine().prepare(graph, netlist, constants), 1 + 6e-5 * len(graph.ops))


@dataclass(frozen=True)
class Drift:
    plan: Plan
    factor: float

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        return write_into({name: value * np.float32(self.factor) for name, value in self.plan.run(entries).items()}, into or {})


def compared(folder: Path, engine: Engine, target: str = "n150", **options: str) -> tuple[Agreement, dict[str, NDArray]]:
    path = folder / "residual.onnx"
    onnx.save(residual_model(), path)
    program, found = compared_program(ttc.compile(path, target=target, **options), engine)
    with Executor(program) as executor:
        return found, executor.run(X)


@pytest.mark.parametrize("target", ["host", "n150"])
def test_an_engine_agrees_with_itself(target: str, tmp_path: Path) -> None:
    found, outputs = compared(tmp_path, ReferenceEngine(), target)
    assert (found.within, found.wrong, found.together) == (True, [], [])
    assert [finding.figures.max_abs for finding in (*found.ops, *found.graphs)] == [0.0] * (len(found.ops) + len(found.graphs))
    with Executor(ttc.compile(tmp_path / "residual.onnx", target=target)) as executor:
        np.testing.assert_allclose(executor.run(X)["y"], outputs["y"], atol=1e-5)


def test_a_wrong_kernel_is_named(tmp_path: Path) -> None:
    found, _ = compared(tmp_path, Forgetful())
    assert not found.within
    (wrong,) = found.wrong
    assert len(wrong.ops) == 1
    assert wrong.location[-1] == "relu"
    assert wrong.figures.max_abs > 1
    assert [graph.within for graph in found.graphs] == [False]


def test_kernels_that_are_wrong_together(tmp_path: Path) -> None:
    found, _ = compared(tmp_path, Forgetful(beside="softmax"))
    assert all(finding.within for finding in found.ops)
    (wrong,) = found.wrong
    assert wrong.location == ("softmax",)
    assert list(dict.fromkeys(op.rpartition("_")[0] or op for op in wrong.ops)) == ["project", "transpose", "mirror", "softmax"]


def test_errors_that_add_up(tmp_path: Path) -> None:
    found, _ = compared(tmp_path, Drifting())
    assert all(finding.within for finding in found.ops)
    (together,) = found.together
    assert len(together.ops) == 2
    assert not found.within


def test_a_precision_below_float32_has_a_bound_of_its_own(tmp_path: Path) -> None:
    found, _ = compared(tmp_path, Drifting(), precision="high")
    assert found.within


@dataclass(frozen=True)
class Nudged:
    """The reference engine, which reads the next larger number for each."""

    name: str = "nudged"
    joins_graphs: bool = True

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        return Nudge(ReferenceEngine().prepare(graph, netlist, constants))


@dataclass(frozen=True)
class Nudge:
    plan: Plan

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        return self.plan.run({name: np.nextafter(x, np.inf, dtype=x.dtype) for name, x in entries.items()}, into)


@pytest.mark.parametrize(("factor", "unsteady"), [(1e5, True), (1.0, False)])
def test_what_rounding_decides_is_not_called_wrong(factor: float, unsteady: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    """What the addition of a large number cuts off a small one, times a large number."""
    rows = [("Add", "x", "b", "sum"), ("Sub", "sum", "b", "cut"), ("Sub", "cut", "x", "rest"), ("Mul", "rest", "factor", "y")]
    nodes = [onnx.helper.make_node(op, [left, right], [result]) for op, left, right, result in rows]
    ports = [onnx.helper.make_tensor_value_info(name, 1, [64]) for name in ("x", "b", "y")]
    values = [onnx.numpy_helper.from_array(np.array(factor, np.float32), "factor")]
    graph = onnx.helper.make_graph(nodes, "m", ports[:2], ports[2:], values)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    program, found = compared_program(ttc.compile(tmp_path / "m.onnx", target="host"), Nudged())
    with Executor(program) as executor:
        executor.run({"x": rng.standard_normal(64).astype(np.float32), "b": np.full(64, 1000, np.float32)})
    (whole,) = found.graphs
    assert (whole.figures.within, whole.unsteady, whole.within) == (not unsteady, unsteady, True)
