"""The first rewrite that breaks a model, whatever pass it is in."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from xdsl.ir import SSAValue

from tests.ttc.planted import REWRITE, plant
from ttc.bisect import bisect
from ttc.checks import NumbersKept, ScriptPasses
from ttc.dialects.core.errors import Error
from ttc.dialects.core.targets import load_target
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.eltwise import MapOp
from ttc.driver import compile_path
from ttc.instruments.numerics import NumericCheck
from ttc.options import CompileOptions, resolve
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn_to_tile.lowering import Lowering, Rule
from ttc.passes.pipeline import stages
from ttc.passes.pipeline_text import all_passes
from ttc.passes.rule_tables import rules

PIPELINE = list(dict.fromkeys(p.name for passes in stages(load_target("n150")).values() for p in passes))
BUDA = ["expand-composites", "clean-padding", "copy-transposed"]


def options(**fields: object) -> CompileOptions:
    return resolve(CompileOptions, {"batch": 2, **fields})


@pytest.mark.parametrize("name", [*PIPELINE, *BUDA])
def test_a_wrong_rewrite_in_any_pass_is_named(name: str, small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = options(kernels="buda") if name in BUDA else options()
    plant(monkeypatch, all_passes()[name])
    with pytest.raises(Error) as caught:
        compile_path(small_onnx, chosen, [NumericCheck()])
    assert caught.value.code == "E0505"
    assert f"pass {name}@1 " in caught.value.message
    culprit = bisect(small_onnx, chosen, NumbersKept(None))
    assert culprit is not None
    assert culprit.run == f"{name}@1"
    assert culprit.rewrite is not None
    assert culprit.rewrite[1].startswith(f"{REWRITE} at ")
    assert any("neg" in line for line in culprit.after)


def test_a_wrong_lowering_of_one_op_is_named(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = rules("ttc.passes.nn_to_tile", "lower_")
    right: Rule = known["matmul"]

    def wrong(op: NNOp, low: Lowering) -> SSAValue:
        made = right(op, low)
        assert isinstance(made, SSAValue)
        return low.emit(MapOp, made, fn="neg")

    monkeypatch.setitem(known, "matmul", wrong)
    culprit = bisect(small_onnx, options(), NumbersKept(None))
    assert culprit is not None
    assert culprit.run == "lower-to-tile@1"
    assert culprit.rewrite is not None
    assert culprit.rewrite[1].startswith("lower-matmul at /fc/MatMul")


def test_a_model_that_every_pass_keeps(small_onnx: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "inputs.npz"
    np.savez(bundle, x=np.ones((2, 3, 8, 8), np.float32))
    assert bisect(small_onnx, options(), NumbersKept(None)) is None
    with pytest.raises(Error) as caught:
        bisect(small_onnx, options(), NumbersKept(bundle))
    assert caught.value.code == "E0801"


def test_a_script_decides(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Canonicalize)
    script = tmp_path / "check.sh"
    script.write_text("#!/bin/sh\n! grep -q 'nn.neg' \"$1\"\n")
    with pytest.raises(Error) as caught:
        bisect(small_onnx, options(), ScriptPasses(script))
    assert caught.value.code == "E0104"
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    culprit = bisect(small_onnx, options(), ScriptPasses(script))
    assert culprit is not None
    assert (culprit.run, culprit.problem) == ("canonicalize@1", "check.sh ends with status 1")
    script.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(Error) as caught:
        bisect(small_onnx, options(), ScriptPasses(script))
    assert caught.value.code == "E0505"
