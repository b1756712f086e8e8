"""Compilations whose chips divide a batch: results as on one chip, equal graphs on each, what keeps a batch whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ttc
from tests.ttc.compiler.test_driver_chips import chips_of, network
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.model import Host
from ttc.dialects.netlist.ops import graphs_of, programs_of
from ttc.dialects.netlist.replicas import first_replica
from ttc.dialects.netlist.to_model import to_model
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay import replay
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Remark, Watcher
from ttc.passes.nn_to_tile import stream_batch
from ttc.runtime.perf.run import run_cost


class Ear(Watcher):
    """Keeps remarks of one pass."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: list[Remark] = []

    def remark(self, remark: Remark) -> None:
        if remark.pass_name == self.name:
            self.heard.append(remark)


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    path = tmp_path / "layers.onnx"
    onnx.save(network(4), path)
    return path


def results(path: Path, engine: str, batch: int, **fields: Any) -> np.ndarray:
    """The result for a fixed input, by an archive that was saved and loaded."""
    archive = path.with_suffix(".tti")
    ttc.compile(path, batch=batch, **fields).save(archive)
    x = np.random.default_rng(1).normal(size=(batch, 96)).astype(np.float32)
    with ttc.load(archive, engine=engine) as executor:
        return executor.run({"x": x})["y"]


@pytest.mark.parametrize("chips", range(1, 9))
def test_results_are_those_of_one_chip(chips: int, layers: Path) -> None:
    """The native engine runs equal replicas as one, the reference engine runs each by itself."""
    wanted = results(layers, "native", 840)
    for engine in ("native", "reference"):
        found = results(layers, engine, 840, cluster="2x4", chips=chips)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_every_chip_has_an_equal_program(layers: Path) -> None:
    netlist = ttc.compile(layers, batch=64, cluster="2x4").netlist
    chips = chips_of(netlist)
    assert sorted(chips) == list(range(8))
    assert check(netlist) == []
    x, y = netlist.programs["forward"].arguments[0], netlist.programs["forward"].results[0]
    assert (x.shape, y.shape) == ((64, 96), (64, 96))
    for port in (x, y):
        assert [netlist.queues[name].chip for name in port.queues] == chips
        assert {netlist.queues[name].entries * netlist.queues[name].tensor.shape[-2] for name in port.queues} == {8}
    for graph in netlist.graphs.values():
        read = {name for op in graph.ops for name in op.inputs if name in netlist.queues}
        assert {netlist.queues[name].chip for name in read} == {graph.chip}
    keys = [q.key for q in netlist.queues.values() if q.kind == "parameter"]
    assert all(keys.count(key) == 8 for key in keys)  # each chip holds the weights, the archive has them once
    assert {netlist.queues[name].buffers for name in x.queues} == {netlist.queues["x"].buffers}
    alone = ttc.compile(layers, batch=8).netlist
    first = first_replica(netlist)
    assert list(first.graphs.values()) == list(alone.graphs.values())
    assert {n: q.buffers for n, q in first.queues.items()} == {n: q.buffers for n, q in alone.queues.items()}


def test_replicas_of_pipelines(layers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four samples on eight chips, each with room for a part of the weights: four replicas of two stages on chips that are linked."""
    weights = 3 * 96 * 96 * 4
    monkeypatch.setattr(stream_batch, "dram_bytes", lambda target: weights * 7 // 8)
    wanted = results(layers, "native", 4)
    for engine in ("native", "reference"):
        np.testing.assert_allclose(results(layers, engine, 4, cluster="2x4"), wanted, rtol=0, atol=1e-5)
    netlist = ttc.compile(layers, batch=4, cluster="2x4").netlist
    assert sorted(chips_of(netlist)) == list(range(8))
    assert len(netlist.programs["forward"].arguments[0].queues) == 4
    joined = {link[:2] for link in netlist.chip.links}
    for graph in netlist.graphs.values():
        for _, name in graph.writes:
            pair = tuple(sorted((graph.chip, netlist.queues[name].chip)))
            assert pair[0] == pair[1] or pair in joined


def test_host_segments_tables_and_inputs_of_all_samples(tmp_path: Path) -> None:
    """Ids of each sample in a table, a gather on the host, and a factor that all samples share."""
    model = network(3)
    rng = np.random.default_rng(3)
    model.graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 7]))
    model.graph.input.append(helper.make_tensor_value_info("factor", TensorProto.FLOAT, [96]))
    model.graph.initializer.append(numpy_helper.from_array(rng.normal(size=(100, 96)).astype(np.float32), "table"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axis"))
    model.graph.node.extend(
        [
            helper.make_node("Gather", ["table", "ids"], ["found"]),
            helper.make_node("ReduceMean", ["found", "axis"], ["mean"], keepdims=0),
            helper.make_node("ArgMax", ["y"], ["place"], axis=-1, keepdims=1),
            helper.make_node("GatherElements", ["y", "place"], ["peak"], axis=1),
            helper.make_node("Mul", ["mean", "peak"], ["scaled"]),
            helper.make_node("Mul", ["scaled", "factor"], ["z"]),
        ]
    )
    model.graph.output[0].name = "z"
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for batch in (32, 512):  # one microbatch for each replica, and two
        given = {
            "x": rng.normal(size=(batch, 96)).astype(np.float32),
            "ids": rng.integers(0, 100, (batch, 7)),
            "factor": rng.normal(size=96).astype(np.float32),
        }
        wanted = ttc.Executor(ttc.compile(path, batch=batch)).run(given)["z"]
        program = ttc.compile(path, batch=batch, cluster="2x4")
        assert check(program.netlist) == []
        assert any(isinstance(op.place, Host) for graph in program.netlist.graphs.values() for op in graph.ops)
        program.save(tmp_path / "model.tti")
        for engine in ("native", "reference"):
            with ttc.load(tmp_path / "model.tti", engine=engine) as executor:
                np.testing.assert_allclose(executor.run(given)["z"], wanted, rtol=0, atol=1e-5)


def test_what_the_choice_was_is_a_remark(layers: Path, tmp_path: Path) -> None:
    ear = Ear("stream-batch")
    compile_path(layers, resolve(CompileOptions, {"cluster": "2x4", "batch": "64"}), [ear])
    assert [r.message for r in ear.heard if r.kind == "applied"] == [
        "8 replicas of the program, each on a chip, divide a batch of 64",
        "a batch of 8 is streamed as 1 microbatches of 8",
    ]
    ear = Ear("divide-tensors")  # one sample is divided in no other way
    compile_path(layers, resolve(CompileOptions, {"cluster": "2x4", "batch": "1"}), [ear])
    (remark,) = ear.heard
    assert (remark.kind, remark.message.partition(":")[0]) == ("missed", "its tensors cannot be divided over 8 chips")
    model = network(2)
    model.graph.node.append(helper.make_node("Softmax", ["y"], ["z"], axis=0))
    model.graph.output[0].name = "z"
    path = tmp_path / "mixing.onnx"
    onnx.save(model, path)
    ear = Ear("stream-batch")
    compile_path(path, resolve(CompileOptions, {"cluster": "2x4", "batch": "64"}), [ear])
    assert ear.heard[0].message == "8 chips compute no parts of the batch: nn.softmax may mix samples"


def test_a_pipeline_where_one_is_asked_for(layers: Path) -> None:
    netlist = ttc.compile(layers, batch=64, target="n300", chips=2, parallel="pipeline").netlist
    assert len(netlist.programs["forward"].arguments[0].queues) == 1
    assert chips_of(netlist) == [0, 1]
    apart = {"cluster": ["chips 0,1,2,3 0-1x4 2-3x4"], "batch": 64}
    assert chips_of(ttc.compile(layers, **apart).netlist) == [0, 1, 2, 3]
    for fields in ({"parallel": "pipeline"}, {"batch": 1}):
        with pytest.raises(Error, match="no 4 chips of which each is linked to the next") as caught:
            ttc.compile(layers, **{**apart, **fields})
        assert caught.value.code == "E0101"


def test_chips_compute_at_the_same_time(layers: Path) -> None:
    one = run_cost(ttc.compile(layers, batch=32).netlist)
    eight = run_cost(ttc.compile(layers, batch=256, cluster="2x4").netlist)
    assert (eight.chips, eight.replicas, eight.samples) == (8, 8, 256)
    assert eight.device_cycles == one.device_cycles
    assert eight.host_cycles == pytest.approx(one.host_cycles)  # the host has a link to each card
    cards = run_cost(ttc.compile(layers, batch=256, target="n300", cluster="2x4").netlist)
    assert cards.host_cycles == pytest.approx(2 * eight.host_cycles)


def test_exports_give_the_same_numbers(tmp_path: Path) -> None:
    """As a Buda netlist: equal graphs on two devices, each with queues of its own."""
    path = tmp_path / "layers.onnx"
    onnx.save(network(3, 256), path)
    program = ttc.compile(path, batch=128, target="n300", chips=2, kernels="buda", format="Float16_b")
    exported = export(program.netlist)
    assert check_form(exported.form, "wormhole_b0") == []
    assert {graph.target_devices for graph in exported.form.graphs.values()} == {(0,), (1,)}
    x = np.random.default_rng(2).normal(size=(128, 256)).astype(np.float32)
    for found in replay(exported, program, {"x": x}):
        assert found.comparison.relative_l2 <= 5e-3, found.queue


def test_ir_can_be_resumed(layers: Path, tmp_path: Path) -> None:
    fields = {"cluster": "1x4", "batch": 64}
    whole = compile_path(layers, resolve(CompileOptions, fields))
    assert whole.package is not None
    for stage in ("tile", "netlist"):
        early = compile_path(layers, resolve(CompileOptions, {**fields, "to": stage}))
        text = tmp_path / "layers.mlir"
        text.write_text(early.text())
        resumed = compile_path(text, resolve(CompileOptions, {"weights": str(layers)}))
        assert resumed.package is not None
        assert resumed.package.netlist == whole.package.netlist


def test_ir_holds_the_first_replica(layers: Path) -> None:
    """A program of the IR says on which chips it runs; the plain netlist has the graphs of all."""
    module = compile_path(layers, resolve(CompileOptions, {"cluster": "1x4", "batch": 64, "to": "netlist"})).unit.module
    program = programs_of(module)["forward"]
    assert (program.replicas, program.replica_chips) == (4, (0, 1, 2, 3))
    assert len(to_model(module).graphs) == 4 * len(graphs_of(module))
    program.replica_chips = None
    with pytest.raises(Error, match="chips of its replicas are not decided") as caught:
        to_model(module)
    assert caught.value.code == "E0609"
