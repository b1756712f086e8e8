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
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.from_model import from_model
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.to_model import to_model
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


def test_kernels_buda_and_one_microbatch_have_none(path: Path) -> None:
    for fields in ({"kernels": "buda", "batch": 64}, {"batch": 1}):
        netlist = ttc.compile(path, **fields).netlist  # pyright: ignore[reportArgumentType]
        assert not any(queue.ports for queue in netlist.queues.values())


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
