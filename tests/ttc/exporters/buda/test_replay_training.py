"""Training netlists: written, read back, run by their programs, the same numbers as the archive's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from ttc.dialects.netlist.buda.reader import read_form
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay_training import replay_training

torch = pytest.importorskip("torch", reason="the networks are PyTorch's")


@pytest.mark.parametrize("optimizer", ["sgd:lr=0.1,momentum=0.9", "adamw:lr=0.05"])
def test_trains_as_the_archive_does(optimizer: str) -> None:
    """Sums in another order differ in their last bits; AdamW divides by roots of small squares, which makes that more."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(40, 24), torch.nn.ReLU(), torch.nn.Linear(24, 8))
    program = ttc.compile(network, (torch.zeros(6, 40),), loss="mse", optimizer=optimizer, target="n150", kernels="buda")
    exported = export(program.netlist, program.description)
    form, broken = read_form(write_netlist(exported.form).encode(), "training.yaml")
    assert [*broken, *check_form(form)] == []
    assert list(form.programs) == ["run_fwd", "run_bwd", "run_opt"]  # no work on the host divides any
    assert sum(bool(op.gradient_op) for graph in form.graphs.values() for op in graph.ops) == 5  # four parameters, and the count
    generator = np.random.default_rng(3)

    def rows() -> dict[str, Any]:
        return {name: generator.standard_normal((6, n)).astype(np.float32) for name, n in (("input", 40), ("target", 8))}

    numbers = {name: np.array(value, np.float32) for name, value in program.description.training.hyper.items()}
    found = {item.queue: item.comparison for item in replay_training(exported, program, [[rows(), rows()], [rows()], [rows()]], numbers)}
    assert {"0.weight", "0.bias", "2.weight", "2.bias", "optimizer.step"} <= found.keys()
    assert max(comparison.relative_l2 for comparison in found.values()) < (1e-5 if optimizer.startswith("sgd") else 1e-4)


def test_without_a_description_new_values_are_results() -> None:
    torch.manual_seed(0)
    program = ttc.compile(torch.nn.Linear(8, 4), (torch.zeros(6, 8),), loss="mse", optimizer="sgd:lr=0.1", target="n150", kernels="buda")
    form = export(program.netlist).form
    assert {"forward", "backward", "optimizer"} <= form.programs.keys()
    assert not any(op.gradient_op for graph in form.graphs.values() for op in graph.ops)
