"""Traces in the form that Perfetto opens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.ttc.profiler.perfetto_rules import dropped
from ttc.dialects.netlist.model import Instruction, Netlist, Program
from ttc.runtime.perf import trace
from ttc.runtime.perf.run import run_cost
from ttc.runtime.perf.trace import EPOCHS, as_trace, thread_of


def test_every_event_is_complete(pipeline: Callable[[int], Netlist]) -> None:
    cost = run_cost(pipeline(10))
    found = json.loads(json.dumps(as_trace(cost), allow_nan=False))
    events = [event for event in found["traceEvents"] if event["ph"] == "X"]
    names = [event for event in found["traceEvents"] if event["ph"] == "M"]
    assert len(events) + len(names) == len(found["traceEvents"])
    assert all({"name", "pid", "tid", "ts", "dur", "args"} <= set(event) for event in events)
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in events)
    assert {event["args"]["name"] for event in names} >= {"chip 0 (n150)", "epochs", "core 0,0", "core 3,0", "core 0,1"}
    assert {(event["pid"], event["tid"]) for event in names} >= {(event["pid"], event["tid"]) for event in events}


def test_ops_stand_on_their_cores_inside_their_epoch(pipeline: Callable[[int], Netlist]) -> None:
    net = pipeline(10)
    graph = net.graphs["g"]
    net = replace(net, graphs={"g": replace(graph, ops=(replace(graph.ops[0], location=("conv1", "relu1")), graph.ops[1]))})
    cost = run_cost(net)
    events = [event for event in as_trace(cost)["traceEvents"] if event["ph"] == "X"]
    (epoch,) = [event for event in events if event["name"] == "g"]
    (switch,) = [event for event in events if event["name"] == "switch"]
    a = [event for event in events if event["name"] == "a"]
    assert [event["tid"] for event in a] == [thread_of(row, 0) for row in range(4)]
    assert a[0]["args"]["source"] == "conv1, relu1"
    assert switch["ts"] + switch["dur"] == pytest.approx(epoch["ts"], abs=0.01)
    for event in events:
        if event["name"] in "ab":
            assert epoch["ts"] - 0.01 <= event["ts"]
            assert event["ts"] + event["dur"] <= epoch["ts"] + epoch["dur"] + 0.01
    assert epoch["ts"] + epoch["dur"] == pytest.approx(cost.device_cycles / 1e3, abs=0.01)


def test_times_are_whole_nanoseconds_in_which_nothing_overlaps(pipeline: Callable[[int], Netlist]) -> None:
    net = pipeline(10)
    cost = run_cost(replace(net, programs={"forward": Program("forward", (), (), (Instruction("execute", ("g",)),) * 3)}))
    for clock in range(900, 1400, 50):  # MHz: cycles are fractions of nanoseconds
        events = [event for event in as_trace(replace(cost, clock_hz=clock * 1e6))["traceEvents"] if event["ph"] == "X"]
        for event in events:
            assert (event["ts"], event["dur"]) == (round(event["ts"], 3), round(event["dur"], 3))
        assert dropped([nanoseconds(event) for event in events if event["tid"] == EPOCHS]) == []


def nanoseconds(event: dict[str, Any]) -> tuple[int, int, str]:
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000), event["name"]


def test_a_trace_is_bounded(pipeline: Callable[[int], Netlist], monkeypatch: pytest.MonkeyPatch) -> None:
    net = pipeline(1)
    program = Program("forward", (), (), (Instruction("execute", ("g",)),) * 3)
    monkeypatch.setattr(trace, "MAX_EVENTS", 15)  # an epoch has seven
    found = as_trace(run_cost(replace(net, programs={"forward": program})))
    assert found["otherData"]["epochs left out"] == 1
