"""`tools/bench_report.py`: ratios, bars and tables."""

from __future__ import annotations

import json

import pytest

from bench_report import Found, Latency, bars, document, geometric_mean, report, wrong


def same(**milliseconds: float) -> dict[str, Latency]:
    """Latencies whose median is also the fastest run."""
    return {name.replace("_", "-"): Latency(value / 1e3, value / 1e3, 15) for name, value in milliseconds.items()}


def two_models() -> list[Found]:
    large = Found("bert", 400_000_000, same(ours=9, ours_bf16=2, onnxruntime=10, openvino=12, torch_compile=20, openvino_bf16=4))
    large.load, large.memory = {"ours": 0.1, "onnxruntime": 0.4}, {"ours": 600, "onnxruntime": 1000}
    large.compile = {"ours": 2.5, "ours-n150": 9.0}
    small = Found("cnn", 1_000_000, same(ours=2, ours_high=1, ours_n150=3, onnxruntime=4, openvino=1.6))
    small.memory, small.compile = {"ours": 120_000_000, "onnxruntime": 50_000_000}, {"ours": 0.9}
    small.errors = {"ours": {"max_abs": 3e-7, "relative_l2": 1e-7, "pcc": 1.0, "within": True}}
    small.errors["onnxruntime"] = {"max_abs": 1e-7, "relative_l2": 1e-7, "pcc": 1.0, "within": True}
    return [large, small]


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2, 8]) == pytest.approx(2)


def test_latency_is_the_median_of_the_turns_medians() -> None:
    found = Latency.of([[3, 1, 2], [9, 9, 9, 0.5], [4, 5, 6]])
    assert found == Latency(5, 0.5, 3)


def test_bars() -> None:
    found = {bar.name: bar for bar in bars(two_models(), fastest=False)}
    shown = {name: (round(bar.value, 4), bar.met) for name, bar in found.items()}
    assert shown == {
        "float32: ours / fastest float32 peer: geometric mean": (round((0.9 * 1.25) ** 0.5, 4), False),
        "float32: ours / fastest float32 peer: worst model": (1.25, False),
        "high: ours / fastest float32 peer: geometric mean": (0.625, False),
        "high: ours / fastest float32 peer: worst model": (0.625, True),
        "bfloat16: ours / OpenVINO bf16: geometric mean": (0.5, True),
        "bfloat16: ours / OpenVINO bf16: worst model": (0.5, True),
        "n150 archive at Float32 / host archive: geometric mean": (1.5, False),
        "load, archive to first output / onnxruntime from ONNX: geometric mean": (0.25, True),
        "compile, whole process: bert, gpt2": (2.5, True),
        "compile, whole process: cnn": (0.9, False),
        "peak memory of ttc run / onnxruntime's, over 10 MB of weights: worst": (0.6, True),
        "peak memory of ttc run - onnxruntime's, others: worst": (70, False),
        "float32 error, max abs: ours / onnxruntime's: worst": (3.0, False),
    }
    assert found["float32: ours / fastest float32 peer: worst model"].worst == "cnn"


def test_nothing_is_judged_without_measurements() -> None:
    assert bars([Found("cnn", 1)], fastest=True) == []


def test_fastest_runs_instead_of_medians() -> None:
    item = Found("cnn", 1, {"ours": Latency(4, 1, 15), "onnxruntime": Latency(2, 2, 15)})
    assert [bars([item], fastest=fastest)[0].value for fastest in (False, True)] == [2, 0.5]


def test_report() -> None:
    lines = report(two_models(), fastest=False).splitlines()
    assert lines[0] == "latency, ms (median)"
    assert lines[1].split() == ["ours", "ours-bf16", "onnxruntime", "openvino", "torch-compile", "openvino-bf16", "ours-high", "ours-n150"]
    assert lines[3].split() == ["cnn", "2", "-", "4", "1.6", "-", "-", "1", "3"]
    ratios = lines[lines.index("latency / that of the fastest float32 peer") :]
    assert ratios[4].split()[:3] == ["geometric", "mean", "1.061"]
    assert [line.split()[0] for line in lines if "NOT MET" in line] == [
        "float32:",
        "float32:",
        "high:",
        "n150",
        "compile,",
        "peak",
        "float32",
    ]


def test_document_is_plain() -> None:
    plain = json.loads(json.dumps(document(two_models(), {"cores": 2}, fastest=False)))
    assert plain["machine"] == {"cores": 2}
    assert plain["models"][0]["latency"]["ours"] == {"median": 0.009, "fastest": 0.009, "turns": 15}
    assert sum(bar["met"] for bar in plain["bars"]) == 6


def test_only_engines_of_ours_make_it_fail() -> None:
    found = two_models()
    found[0].failed = {"openvino": "not there", "ours-high": "crashed"}
    found[1].errors["ours"]["within"] = False
    found[1].errors["onnxruntime"]["within"] = False
    assert wrong(found) == ["bert: ours-high", "cnn: ours"]
