"""Latencies, and what a profile says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from ttc.reports.bench import Latencies, OpTime, as_trace, latencies, op_times, profiles_within, streamed
from ttc.reports.profiling import Profile
from ttc.reports.roofline import Roofline
from ttc.runtime.engines.base import Timed

MACHINE = Roofline(1, flops_per_second=1e9, bytes_per_second=1e9)


def timed(op: str, start_ns: int, end_ns: int, kernel: str = "gemm") -> Timed:
    return Timed(f"{op}.{start_ns}", op, (f"/{op}",), kernel, start_ns, end_ns, flops=200, bytes=100)


def test_percentiles_are_of_the_runs_themselves() -> None:
    found = Latencies(tuple(float(n) for n in range(100, 0, -1)), 3, 200.0)
    assert found.figures == {"min": 1, "p50": 50, "p90": 90, "p99": 99, "max": 100, "mean": 50.5}
    assert found.runs_per_second == 0.5
    assert Latencies((4.0,), 1, 4.0).figures == {"min": 4, "p50": 4, "p90": 4, "p99": 4, "max": 4, "mean": 4}


class Session:
    """Counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, inputs: Any, program: str) -> None:
        assert (inputs, program) == ({}, "step")
        self.runs += 1

    def run_many(self, many: Iterable[Any], program: str) -> Iterator[None]:
        return (self.run(inputs, program) for inputs in many)


@pytest.mark.parametrize(("runs", "warm_up"), [(1, 0), (7, 2)])
def test_so_many_runs(runs: int, warm_up: int) -> None:
    session = Session()
    found = latencies(session, {}, "step", seconds=1e-9, runs=runs, warm_up=warm_up)  # pyright: ignore[reportArgumentType]
    assert (len(found.seconds), found.warm_up, session.runs) == (runs, warm_up, runs + warm_up)
    assert 0 < sum(found.seconds) <= found.total


def test_so_long() -> None:
    """However slow it is, one run counts, after one to warm up."""
    found = latencies(Session(), {}, "step", seconds=1e-9)  # pyright: ignore[reportArgumentType]
    assert (len(found.seconds), found.warm_up) == (1, 1)
    found = latencies(Session(), {}, "step", seconds=0.02)  # pyright: ignore[reportArgumentType]
    assert found.total >= 0.02
    assert len(found.seconds) > 10


@pytest.mark.parametrize(("latency", "runs"), [(1.0, 3), (0.01, 50)])
def test_a_stream_takes_half_of_the_time(latency: float, runs: int) -> None:
    session = Session()
    assert streamed(session, {}, "step", latency=latency, seconds=1.0) > runs  # pyright: ignore[reportArgumentType]
    assert session.runs == runs


def test_profiles_take_a_fifth_of_the_time() -> None:
    assert [profiles_within(2.0, latency) for latency in (1.0, 0.05, 1e-5)] == [1, 8, 20]


def test_ops_by_time() -> None:
    """The median over runs of what the jobs of an op take together."""
    runs = [
        Profile([("g", [timed("a", 0, 100), timed("b", 100, 400), timed("a", 400, 500, "epilogue")])]),
        Profile([("g", [timed("a", 0, 130), timed("b", 130, 430), timed("a", 430, 550, "epilogue")])]),
        Profile([("g", [timed("a", 0, 900), timed("b", 900, 1300), timed("a", 1300, 1400, "epilogue")])]),
    ]
    b, a = op_times(runs)
    assert (a.op, a.source, a.kernels, a.flops, a.bytes) == ("a", ("/a",), ("gemm", "epilogue"), 400, 200)
    assert (a.seconds, b.seconds) == (pytest.approx(250e-9), pytest.approx(300e-9))
    figures = b.figures(550e-9, MACHINE)
    assert figures["share"] == pytest.approx(300 / 550)
    assert figures["roofline"] == pytest.approx(200 / 300)


def test_an_op_that_takes_no_time() -> None:
    idle = OpTime("view", (), ("view",), 0.0, 0, 0)
    assert (idle.roof(MACHINE), idle.figures(0.0, MACHINE)["share"]) == (0, 0)


def test_trace() -> None:
    run = Profile([("g", [timed("a", 5000, 6000), timed("b", 6000, 9000)]), ("h", []), ("g", [timed("a", 9000, 9000)])])
    events = as_trace(run, "m.tti", "native")["traceEvents"]
    assert [e["args"]["name"] for e in events if e["ph"] == "M"] == ["m.tti", "graphs", "jobs of engine native"]
    spans = [(e["name"], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert spans == [("g", 0, 0, 4), ("/a", 1, 0, 1), ("/b", 1, 1, 3), ("g", 0, 4, 0), ("/a", 1, 4, 0)]
    told = next(e["args"] for e in events if e["name"] == "/b")
    assert (told["op"], told["kernel"], told["GFLOP/s"], told["GB/s"]) == ("b", "gemm", 0.067, 0.033)
    assert np.isfinite([e["ts"] for e in events if e["ph"] == "X"]).all()
