"""Epochs: every op once and in order, nothing overlaps, known optima are found, more effort is never worse."""

from __future__ import annotations

import pytest

from ttc.dialects.core.plain import TensorType
from ttc.dialects.core.targets import load_target
from ttc.passes.tile_to_netlist.blocking import Found, Subject, find
from ttc.passes.tile_to_netlist.epochs import EFFORTS, cut
from ttc.passes.tile_to_netlist.problem import Node, Problem
from ttc.runtime.perf.base import OpView

TARGET = load_target("n150")


def matmul(n: int, rows: int = 128) -> Found:
    tensors = [TensorType(shape, "Float16_b", "tiles(32, 32)") for shape in ((rows, 256), (256, n), (rows, n))]
    view = OpView("matmul", {}, (tensors[0], tensors[1], None), tensors[2], "HiFi4")
    return find(Subject(view, frozenset({1})), TARGET)


def chain(widths: list[int], input_count: int) -> Problem:
    known = {n: matmul(n) for n in set(widths)}
    nodes = [
        Node(known[n], n, (i - 1,) if i else (), 0 if i else 1 << 16, n * 256, stored=i + 1 == len(widths)) for i, n in enumerate(widths)
    ]
    return Problem(nodes, TARGET, input_count)


@pytest.mark.parametrize("effort", range(4))
def test_every_op_is_placed_once_without_overlap(effort: int) -> None:
    epochs = cut(chain([64, 512, 2048] * 12, 4), EFFORTS[effort])
    assert [e.begin for e in epochs] == [sum(len(e.ops) for e in epochs[:i]) for i in range(len(epochs))]
    assert sum(len(e.ops) for e in epochs) == 36
    for epoch in epochs:
        used = [core for op in epoch.ops for core in op.place.cores()]
        assert len(used) == len(set(used)) <= 72


def test_cores_follow_work_when_streaming() -> None:
    (epoch,) = cut(chain([64, 2048], 64), EFFORTS[1])
    small, large = (op.candidate.cores for op in epoch.ops)
    assert large >= 4 * small


@pytest.mark.parametrize("input_count", [1, 8, 64])
@pytest.mark.parametrize("widths", [[64, 2048], [512] * 5, [64, 512, 2048, 512, 64] * 2])
def test_more_effort_is_never_worse(widths: list[int], input_count: int) -> None:
    times = [sum(e.cycles for e in cut(chain(widths, input_count), effort)) for effort in EFFORTS]
    assert times[0] >= times[1] >= times[3]
    assert times[0] >= times[2] >= times[3]
