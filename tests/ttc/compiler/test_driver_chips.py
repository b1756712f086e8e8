"""Compilations for pipelines of several chips: results as on one, queues on the chip that reads them, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ttc
from ttc.cli import main
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.numerics import DRAM_PLACEMENTS
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.model import Grid, Netlist
from ttc.dialects.netlist.occupancy import occupancy
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay import replay
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Remark, Watcher
from ttc.runtime.perf.run import run_cost

SAMPLES = Path(__file__).parents[2] / "data" / "device_descriptors"
LOOP = SAMPLES / "wormhole_2x4_sequential_cluster.yaml"


def network(layers: int, width: int = 96) -> onnx.ModelProto:
    """x, then layers x = relu(x @ w + b) of weights of their own but for the last, which has the first one's, then x + input."""
    rng = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for layer in range(layers):
        name = f"w{layer % (layers - 1)}"
        nodes += [
            helper.make_node("MatMul", [value, name], [f"m{layer}"], name=f"/layer{layer}/MatMul"),
            helper.make_node("Relu", [f"m{layer}"], [f"r{layer}"], name=f"/layer{layer}/Relu"),
        ]
        value = f"r{layer}"
    for layer in range(layers - 1):
        weights.append(numpy_helper.from_array((rng.standard_normal((width, width)) / 8).astype(np.float32), f"w{layer}"))
    nodes.append(helper.make_node("Add", [value, "x"], ["y"], name="/Add"))
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", width])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    path = tmp_path / "layers.onnx"
    onnx.save(network(8), path)
    return path


def results(path: Path, batch: int = 256, **fields: Any) -> tuple[np.ndarray, Netlist]:
    """The result for a fixed input, by an archive that was saved and loaded, and its netlist."""
    archive = path.with_suffix(".tti")
    ttc.compile(path, batch=batch, **fields).save(archive)
    x = np.random.default_rng(1).normal(size=(batch, 96)).astype(np.float32)
    with ttc.load(archive) as executor:
        return executor.run({"x": x})["y"], executor.netlist


def chips_of(netlist: Netlist) -> list[int]:
    """Chips of the device graphs, in order."""
    return [g.chip for g in netlist.graphs.values() if any(isinstance(op.place, Grid) for op in g.ops)]


@pytest.mark.parametrize("format_", ["Float32", "Float16_b"])
@pytest.mark.parametrize(
    ("fields", "chips"),
    [
        ({"target": "n300", "chips": 2, "parallel": "pipeline"}, [0, 1]),
        ({"target": "n150", "cluster": LOOP, "chips": 3, "parallel": "pipeline"}, [0, 1, 2]),
        ({"cluster": LOOP, "parallel": "pipeline"}, list(range(8))),
    ],
)
def test_results_are_those_of_one_chip(fields: dict[str, object], chips: list[int], format_: str, layers: Path) -> None:
    wanted, _ = results(layers, target="n150", format=format_)
    found, netlist = results(layers, format=format_, **fields)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 if format_ == "Float32" else 2e-2 * np.abs(wanted).max())
    used = list(dict.fromkeys(chips_of(netlist)))
    assert used == chips[: len(used)]  # more chips than make the slowest stage shorter stay without work
    assert len(used) >= min(len(chips), 5)
    assert chips_of(netlist) == sorted(chips_of(netlist))


def test_every_chip_reads_its_own_dram(layers: Path) -> None:
    """The input is used at both ends of the network, and so is a weight: each chip has a queue of its own for them."""
    _, netlist = results(layers, target="n300", chips=2, parallel="pipeline")
    for graph in netlist.graphs.values():
        read = {name for op in graph.ops for name in op.inputs if name in netlist.queues}
        assert {netlist.queues[name].chip for name in read if netlist.queues[name].location == "dram"} <= {graph.chip}
    shared = [q for q in netlist.queues.values() if q.key is not None and q.key.startswith("w0")]
    assert sorted(q.chip for q in shared) == [0, 1]
    assert [q.chip for q in netlist.queues.values() if q.name.startswith("x")] == [0, 1]
    assert [op.type for graph in netlist.graphs.values() for op in graph.ops if op.name == "x_pass"] == ["map"]
    assert all(q.lifetime is None for q in netlist.queues.values() if q.name.startswith("x_chip"))


def test_a_batch_passes_in_rounds(layers: Path) -> None:
    """Graphs run in a loop on parts of the batch; queues between chips hold two rounds, those of the host all of them."""
    onnx.save(network(8, 512), layers)
    netlist = ttc.compile(layers, batch=8192, target="n300", chips=2, parallel="pipeline").netlist
    (program,) = netlist.programs.values()
    assert program.instructions[0].opcode == "loop"
    turns = int(program.instructions[0].args[0])
    counts = {graph.input_count for graph in netlist.graphs.values()}
    assert len(counts) == 1
    each = counts.pop()
    assert turns >= 2
    x = netlist.queues["x"]
    assert x.entries == turns * each
    between = [q for q in netlist.queues.values() if q.kind == "edge" and q.chip == 1 and q.lifetime is None]
    assert {q.entries for q in between} == {2 * each}


def test_two_chips_are_faster(layers: Path) -> None:
    onnx.save(network(12, 1024), layers)
    one, two = (
        run_cost(ttc.compile(layers, batch=32768, target="n300", format="Bfp8_b", chips=n, parallel="pipeline").netlist) for n in (1, 2)
    )
    assert (one.chips, two.chips) == (1, 2)
    assert two.device_cycles < 0.7 * one.device_cycles


def test_exports_give_the_same_numbers(layers: Path) -> None:
    """As a Buda netlist: graphs on two devices, pointers that move in the loop of the rounds."""
    onnx.save(network(3, 1024), layers)
    program = ttc.compile(layers, batch=512, target="n300", chips=2, parallel="pipeline", kernels="buda", format="Float16_b")
    exported = export(program.netlist)
    assert check_form(exported.form, "wormhole_b0") == []
    assert {graph.target_devices for graph in exported.form.graphs.values()} == {(0,), (1,)}
    assert [step.opcode for step in program.netlist.programs["forward"].instructions][0] == "loop"
    x = np.random.default_rng(2).normal(size=(512, 1024)).astype(np.float32)
    for found in replay(exported, program, {"x": x}):
        assert found.comparison.relative_l2 <= 5e-3, found.queue


def test_resuming_needs_no_cluster_file(layers: Path, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_bytes(LOOP.read_bytes())
    fields = {"cluster": str(cluster), "chips": 4, "batch": 64, "parallel": "pipeline"}
    whole = compile_path(layers, resolve(CompileOptions, fields))
    early = compile_path(layers, resolve(CompileOptions, {**fields, "to": "tile"}))
    cluster.unlink()
    text = tmp_path / "layers.mlir"
    text.write_text(early.text())
    assert str(tmp_path) not in early.text()
    resumed = compile_path(text, resolve(CompileOptions, {"weights": str(layers)}))
    assert resumed.package is not None
    assert whole.package is not None
    assert resumed.package.netlist == whole.package.netlist


def test_compilation_is_deterministic(layers: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        ttc.compile(layers, batch=128, target="n300", chips=2, parallel="pipeline").save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": "n150", "chips": 2}, "target n150 has 1 chip, not 2"),
        ({"target": "n300", "chips": 3}, "target n300 has 2 chips, not 3"),
        ({"target": "host", "chips": 2}, "target host has 1 chip, not 2"),
        ({"target": "e150", "cluster": LOOP}, "chips of target e150 have no Ethernet links"),
        ({"cluster": LOOP, "chips": 9}, "target n150 has 8 chips, not 9"),
        ({"cluster": SAMPLES / "grayskull_10x12.yaml"}, "field '.*' is unknown"),
    ],
)
def test_chips_that_are_not_there(fields: dict[str, object], message: str, layers: Path) -> None:
    with pytest.raises(Error, match=message) as caught:
        ttc.compile(layers, batch=2, **fields)
    assert caught.value.code == "E0101"


def test_a_chip_begins_where_the_user_says(layers: Path) -> None:
    rules = [{"name": "/layer2/*", "chip_break": True}]
    netlist = ttc.compile(layers, batch=64, target="n300", chips=2, placement_file=rules).netlist
    first = [op for graph in netlist.graphs.values() if graph.chip == 0 for op in graph.ops]
    assert [op.name for op in first if op.type == "matmul"] == ["layer0_MatMul", "layer1_MatMul"]
    with pytest.raises(Error, match="chips begin at '/layer2/") as caught:
        ttc.compile(layers, batch=64, target="n300", placement_file=rules)
    assert caught.value.code == "E0504"


def test_the_command_line(layers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_ = ["compile", str(layers), "-o", str(tmp_path / "out.tti"), "--batch", "64"]
    assert main([*compile_, "--target", "n300", "--chips", "2"]) == 0
    assert "on 2 chips" in capsys.readouterr().out
    assert main(["info", str(tmp_path / "out.tti"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["chips"], [use["chip"] for use in found["memory"]]) == ([0, 1], [0, 1])
    assert {epoch["chip"] for epoch in found["epochs"]} == {0, 1}
    for more, code in ((["--chips", "0"], "E0101"), (["--chips", "two"], "E0101"), (["--cluster", str(tmp_path / "none.yaml")], "E0102")):
        assert main([*compile_, *more]) == 2
        assert f"error[{code}]" in capsys.readouterr().err


def test_more_chips_than_ops_stay_idle(layers: Path) -> None:
    onnx.save(network(2), layers)
    remarks: list[Remark] = []

    class Ear(Watcher):
        def remark(self, remark: Remark) -> None:
            remarks.append(remark)

    compile_path(layers, resolve(CompileOptions, {"cluster": str(LOOP), "batch": 4, "parallel": "pipeline"}), [Ear()])
    missed = [r.message for r in remarks if r.pass_name == "assign-chips" and r.kind == "missed"]
    assert len(missed) == 1
    assert missed[0].endswith("of 8 chips would not make the slowest stage of its 3 ops shorter")


@pytest.mark.parametrize("policy", DRAM_PLACEMENTS)
def test_every_way_of_choosing_channels(policy: str, layers: Path) -> None:
    wanted, _ = results(layers, target="n150", batch=32)
    found, netlist = results(layers, target="n300", chips=2, parallel="pipeline", batch=32, dram_placement=policy)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    assert all(use.peak_bytes < 2 * use.bound_bytes for use in occupancy(netlist))
    with pytest.raises(Error, match="has no DRAM channels"):
        ttc.compile(layers, batch=2, target="host", dram_placement=policy)


def test_states_keep_a_program_on_one_chip(tmp_path: Path) -> None:
    path = tmp_path / "counter.mlir"
    path.write_text(COUNTER)
    netlist = ttc.compile(path, target="n300", chips=2).netlist
    assert set(chips_of(netlist)) == {0}
    with pytest.raises(Error, match="no chip can begin at 'y': the program has states") as caught:
        ttc.compile(path, target="n300", chips=2, placement_file=[{"name": "y", "chip_break": True}])
    assert caught.value.code == "E0504"


COUNTER = """
builtin.module attributes {ttc.stage = "import", ttc.model = "counter"} {
  func.func @forward(%x: tensor<4xf32> {ttc.name = "x"})
      -> (tensor<4xf32> {ttc.name = "y"}, tensor<4xf32> {ttc.name = "s", ttc.updates = "s"}) {
    %s = ttc.state() {sym = "s", value = #ttc.literal<[0.0, 0.0, 0.0, 0.0], tensor<4xf32>>} : () -> tensor<4xf32> loc("s")
    %n = nn.add(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("n")
    %y = nn.exp(%n) : (tensor<4xf32>) -> tensor<4xf32> loc("y")
    func.return %y, %n : tensor<4xf32>, tensor<4xf32>
  }
}
"""
