"""Tests of the pass in passes/nn/recompute.py."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.module_pairs import check_pair
from tests.passes.nn.stashes import BYTES, WIDTH, chain
from ttc.accuracy.module_values import evaluate
from ttc.dialects.core.errors import Error
from ttc.passes.manager import run_pass
from ttc.passes.nn.recompute import Recompute


def test_docstring() -> None:
    _, report = check_pair(Recompute("all"), "host")
    assert report.rewrites == {"recompute": 1}


@pytest.mark.parametrize("pass_", [Recompute("all"), Recompute("auto"), Recompute("auto", 2 * BYTES)], ids=str)
def test_gradients_are_the_same_bits(pass_: Recompute, rng: np.random.Generator) -> None:
    unit = chain(6)
    x, d = (rng.standard_normal((4, WIDTH)).astype(np.float32) for _ in range(2))
    inputs = {"forward": {"x": x}, "backward": {"x": x, "grad.y": d}}
    before = evaluate(unit, inputs)
    report = run_pass(pass_, unit)
    after = evaluate(unit, inputs)
    assert report.rewrites
    assert all(before["backward"][name].tobytes() == after["backward"][name].tobytes() for name in before["backward"])
    (remark,) = report.remarks
    assert remark.data["stash_bytes"] < remark.data["stash_bytes_before"]  # pyright: ignore[reportOperatorIssue]


def test_nothing_is_computed_again_unless_asked_for() -> None:
    unit = chain(4)
    before = unit.text()
    assert not run_pass(Recompute(), unit).rewrites
    assert unit.text() == before
    assert run_pass(Recompute(), chain(4, marked=range(1, 3))).rewrites


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(Error, match="recompute cannot be 'some'"):
        run_pass(Recompute("some"), chain(2))
