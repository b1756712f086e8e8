"""What users read of metrics: scopes, dumps, Prometheus' text; and that what happens is counted."""

from __future__ import annotations

import gc
import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from ttc.dialects.core.errors import Error
from ttc.runtime.metrics import METRICS, counter
from ttc.runtime.perf.run import run_cost

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "metrics.md"
SERIES = re.compile(r'ttc_[a-z_]+(\{[a-z]+="([^"\\\n]|\\.)*"(,[a-z]+="([^"\\\n]|\\.)*")*\})? [0-9.e+-]+')
"""A line of a value in Prometheus' text format."""
X = {"x": np.ones((2, 8), np.float32)}


def test_a_scope_counts_what_happens_inside(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))  # nothing is in it yet, whatever ran before
    with ttc.metrics.scope("outer") as outer:
        program = ttc.compile(small_onnx, target="host", batch=2)
        with ttc.metrics.scope("inner") as inner:
            program.save(tmp_path / "a.tti")
            with ttc.load(tmp_path / "a.tti", threads=1) as executor:
                executor.run(X)
                executor.run(X)
                assert inner.value("runs") == 2
        with ttc.load(tmp_path / "a.tti", threads=1) as executor:
            executor.run(X)
    program.save(tmp_path / "b.tti")
    assert (inner.value("compilations"), inner.value("runs")) == (0, 2)
    assert (outer.value("compilations"), outer.value("runs")) == (1, 3)
    assert outer.value("compile_seconds") > 0
    assert (outer.value("program_cache_hits"), outer.value("program_cache_misses")) == (1, 1)
    assert outer.value("kernel_cache_hits") + outer.value("kernels_compiled") > 0
    assert outer.value("kernel_cache_misses") == outer.value("kernels_compiled")
    assert outer.value("arena_bytes") <= outer.value("arena_peak_bytes")
    assert outer.dump()["scope"] == "outer"


def test_what_fails_is_counted_by_code(small_onnx: Path) -> None:
    with ttc.metrics.scope("bad") as m, pytest.raises(Error):
        ttc.compile(small_onnx, target="host", batch=2, probe="nothing")
    assert m.value("compile_errors") == 1
    assert list(m.values("compile_errors")) == [("E0206",)]
    assert m.value("compilations") == 0


def test_memory_of_states_and_runs() -> None:
    torch: Any = pytest.importorskip("torch", reason="a module with a state")

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(1000))

        def forward(self, x: Any) -> Any:
            self.total += x
            return self.total * 2

    gc.collect()  # sessions of tests before go now, not in between
    before = ttc.metrics.snapshot()
    executor = ttc.Executor(ttc.compile(Counting(), (torch.ones(1000),), target="host"))
    executor.run({"x": np.ones(1000, np.float32)})
    after = ttc.metrics.snapshot()
    assert after.value("variable_bytes") - before.value("variable_bytes") == 4000
    assert after.value("sessions") - before.value("sessions") == 1


def test_waits_for_queues_are_stalls(small_onnx: Path) -> None:
    session = ttc.Executor(ttc.compile(small_onnx, target="host", batch=2)).session
    with ttc.metrics.scope("stall") as m:
        late = threading.Timer(0.5, lambda: (session.push("forward", X), session.run("forward")))
        late.start()
        session.pop("forward", timeout=20)
        late.join()
        with pytest.raises(Error, match="has no results"):
            session.pop("forward")
    assert m.value("queue_stalls") == 1
    assert list(m.values("queue_stalls")) == list(m.values("queue_stall_seconds"))
    assert "has no results" in next(iter(m.values("queue_stalls")))[0]
    assert m.value("queue_stall_seconds") > 0


def test_data_out_of_range_goes_to_the_reference(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="a lookup")
    program = ttc.compile(torch.nn.Embedding(4, 2), (torch.zeros(3, dtype=torch.int64),), target="host")
    executor = ttc.Executor(program)
    with ttc.metrics.scope("range") as m, pytest.raises(Error):
        executor.run({"input": np.array([0, 9, 1])})
    assert m.value("reference_runs") == 1


def test_simulated_cycles(small_onnx: Path) -> None:
    program = ttc.compile(small_onnx, target="n150", batch=2)
    with ttc.metrics.scope("device") as m:
        cost = run_cost(program.netlist)
    assert m.value("simulated_cycles", target="n150") == m.value("simulated_cycles") == pytest.approx(cost.cycles)


def test_fallbacks_are_named() -> None:
    torch: Any = pytest.importorskip("torch", reason="torch.compile")
    torch._dynamo.reset()
    wrapped = torch.compile(lambda x: torch.linalg.eigvals(x).abs(), backend="ttc")
    plain = torch.compile(lambda x: x + 1, backend="ttc")
    with ttc.metrics.scope("torch") as m:
        with pytest.warns(UserWarning, match="PyTorch runs"):
            wrapped(torch.eye(3))
        plain(torch.eye(3))
        plain(torch.eye(3))
    torch._dynamo.reset()
    ((code, graph, reason),) = m.values("fallbacks")
    assert (code, m.value("fallbacks", code="E0202")) == ("E0202", 1)
    assert "linalg_eig" in reason
    assert graph.startswith("inference")
    assert (m.value("graph_cache_misses"), m.value("graph_cache_hits")) == (2, 1)


def test_a_dump_is_json_and_has_every_metric() -> None:
    counter("compile_errors").add(1, "E0000")
    found = ttc.metrics.dump()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    rows = {row["name"]: row for row in found["metrics"]}
    assert list(rows) == list(METRICS)
    assert {"labels": {"code": "E0000"}, "value": counter("compile_errors").values()[("E0000",)]} in rows["compile_errors"]["values"]
    assert rows["compilations"]["values"][0]["labels"] == {}
    assert ttc.metrics.snapshot().flat().keys() == METRICS.keys()


def test_prometheus_text() -> None:
    counter("fallbacks").add(1, "E0000", 'a "b"\\', "one\ntwo")
    lines = ttc.metrics.prometheus().splitlines()
    assert 'ttc_fallbacks_total{code="E0000",graph="a \\"b\\"\\\\",reason="one\\ntwo"} 1' in lines
    values = [line for line in lines if not line.startswith("#")]
    assert [line for line in values if not SERIES.fullmatch(line)] == []
    assert [line.split()[2] for line in lines if line.startswith("# TYPE")] == [
        f"ttc_{row.name}" + ("_total" if row.kind == "counter" else "") for row in METRICS.values()
    ]


def test_unknown_names_are_errors() -> None:
    with pytest.raises(Error, match="no metric 'compilation'") as caught:
        ttc.metrics.snapshot().value("compilation")
    assert (caught.value.code, caught.value.hint) == ("E0101", "did you mean 'compilations'?")
    with pytest.raises(Error, match="no label 'cod'") as caught:
        ttc.metrics.snapshot().value("fallbacks", cod="E0202")
    assert caught.value.hint == "did you mean 'code'?"


def test_the_page_lists_every_metric() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| (.+?) \|$", DOCS.read_text(), re.MULTILINE)
    listed = [(name, kind, labels.replace("`", "").replace("-", ""), told) for name, kind, labels, told in rows]
    assert listed == [(row.name, row.kind, ", ".join(row.labels), row.help) for row in METRICS.values()]
