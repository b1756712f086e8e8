"""`tools/onnx_suite.py`: which cases there are, how each is run, and the report."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from onnx import helper

import onnx_suite
from onnx_suite import Case, Outcome, Watched, cases, forked, run_case, tables
from ttc.dialects.core.errors import Error


@pytest.fixture(scope="module")
def suite() -> list[Case]:
    return cases("")


def case_of(run: object, name: str = "test_made") -> Case:
    return Case(Outcome(name, "node", "Made", ordinary=True), run)  # pyright: ignore[reportArgumentType]


def test_the_suite_is_whole(suite: list[Case]) -> None:
    """No case is left out: as many of each kind as the suite has, and none twice."""
    assert len({case.outcome.name for case in suite}) == len(suite)
    counts = Counter(case.outcome.category for case in suite)
    assert set(counts) == {"node", "node expanded", "simple", "pytorch-converted", "pytorch-operator", "real"}
    assert counts["node"] > 1000
    assert counts["real"] == 9


def test_limits_end_a_child() -> None:
    def hang(_: object) -> None:
        while True:
            pass

    outcome = forked(case_of(hang), 1)
    assert (outcome.status, outcome.reason) == ("fail", "took more than 1 s")


def test_what_cases_raise_is_their_outcome() -> None:
    def unsupported(_: object) -> None:
        raise Error("E0202", "no such op", excerpt="op  opset  why\nDraw  7  no mapping")

    def wrong(_: object) -> None:
        raise AssertionError("\nNot equal\n\n 3 of 4\n")

    first, second = run_case(case_of(unsupported)), forked(case_of(wrong), 10)
    assert (first.status, first.reason) == ("unsupported", "E0202 Draw 7 no mapping")
    assert (second.status, second.reason) == ("fail", "AssertionError: Not equal | 3 of 4")


def test_ops_of_host_segments_are_told() -> None:
    def run(_: object) -> None:
        node = helper.make_node("NonZero", ["x"], ["y"])
        info = helper.make_tensor_value_info("x", 1, [3])
        graph = helper.make_graph([node], "g", [info], [helper.make_tensor_value_info("y", 7, None)])
        (found,) = Watched.prepare(helper.make_model(graph)).run([np.array([0, 1, 2], np.float32)])
        assert found.tolist() == [[1, 2]]

    assert run_case(case_of(run)).host_ops == ("nn.non_zero",)


def test_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [
        Outcome("test_a", "node", "Add", ordinary=True, host_ops=("nn.add",)),
        Outcome("test_b", "node", "Add", ordinary=False, status="fail", reason="E0901 off by 12"),
        Outcome("test_c", "real", "", ordinary=True, status="unsupported", reason="E0202 Draw"),
    ]
    text = [line.split() for line in tables(outcomes, verbose=True)]
    assert ["node", "2", "1", "1", "0", "50.0"] in text
    assert ["all", "3", "1", "1", "1", "33.3"] in text
    assert ["node,", "common", "types", "1", "1", "0", "0", "100.0"] in text
    assert ["1", "fail:", "EN", "off", "by", "N"] in text
    monkeypatch.setattr(onnx_suite, "cases", lambda _pattern: [case_of(lambda _: None)])
    monkeypatch.setattr("sys.argv", ["onnx_suite.py", "--json", "--bar", "1"])
    assert onnx_suite.main() == 0
    assert [row["status"] for row in json.loads(capsys.readouterr().out)] == ["pass"]
    monkeypatch.setattr(onnx_suite, "cases", lambda _pattern: [case_of(lambda _: None), case_of(lambda _: 1 / 0)])
    assert onnx_suite.main() == 1


def test_the_share_without_host_segments(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    good = Outcome("test_a", "node", "Add", ordinary=True, floating=True)
    outcomes = [
        good,
        Outcome("test_b", "node", "NonZero", ordinary=True, floating=True, host_ops=("nn.non_zero",)),
        Outcome("test_c", "node", "Add", ordinary=True, floating=True, status="fail"),
        Outcome("test_d", "node", "Not", ordinary=True, host_ops=("nn.not",)),
        Outcome("test_e", "node expanded", "Add", ordinary=True, floating=True, host_ops=("nn.add",)),
    ]
    assert "without host segments: 1 of the 3 plain node cases of floating point (33.3 %)" in tables(outcomes, verbose=False)

    def status(*options: str, found: list[Outcome]) -> int:
        monkeypatch.setattr(onnx_suite, "cases", lambda _pattern: found)
        monkeypatch.setattr(onnx_suite, "forked", lambda outcome, _seconds: outcome)
        monkeypatch.setattr("sys.argv", ["onnx_suite.py", "--json", *options])
        return onnx_suite.main()

    assert status("--device-bar", "0.3", found=outcomes) == 0
    assert status("--device-bar", "0.4", found=outcomes) == 1
    stray = Outcome("test_f", "node expanded", "Gemm", ordinary=True, host_ops=("nn.matmul",))
    assert status(found=[good, stray]) == 1
    assert capsys.readouterr().err == "test_f: nn.matmul ran in a host segment\n"


def test_types_of_cases(suite: list[Case]) -> None:
    found = {case.outcome.name.removeprefix("test_"): case.outcome for case in suite}
    assert [found[name].floating for name in ("argmax_default_axis_random", "sequence_insert_at_back", "and2d")] == [True, False, False]
    assert not found["sequence_insert_at_back"].ordinary
