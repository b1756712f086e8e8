"""Epochs of one sample on chips in turn: places, queues, inputs of several chips, and the numbers of one chip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ttc
from tests.passes.module_pairs import check_pair
from tests.ttc.compiler.test_driver_chips import chips_of, network
from ttc.compiler.driver import compile_path
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.replicas import first_replica
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay import replay
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Remark, Watcher
from ttc.passes.netlist.deal_epochs import DealEpochs
from ttc.runtime.perf.run import run_cost

BREAKS = [{"op": "matmul", "start": [0, 0]}, *({"name": f"/layer{layer}/*", "epoch_break": True} for layer in range(1, 6))]
"""Rules by which each layer begins an epoch, on the cores of the layer before, so that one chip cannot load it meanwhile."""


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    path = tmp_path / "layers.onnx"
    onnx.save(network(6), path)
    return path


def test_docstring() -> None:
    check_pair(DealEpochs((0, 1)))


@pytest.mark.parametrize("chips", [2, 3, 4, 5, 8])
def test_one_sample_on_chips_in_turn(chips: int, layers: Path) -> None:
    """The last epoch reads the input, too: the host gives it to both chips.  The kernels are those whose cores do not load ahead."""
    fields: dict[str, Any] = {"batch": 1, "placement_file": BREAKS, "kernels": "buda"}
    x = np.random.default_rng(4).normal(size=(1, 96)).astype(np.float32)
    wanted = ttc.Executor(ttc.compile(layers, **fields)).run({"x": x})["y"]
    program = ttc.compile(layers, cluster="2x4", chips=chips, **fields)
    netlist = program.netlist
    row = list(dict.fromkeys(chips_of(netlist)))
    assert chips_of(netlist) == [row[number % chips] for number in range(6)]
    assert check(netlist) == []
    assert first_replica(netlist) is netlist
    queues = netlist.programs["forward"].arguments[0].queues
    assert [netlist.queues[name].chip for name in queues] == list(dict.fromkeys([row[0], row[5 % chips]]))
    program.save(layers.with_suffix(".tti"))
    for engine in ("native", "reference"):
        with ttc.load(layers.with_suffix(".tti"), engine=engine) as executor:
            np.testing.assert_allclose(executor.run({"x": x})["y"], wanted, rtol=0, atol=1e-5)
    one = run_cost(ttc.compile(layers, **fields).netlist)
    assert run_cost(netlist).device_cycles < 0.8 * one.device_cycles  # switches hide behind other chips' work


def test_what_stays(layers: Path) -> None:
    """Several microbatches, a pipeline that is asked for, one epoch."""
    remarks: list[Remark] = []

    class Ear(Watcher):
        def remark(self, remark: Remark) -> None:
            remarks.extend([remark] if remark.pass_name == "deal-epochs" else [])

    compile_path(layers, resolve(CompileOptions, {"cluster": "1x3", "batch": 1, "placement_file": BREAKS}), [Ear()])
    assert [(r.kind, r.message) for r in remarks] == [("analysis", "6 epochs are dealt out among 3 chips in turn")]
    asked: list[dict[str, Any]] = [{"batch": 3}, {"batch": 1, "parallel": "pipeline"}]
    for fields in asked:
        netlist = ttc.compile(layers, cluster="1x3", **fields).netlist
        assert chips_of(netlist) == sorted(chips_of(netlist))


def test_exports_give_the_same_numbers(layers: Path) -> None:
    onnx.save(network(3, 256), layers)
    fields: dict[str, Any] = {"batch": 1, "placement_file": BREAKS[:3], "kernels": "buda", "format": "Float16_b"}
    program = ttc.compile(layers, target="n300", chips=2, **fields)
    assert chips_of(program.netlist) == [0, 1, 0]
    exported = export(program.netlist)
    assert check_form(exported.form, "wormhole_b0") == []
    x = np.random.default_rng(2).normal(size=(1, 256)).astype(np.float32)
    for found in replay(exported, program, {"x": x}):
        assert found.comparison.relative_l2 <= 5e-3, found.queue
