"""The bench of growth: its models, and what it flags."""

from __future__ import annotations

import cProfile
from pathlib import Path

import pytest

import bench_growth
from bench_growth import KINDS, exponent, flagged, measure, row, timed


@pytest.mark.parametrize("kind", KINDS)
def test_models_make_their_outputs_and_grow_with_their_size(kind: str) -> None:
    small, large = KINDS[kind](3), KINDS[kind](6)
    made = [name for node in small.graph.node for name in node.output]
    assert len(set(made)) == len(made)
    assert {output.name for output in small.graph.output} <= set(made)
    assert len(large.SerializeToString()) > len(small.SerializeToString())


def test_exponents() -> None:
    assert (exponent(1.0, 2.0), exponent(1.0, 4.0)) == (1.0, 2.0)
    assert not flagged(1.0, 2.2, 1.3)
    assert flagged(1.0, 4.0, 1.3)
    assert not flagged(0.05, 0.2, 1.3), "a time that does not matter"


def test_rows_flag_what_is_steep_and_say_what_is_refused() -> None:
    line, steep = row("chain_add", "host", [(1.0, 0.1), (2.0, 0.2), (8.0, 0.3)], 1.3)
    assert (line.split(), steep) == ("chain_add host 1.00 2.00 8.00 n^2.00! 0.10 0.20 0.30 n^0.58".split(), True)
    assert row("chain_add", "host", ["error[E0503]: no", (1.0, 1.0)], 1.3) == ("chain_add           host   error[E0503]: no", False)


def test_one_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    assert min(timed("fan_outputs", 3, "host")) > 0
    monkeypatch.setattr(bench_growth, "SECONDS", 0.001)
    assert measure("fan_outputs", 3, "host") == "more than 0.001 s"


def test_a_measurement_leaves_the_cache_of_the_user_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("TTC_CACHE_DIR", str(cache))
    assert not isinstance(measure("fan_outputs", 3, "host"), str)
    assert not cache.exists(), "plans that one measurement kept would be taken by the next"


def calls(kind: str, size: int) -> int:
    """Count the calls of functions, also of C, that import to archive, loading and one run on n300 take."""
    with cProfile.Profile() as counted:  # a function of Python's that counts would take longer than what it counts
        bench_growth.timed(kind, size, "n300")
    return sum(found.callcount for found in counted.getstats())


@pytest.mark.parametrize("kind", ["chain_reshape", "chain_slice", "chain_sigmoid", "inputs_max", "split_outputs", "fan_outputs"])
def test_work_grows_with_the_model(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path))
    calls(kind, 20)  # what only the first compilation of a process does
    # of fewer ops, more ways to cut them into epochs are tried; into epochs that are alike at 180 inputs of a Max, and not at 90
    small, middle, large = (calls(kind, size) for size in ((45, 90, 180) if kind != "inputs_max" else (90, 180, 360)))
    assert large - middle < 2.6 * (middle - small), "twice as many ops take twice the work; quadratic would be four times"
