"""Tests of the pass in passes/nn/split_backward.py."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.module_pairs import check_pair
from tests.passes.nn.stashes import WIDTH, chain
from ttc.accuracy.module_values import evaluate
from ttc.dialects.core.errors import Error
from ttc.passes.manager import run_pass
from ttc.passes.nn.recompute import Recompute
from ttc.passes.nn.split_backward import SplitBackward
from ttc.settings.train_options import TrainOptions


def test_docstring() -> None:
    _, report = check_pair(SplitBackward(), "host")
    assert report.rewrites == {"split-backward": 1}


@pytest.mark.parametrize("mode", ["none", "auto", "all"])
def test_two_microbatches_on_their_way(mode: str, rng: np.random.Generator) -> None:
    unit = chain(6)
    run_pass(Recompute(mode), unit)
    rows = [{name: rng.standard_normal((4, WIDTH)).astype(np.float32) for name in ("x", "grad.y")} for _ in range(2)]
    wanted = [evaluate(unit, {"forward": {"x": row["x"]}, "backward": row})["backward"] for row in rows]
    report = run_pass(SplitBackward(), unit)
    (remark,) = report.remarks
    kept: list[dict[str, np.ndarray]] = []
    for row, other in zip(rows, wanted, strict=True):
        entry = unit_inputs(unit, "backward")
        empty = {name: np.zeros(shape, np.float32) for name, shape in entry.items()}
        found = evaluate(unit, {"forward": {"x": row["x"]}, "backward": empty})["forward"]
        np.testing.assert_array_equal(found["y"], other["y"])
        kept.append({name: value for name, value in found.items() if name.startswith("saved.")})
        assert len(kept[-1]) == remark.data["values"]
    for row, saved, other in zip(rows, kept, wanted, strict=True):
        found = evaluate(unit, {"forward": {"x": row["x"]}, "backward": {**saved, "grad.y": row["grad.y"]}})["backward"]
        assert found.keys() == other.keys() - {"y"}
        for name, value in found.items():
            assert value.tobytes() == other[name].tobytes(), name


def unit_inputs(unit: object, name: str) -> dict[str, tuple[int, ...]]:
    """Shapes of the arguments of an entry function."""
    from ttc.dialects.core.ir.entries import entry_functions, ports
    from ttc.dialects.core.ir.spec import spec_of

    (function,) = [f for f in entry_functions(unit.module) if f.sym_name.data == name]  # pyright: ignore[reportAttributeAccessIssue]
    arguments, _ = ports(function)
    return {port.name: spec_of(x.type).shape for port, x in zip(arguments, function.body.block.args, strict=True)}


def test_a_program_with_a_loss_has_no_such_option() -> None:
    with pytest.raises(Error, match="--stash is for programs without a loss"):
        _ = TrainOptions(loss="mse", stash=True).wanted
    with pytest.raises(Error, match="--stash makes a training program"):
        _ = TrainOptions(stash=True).wanted
