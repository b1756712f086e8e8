"""Ports by which weights are loaded: the documented pair, compiled programs, kernels whose firmware routes by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import ttc
from tests.passes.module_pairs import check_pair
from tests.ttc.compiler.test_driver_chips import network
from ttc.compiler.driver import compile_path
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.from_model import from_model
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.to_model import to_model
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Remark, Watcher
from ttc.passes.netlist.choose_ports import ChoosePorts
from ttc.runtime.perf.run import run_cost


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "layers.onnx"
    onnx.save(network(3), found)
    return found


def test_docstring() -> None:
    unit, report = check_pair(ChoosePorts())
    assert report.remarks == []  # one channel gives no more than its rate
    assert unit.target.name == "n150"


@pytest.mark.parametrize("target", ["n150", "p150", "e150"])
def test_weights_of_a_compiled_program_have_ports(target: str, path: Path, tmp_path: Path) -> None:
    program = ttc.compile(path, target=target, batch=64)
    netlist = program.netlist
    assert check(netlist) == []
    ported = {name: queue for name, queue in netlist.queues.items() if queue.ports}
    assert ported
    assert all(queue.type == "ram" and queue.location == "dram" for queue in ported.values())
    assert to_model(from_model(netlist)) == netlist
    program.save(tmp_path / "p.tti")
    loaded = ttc.load(tmp_path / "p.tti")
    assert loaded.program.netlist.queues == netlist.queues
    x = np.random.default_rng(1).normal(size=(64, 96)).astype(np.float32)
    wanted = ttc.Executor(ttc.compile(path, target="host", batch=64)).run({"x": x})["y"]
    np.testing.assert_allclose(loaded.run({"x": x})["y"], wanted, rtol=1e-3, atol=1e-3)
    bare = replace(netlist, queues={name: replace(queue, ports=()) for name, queue in netlist.queues.items()})
    assert run_cost(netlist).device_cycles <= run_cost(bare).device_cycles


@pytest.mark.parametrize("batch", [1, 64])
def test_kernels_buda_have_none(batch: int, path: Path) -> None:
    netlist = ttc.compile(path, kernels="buda", batch=batch).netlist
    assert not any(queue.ports for queue in netlist.queues.values())


def test_weights_of_one_microbatch_are_loaded_before_it_where_that_is_shorter(tmp_path: Path) -> None:
    """The first of twelve products waits for its weights alone; those of the others come while it computes, one after another."""
    rng = np.random.default_rng(0)
    weights = [(rng.normal(size=(1024, 1024)) / 32).astype(np.float32) for _ in range(12)]
    nodes = [onnx.helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(12)]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [32, 1024]) for name in ("x0", "x12")]
    held = [onnx.numpy_helper.from_array(value, f"w{i}") for i, value in enumerate(weights)]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], held)), tmp_path / "wide.onnx")
    remarks: list[str] = []

    class Heard(Watcher):
        def remark(self, remark: Remark) -> None:
            remarks.append(remark.message)

    program = compile_path(tmp_path / "wide.onnx", resolve(CompileOptions, {"format": "Bfp8_b"}), [Heard()]).program()
    netlist = program.netlist
    assert check(netlist) == []
    assert sum(bool(queue.ports) for queue in netlist.queues.values()) == 12
    cost = run_cost(netlist)
    assert sum(stream.held for epoch in cost.epochs for op in epoch.ops for stream in op.streams) == 12
    bare = replace(netlist, queues={name: replace(queue, ports=()) for name, queue in netlist.queues.items()})
    assert cost.device_cycles < run_cost(bare).device_cycles
    assert any("weights are loaded before ops begin" in message for message in remarks)
    x = rng.normal(size=(32, 1024)).astype(np.float32)
    wanted = x
    for value in weights:
        wanted = wanted @ value
    found = ttc.Executor(program).run({"x0": x})["x12"]
    assert np.linalg.norm(found - wanted) < 0.1 * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    ("ports", "message"),
    [(((0, 3),), "no port"), (((2, 0),), "no port"), (((0, 0), (0, 0), (0, 0)), "as many for each")],
)
def test_ports_that_are_not_there_are_violations(ports: tuple[tuple[int, int], ...], message: str, path: Path) -> None:
    netlist = ttc.compile(path, batch=64).netlist
    name = next(name for name, queue in netlist.queues.items() if queue.ports)
    size = len(netlist.queues[name].buffers)
    given = ports * size if len(ports) == 1 else ports[: 2 if size == 3 else 3]
    assert any(message in violation.message for violation in check(_with(netlist, name, given)))


def test_queues_that_are_consumed_have_no_ports(path: Path) -> None:
    netlist = ttc.compile(path, batch=64).netlist
    name = next(name for name, queue in netlist.queues.items() if queue.type == "queue" and queue.location == "dram")
    given = ((0, 0),) * len(netlist.queues[name].buffers)
    assert any("only a ram in DRAM" in violation.message for violation in check(_with(netlist, name, given)))


def _with(netlist: Netlist, name: str, ports: tuple[tuple[int, int], ...]) -> Netlist:
    return replace(netlist, queues={**netlist.queues, name: replace(netlist.queues[name], ports=ports)})
