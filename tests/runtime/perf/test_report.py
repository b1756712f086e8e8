"""The cost of a run as values and rows."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ttc.dialects.netlist.model import Netlist
from ttc.runtime.perf.report import EPOCH_COLUMNS, OP_COLUMNS, as_json, core_utilization, epoch_rows, op_rows, place_text, run_lines
from ttc.runtime.perf.run import run_cost


def test_json_holds_all_figures(pipeline: Callable[[int], Netlist]) -> None:
    cost = run_cost(pipeline(10))
    found = json.loads(json.dumps(as_json(cost), allow_nan=False))
    assert found["samples_per_second"] == pytest.approx(cost.samples_per_second)
    assert found["deadlocks"] == []
    (epoch,) = found["epochs"]
    assert [op["name"] for op in epoch["ops"]] == ["a", "b"]
    assert set(epoch["ops"][0]) >= {"math", "unpack", "pack", "dram_in", "noc_in", "dram_out", "noc_out", "total", "limit", "location"}
    (stream,) = epoch["ops"][0]["streams"]
    assert (stream["way"], stream["end"], stream["kind"], stream["channels"], stream["total_bytes"]) == ("in", "x", "dram", 2, 64 * 2080)
    assert found["roofline"] == max(found["math_peak"], found["dram_peak"])
    assert set(epoch) >= {"slowest", "fill", "stall", "interval", "cycles", "deadlock", "dram_bytes"}
    assert set(found) >= {"switches", "switch_cycles", "utilization", "math_peak", "dram_peak", "core_utilization", "host_bytes"}


def test_utilization_by_core(pipeline: Callable[[int], Netlist]) -> None:
    cost = run_cost(pipeline(10))
    a, b = cost.epochs[0].ops
    rows = core_utilization(cost)[0]
    assert [len(row) for row in rows] == [2, 2, 2, 2]
    assert rows[3][0] == pytest.approx(10 * a.core / cost.cycles, abs=1e-6)
    assert rows[0][1] == pytest.approx(10 * b.core / cost.cycles, abs=1e-6)
    assert rows[1][1] == 0
    assert sum(map(sum, rows)) / 72 == pytest.approx(cost.utilization, abs=1e-6)


def test_rows(pipeline: Callable[[int], Netlist]) -> None:
    cost = run_cost(pipeline(10))
    ops, epochs = op_rows(cost), epoch_rows(cost)
    assert [len(row) for row in ops] == [len(OP_COLUMNS)] * 2
    assert [len(row) for row in epochs] == [len(EPOCH_COLUMNS)]
    assert ops[0][:5] == [0, "a", "map", "0: 0,0 4x1", 4]
    assert ops[1][-1] == cost.epochs[0].ops[1].limit
    assert place_text(cost.epochs[0].ops[1]) == "0: 0,1 1x1"
    assert "10 samples" in "\n".join(run_lines(cost))
