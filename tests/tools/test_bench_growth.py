"""The bench of growth: its models, and what it flags."""

from __future__ import annotations

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
