"""One trace of several: one clock, ranks as processes, PyTorch's profiler among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.profiler.perfetto_rules import broken_rules, lanes
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.profiler import merge, profile, reading, region
from ttc.profiler.profile import write_trace
from ttc.profiler.reading import read_trace
from ttc.profiler.summary import summary_of


def trace_of(rank: int, base: int | None, ts: float = 5.0, pid: int | str = 100) -> dict[str, Any]:
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 1, "args": {"name": f"rank {rank}"}},
        {"ph": "X", "cat": "run", "name": "forward", "pid": pid, "tid": 1, "ts": ts, "dur": 2.0, "args": {}},
    ]
    found: dict[str, Any] = {"traceEvents": events, "ttc": {"rank": rank}}
    return found if base is None else {**found, "baseTimeNanoseconds": base}


def times(trace: dict[str, Any]) -> list[tuple[int, float]]:
    return [(event["pid"], event["ts"]) for event in trace["traceEvents"] if event["ph"] == "X"]


def test_ranks_are_processes_on_one_clock() -> None:
    merged = merge([trace_of(1, 7_000), trace_of(0, 5_000)])
    assert merged["baseTimeNanoseconds"] == 5_000
    assert times(merged) == [(1, 7.0), (0, 5.0)]
    assert [event["args"]["name"] for event in merged["traceEvents"] if event["ph"] == "M"] == ["rank 1", "rank 0"]


def test_neighbours_do_not_overlap_months_behind_the_base() -> None:
    """PyTorch's profiler has a base of up to 90 days ago, where floats of microseconds are as coarse as nanoseconds."""
    first = trace_of(1, 1_795_981_453_053_587_656)
    first["traceEvents"] += [
        {**first["traceEvents"][1], "name": f"event {i}", "ts": 100 + i * 8514 / 1000, "dur": 8.514} for i in range(1000)
    ]
    merged = merge([trace_of(0, 1_790_857_026_000_000_000), first])
    assert broken_rules(merged) == []


def test_processes_of_one_rank_stay_apart() -> None:
    chip = {"ph": "X", "cat": "simulated", "name": "op", "pid": 1 << 23, "tid": 1, "ts": 1.0, "dur": 1.0, "args": {}}
    first, second = trace_of(0, 1000), trace_of(1, 1000)
    for trace in (first, second):
        trace["traceEvents"].append(dict(chip))
    merged = merge([first, second])
    assert [pid for pid, _ in times(merged)] == [0, 2, 1, 3]


def test_flows_of_two_traces_stay_apart() -> None:
    first, second = trace_of(0, 0), trace_of(1, 0)
    for trace in (first, second):
        trace["traceEvents"].append({"ph": "s", "name": "f", "id": 1, "pid": 100, "tid": 1, "ts": 1.0})
    ids = [event["id"] for event in merge([first, second])["traceEvents"] if event["ph"] == "s"]
    assert ids == ["0:1", "1:1"]


@pytest.mark.parametrize("time", ["now", None, [1]])
def test_times_of_metadata_may_be_anything(time: Any) -> None:
    trace = trace_of(0, 1000)
    trace["traceEvents"][0]["ts"] = time
    assert merge([trace_of(1, 0), trace])["traceEvents"][2]["ts"] == time


def test_a_trace_without_a_clock_is_warned_of() -> None:
    with pytest.warns(TtcWarning, match="baseTimeNanoseconds"):
        merged = merge([trace_of(0, 4_000), trace_of(1, None)])
    assert times(merged) == [(0, 5.0), (1, 5.0)]


def test_with_pytorchs_profiler(tmp_path: Path, small_onnx: Path) -> None:
    """One process in both traces: the device's lane lies beside PyTorch's ops, at the time at which they ran."""
    torch: Any = pytest.importorskip("torch", reason="PyTorch's profiler")
    executor = ttc.Executor(ttc.compile(small_onnx, target="host", batch=2))
    x = torch.ones(2, 8)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs, profile() as ours:
        with torch.profiler.record_function("both"), region("both"):
            executor.run({"x": (x + 1).numpy()})
    theirs.export_chrome_trace(str(tmp_path / "torch.json"))
    merged = merge([tmp_path / "torch.json", ours.trace()])
    found = {(e["cat"], e["name"]): e for e in merged["traceEvents"] if e["ph"] == "X"}
    mark, named, add = found["user_annotation", "both"], found["region", "both"], found["cpu_op", "aten::add"]
    assert mark["pid"] == named["pid"] == add["pid"] == 0
    for inner, outer in ((named, mark), (add, named)):  # clocks may differ by 2 ms
        assert outer["ts"] - 2_000 < inner["ts"]
        assert inner["ts"] + inner["dur"] < outer["ts"] + outer["dur"] + 2_000
    assert any(thread.startswith("device: jobs") for process, thread in lanes(ours.trace()) if f"rank {0}" in process)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("3", "no list 'traceEvents'"),
        ('{"traceEvents": {}}', "no list 'traceEvents'"),
        ('{"traceEvents": [], "baseTimeNanoseconds": 1.5}', "no number of nanoseconds"),
        ('[{"ph": "X", "ts": 1}, 3]', "event 1 of the trace is no object"),
        ('[{"name": "a"}]', "no phase"),
        ('[{"ph": "X", "dur": 1}]', "no time 'ts'"),
        ('[{"ph": "X", "ts": NaN}]', "NaN is no number of JSON"),
        ('[{"ph": "X", "ts": 1, "args": {"x": [-Infinity]}}]', "-Infinity is no number of JSON"),
        ('[{"ph": "X", "ts": 1e999}]', "no time 'ts'"),
        (f'[{{"ph": "X", "ts": 1{"0" * 400}}}]', "no time 'ts'"),
        (f'[{{"ph": "X", "ts": 1, "dur": 1{"0" * 400}}}]', "no duration"),
        ('[{"ph": "X", "ts": 1, "dur": -1}]', "no duration"),
        ('[{"ph": "X", "ts": 1, "name": 3}]', "a name that is no text"),
        ('[{"ph": "X", "ts": 1, "pid": [1]}]', "a 'pid' that is neither"),
        ('[{"ph": "X", "ts": 1, "args": 1}]', "'args' that are no object"),
    ],
)
def test_what_is_no_trace(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(Error, match=said) as caught:
        read_trace(tmp_path / "bad.json")
    assert (caught.value.code, caught.value.where) == ("E0102", str(tmp_path / "bad.json"))


@pytest.mark.parametrize("text", ['[{"ph": "X", "ts": 1, "args": {"a": [[]]}}]', '[{"ph": "X", "ts": 1, "args": {"a": [1, 2, 3, 4]}}]'])
def test_a_trace_of_too_many_values_is_not_parsed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large.json").write_text(text)
    read_trace(tmp_path / "large.json")
    monkeypatch.setattr(reading, "MAX_CONTAINERS", 4)
    monkeypatch.setattr(reading, "MAX_COMMAS", 4)
    with pytest.raises(Error, match="more than 4 objects and lists, or 4 values") as caught:
        read_trace(tmp_path / "large.json")
    assert caught.value.code == "E0102"


def test_amounts_of_work_that_are_no_numbers_count_nothing() -> None:
    event = {"ph": "X", "cat": "job", "name": "a", "ts": 1, "dur": 2}
    amounts = [{"flops": 10**400, "bytes": 7}, {"flops": 5, "bytes": float("nan")}, {"flops": True, "bytes": "many"}]
    trace = {"traceEvents": [{**event, "args": args} for args in amounts]}
    (row,) = summary_of(trace).rows
    assert (row.flops, row.bytes, row.micros) == (5, 7, 6)


def test_what_json_has_no_form_of_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"ph": "X", "ts": 1, "args": {"x": 1e999}}]')
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for trace in (tmp_path / "a.json", {"traceEvents": [{"ph": "X", "ts": 1, "args": {"x": deep}}]}):
        with pytest.raises(Error, match="cannot be written as JSON") as caught:
            write_trace(tmp_path / "merged.json", merge([trace]))
        assert caught.value.code == "E0102"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_missing_file_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot read") as caught:
        merge([tmp_path / "none.json"])
    assert caught.value.code == "E0102"
    with pytest.raises(Error, match="no trace") as caught:
        merge([])
    assert caught.value.code == "E0101"


def test_what_is_merged_keeps_the_rules(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ttc.Executor(ttc.compile(small_onnx, target="n150", batch=2))
    traces: list[dict[str, Any]] = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        with profile() as profiler:
            executor.run({"x": np.ones((2, 8), np.float32)})
        traces.append(profiler.trace())
    merged = merge(traces)
    assert broken_rules(merged) == []
    assert {process.partition(":")[0] for process, _ in lanes(merged)} == {"rank 0", "rank 1"}
    assert {event["pid"] for event in merged["traceEvents"]} == {0, 1, 2, 3}
