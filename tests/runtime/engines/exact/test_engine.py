"""Whole models under the device's arithmetic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import ttc
from ttc.dialects.core.errors import Error
from ttc.dialects.core.numerics import FIDELITIES
from ttc.runtime.engines.exact.engine import ExactEngine
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.engines.table import Exact, engine_named
from ttc.runtime.tensors import Constants

ROUNDING = 1.1
"""How far the rounding of results to 16 bits may hide that HiFi4 adds to HiFi3 what lies below their last bit."""


def random(*shape: int, seed: int = 0) -> NDArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def save(path: Path, nodes: list[onnx.NodeProto], weights: dict[str, NDArray], x: tuple[int, ...], y: tuple[int, ...]) -> Path:
    graph = helper.make_graph(
        nodes,
        path.stem,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def mlp(folder: Path) -> Path:
    """Three layers, the hidden ones with relu: x[64, 96] -> y[64, 40]."""
    sizes = (96, 128, 128, 40)
    weights = {f"w{i}": random(m, n, seed=i) / np.float32(m**0.5) for i, (m, n) in enumerate(zip(sizes, sizes[1:], strict=False))}
    weights |= {f"b{i}": random(n, seed=9) for i, n in enumerate(sizes[1:])}
    nodes = [helper.make_node("Gemm", [f"h{i}", f"w{i}", f"b{i}"], [f"s{i}"], name=f"gemm{i}") for i in range(3)]
    nodes[1:1] = [helper.make_node("Relu", ["s0"], ["h1"])]
    nodes[3:3] = [helper.make_node("Relu", ["s1"], ["h2"])]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    return save(folder / "mlp.onnx", nodes, weights, (64, 96), (64, 40))


def cnn(folder: Path) -> Path:
    """Convolution, relu, product with a scale, residual convolution, mean, dense: x[2, 3, 16, 16] -> y[2, 24]."""
    weights = {
        "w0": random(32, 3, 3, 3) / np.float32(27**0.5),
        "w1": random(32, 32, 3, 3, seed=1) / np.float32(288**0.5),
        "scale": np.abs(random(1, 32, 1, 1, seed=2)),
        "w2": random(32, 24, seed=3) / np.float32(32**0.5),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Mul", ["r0", "scale"], ["m0"]),
        helper.make_node("Conv", ["m0", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c1", "m0"], ["a1"]),
        helper.make_node("Relu", ["a1"], ["r1"]),
        helper.make_node("GlobalAveragePool", ["r1"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w2"], ["y"]),
    ]
    return save(folder / "cnn.onnx", nodes, weights, (2, 3, 16, 16), (2, 24))


MODELS = {"mlp": (mlp, (64, 96)), "cnn": (cnn, (2, 3, 16, 16))}


@pytest.mark.parametrize("format", ["Float32", "Float16_b"])
@pytest.mark.parametrize("name", MODELS)
def test_more_fidelity_is_less_error(name: str, format: str, tmp_path: Path) -> None:
    build, shape = MODELS[name]
    model, x = build(tmp_path), random(*shape, seed=11)
    expected = ttc.load(saved(model, tmp_path, target="host", format="Float32")).run({"x": x})["y"].astype(np.float64)
    errors = []
    for fidelity in FIDELITIES:
        archive = saved(model, tmp_path, format=format, fidelity=fidelity)
        found = ttc.load(archive, exact=True).run({"x": x})["y"]
        errors.append(float(np.linalg.norm(found - expected) / np.linalg.norm(expected)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] * (1 if format == "Float32" else ROUNDING) > errors[3] > 0
    assert errors[0] > 2e-2
    assert errors[3] < 5e-3


def saved(model: Path, folder: Path, **options: str) -> Path:
    ttc.compile(model, **options).save(folder / "model.tti")
    return folder / "model.tti"


def test_fidelity_is_recorded_and_changes_nothing_else(tmp_path: Path) -> None:
    model, x = mlp(tmp_path), random(64, 96, seed=11)
    results = []
    for fidelity in ("LoFi", "HiFi4"):
        with ttc.load(saved(model, tmp_path, fidelity=fidelity)) as executor:
            assert executor.description.options["fidelity"] == fidelity
            assert {op.fidelity for graph in executor.netlist.graphs.values() for op in graph.ops} == {fidelity}
            results.append(executor.run({"x": x})["y"])
    assert np.array_equal(*results)


def test_stochastic_rounding(tmp_path: Path) -> None:
    archive, x = saved(mlp(tmp_path), tmp_path, format="Float16_b"), random(64, 96, seed=11)
    nearest = ttc.load(archive, exact=True).run({"x": x})["y"]
    first, again, other = (ttc.load(archive, exact=True, stochastic_rounding=seed).run({"x": x})["y"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert 0 < np.linalg.norm(first - nearest) / np.linalg.norm(nearest) < 2e-2


def test_stochastic_rounding_belongs_to_exact(tmp_path: Path) -> None:
    archive = saved(mlp(tmp_path), tmp_path)
    with pytest.raises(Error) as failure:
        ttc.load(archive, stochastic_rounding=1)
    assert (failure.value.code, failure.value.hint) == ("E0101", "add --exact; in Python exact=True")


def test_ops_on_the_host_are_computed_as_ever(affine) -> None:
    netlist, tensors, _ = affine
    graph = netlist.graphs["forward_0"]
    entries = {"x": random(4)}
    plans = [engine.prepare(graph, netlist, Constants(tensors)) for engine in (ExactEngine(), ReferenceEngine())]
    assert np.array_equal(*(plan.run(entries)["y"] for plan in plans))


def test_graphs_that_do_not_hang_together_are_refused(affine) -> None:
    netlist, _, _ = affine
    graph = netlist.graphs["forward_0"]
    broken = replace(graph, ops=tuple(replace(op, inputs=("ghost",)) for op in graph.ops))
    with pytest.raises(Error) as failure:
        ExactEngine().prepare(broken, netlist, Constants({}))
    assert failure.value.code == "E0601"


def test_the_engine_is_chosen_by_name_and_arithmetic() -> None:
    assert engine_named("reference", 1, Exact(5)) == ExactEngine(5)
    assert engine_named("reference", 1) == ReferenceEngine()
