"""Nodes of a model compared one by one: which are off, which are fused into which, how many at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ttc
from ttc.accuracy.distances import Exactness
from ttc.comparison import layers as module
from ttc.comparison.layers import LayerComparison, Layers, compare_layers
from ttc.options import RunOptions
from ttc.passes.nn.fuse_activation import FuseActivation
from ttc.runtime.executor import Executor


def chain(length: int = 3) -> onnx.ModelProto:
    """x[4, 16] through layers of matmul, bias and gelu or tanh, in turn; the last softmax is the output."""
    rng = np.random.default_rng(length)
    weights: dict[str, Any] = {}
    nodes, value = [], "x"
    for i in range(length):
        weights[f"w{i}"] = (rng.standard_normal((16, 16)) / 2).astype(np.float32)
        weights[f"b{i}"] = rng.standard_normal(16).astype(np.float32)
        nodes.append(onnx.helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"], name=f"/{i}/MatMul"))
        nodes.append(onnx.helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], name=f"/{i}/Add"))
        nodes.append(onnx.helper.make_node("Tanh" if i % 2 else "Gelu", [f"a{i}"], [f"t{i}"], name=f"/{i}/Activation"))
        value = f"t{i}"
    nodes.append(onnx.helper.make_node("Softmax", [value], ["y"], name="/Softmax"))
    arguments = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 16]) for name in ("x", "y")]
    held = [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = onnx.helper.make_graph(nodes, "chain", arguments[:1], arguments[1:], held)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)


def compared(path: Path, exactness: Exactness = Exactness.FLOAT32, options: RunOptions | None = None, **compiling: Any) -> Layers:
    """The nodes of a model against the archive that it is compiled to."""
    program = ttc.compile(path, **{"target": "host", **compiling})
    inputs = {"x": np.random.default_rng(7).standard_normal((4, 16)).astype(np.float32)}
    with Executor(program) as executor:
        outputs = executor.run(inputs)
        return compare_layers(
            LayerComparison(executor.netlist, executor.description, path, inputs, outputs, options or RunOptions(), exactness)
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(chain(), tmp_path / "chain.onnx")
    return tmp_path / "chain.onnx"


def test_nodes_that_are_left_are_compared_and_the_others_are_named(path: Path) -> None:
    found = compared(path)
    assert [layer.node for layer in found.layers] == ["/0/Activation", "/1/Activation", "/2/Activation", "/Softmax"]
    assert [layer.op for layer in found.layers] == ["gelu", "tanh", "gelu", "softmax"]
    assert found.layers[1].fused == ("/1/MatMul", "/1/Add")
    assert (found.layers[-1].fused, found.folded, found.drift) == ((), (), {})
    assert all(layer.shape == (4, 16) and layer.within and layer.figures is not None for layer in found.layers)
    assert found.first_off is None


def test_the_first_node_that_is_off_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fusion that makes tanh a relu."""
    original = FuseActivation.apply

    def broken(self: Any, unit: Any, rewriter: Any) -> None:
        original(self, unit, rewriter)
        for op in unit.module.walk():
            if op.name == "nn.matmul" and "tanh" in str(op.properties.get("activation", "")):
                op.properties["activation"] = type(op.properties["activation"])("relu")

    monkeypatch.setattr(FuseActivation, "apply", broken)
    found = compared(path)
    assert found.first_off is not None
    assert found.first_off.node == "/1/Activation"
    assert [layer.within for layer in found.layers] == [True, False, False, False]


def test_an_archive_of_another_origin_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = module._Comparison._values
    monkeypatch.setattr(module._Comparison, "_values", lambda self, probes: {n: v * 2 for n, v in original(self, probes).items()})
    assert set(compared(path).drift) == {"y"}


def test_formats_show_where_accuracy_goes(path: Path) -> None:
    found = compared(path, Exactness.BITS8, target="n150", format="Bfp8_b")
    errors = [layer.figures.relative_l2 for layer in found.layers if layer.figures is not None]
    assert len(errors) == len(found.layers) >= 4
    assert all(1e-4 < error < 0.1 for error in errors)


@pytest.mark.parametrize("limit", ["BATCH_NODES", "BATCH_BYTES"])
def test_batches_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    onnx.save(chain(5), tmp_path / "chain.onnx")
    whole = compared(tmp_path / "chain.onnx")
    sizes: list[int] = []
    original = module._Comparison.of
    monkeypatch.setattr(module, limit, 2 if limit == "BATCH_NODES" else 2 * 4 * 16 * 4)
    monkeypatch.setattr(module._Comparison, "of", lambda self, names: sizes.append(len(names)) or original(self, names))
    parts = compared(tmp_path / "chain.onnx")
    assert sizes == [2, 2, 2]
    assert [replace(layer, figures=None) for layer in parts.layers] == [replace(layer, figures=None) for layer in whole.layers]
    assert parts.first_off is None


def test_a_node_that_cannot_be_an_output_has_a_reason_and_the_others_figures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = module._Comparison._values

    def refusing(self: Any, probes: Any) -> Any:
        if "/1/Activation" in probes:
            raise ttc.Error("E0601", "it does not fit")
        return original(self, probes)

    monkeypatch.setattr(module._Comparison, "_values", refusing)
    found = compared(path)
    assert [(layer.node, layer.reason) for layer in found.layers if layer.figures is None] == [("/1/Activation", "it does not fit")]
    assert len(found.layers) == 4


def test_programs_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)
    ).eval()
    torch.export.save(torch.export.export(model, (torch.zeros(4, 16),)), tmp_path / "model.pt2")
    program = ttc.compile(tmp_path / "model.pt2", target="host")
    (argument,) = [a.name for a in program.entry("forward").arguments if a.kind == "input"]
    inputs = {argument: np.random.default_rng(3).standard_normal((4, 16)).astype(np.float32)}
    with Executor(program) as executor:
        run = LayerComparison(
            executor.netlist, executor.description, tmp_path / "model.pt2", inputs, executor.run(inputs), RunOptions(), Exactness.FLOAT32
        )
        found = compare_layers(run)
    assert found.by == "evaluate"
    assert [layer.op for layer in found.layers][-1] == "matmul"
    assert "conv2d" in found.layers[0].fused
    assert all(layer.figures is not None and layer.within for layer in found.layers)
