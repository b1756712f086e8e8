"""The first rewrite that breaks a model, whatever pass it is in."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.ir import SSAValue

from tests.ttc.planted import REWRITE, plant, plant_with
from tests.ttc.residual import residual_model
from ttc.compiler.driver import compile_path
from ttc.debug.bisect import bisect
from ttc.debug.bisect_checks import NumbersKept, ScriptPasses
from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.ops import NetlistOp, queues_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.eltwise import MapOp
from ttc.instruments.numerics import NumericCheck
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Rewriter, Unit
from ttc.passes.netlist.size_queues import SizeQueues
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering, Rule
from ttc.passes.pipeline import stages
from ttc.passes.pipeline_text import all_passes

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


@pytest.mark.parametrize(
    ("name", "rewrite", "number", "fields"),
    [
        ("keep-sources", "keep-source", 1, {}),
        ("balance", "place-op", 3, {}),
        ("size-queues", "size-queue", 2, {}),
        ("allocate-memory", "allocate-queue", 4, {}),
        ("balance", "place-op", 1, {"target": "host"}),
        ("assign-chips", "spread-program", 1, {"target": "n300", "chips": 2, "parallel": "pipeline"}),
        ("assign-chips", "part-queue", 1, {"target": "n300", "chips": 2, "parallel": "pipeline"}),
    ],
)
def test_a_rewrite_that_does_more_than_it_should_is_named(
    name: str, rewrite: str, number: int, fields: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(residual_model(), tmp_path / "residual.onnx")
    plant_with(monkeypatch, all_passes()[name], rewrite, number)
    culprit = bisect(tmp_path / "residual.onnx", resolve(CompileOptions, fields), NumbersKept(None))
    assert culprit is not None
    assert culprit.run == f"{name}@1"
    assert culprit.rewrite is not None
    assert culprit.rewrite[1].startswith(f"{rewrite} at ")
    assert any("neg" in line for line in culprit.after)
    assert not any("neg" in line for line in culprit.before)


@pytest.mark.parametrize(
    ("operand", "problem"),
    [(1, "the IR is not legal: error[E0303]"), (0, "it cannot be evaluated: error[E0304]: there is no weight 'nowhere'")],
)
def test_ir_that_no_check_can_look_at(operand: int, problem: str, small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewrite that uses a value before its definition, or a weight that there is not."""
    original = SizeQueues.apply

    def apply(self: SizeQueues, unit: Unit, rewriter: Rewriter) -> None:
        original(self, unit, rewriter)
        reader = next(op for op in unit.module.walk() if isinstance(op, NetlistOp))
        if rewriter.allow("planted", reader, required=True):
            if operand:
                reader.operands = [*list(reader.operands)[:-1], reader.results[0]]
            else:
                next(queue for queue in queues_of(unit.module).values() if queue.key is not None).set("key", "nowhere")

    monkeypatch.setattr(SizeQueues, "apply", apply)
    culprit = bisect(small_onnx, options(), NumbersKept(None))
    assert culprit is not None
    assert (culprit.run, culprit.problem[: len(problem)]) == ("size-queues@1", problem)
    assert culprit.rewrite is not None
    assert culprit.rewrite[1].startswith("planted at ")
    with pytest.raises(Error) as caught:
        compile_path(small_onnx, options(), [NumericCheck()])
    assert caught.value.code == "E0505"
    assert caught.value.message.startswith("pass size-queues@1 (stage netlist) breaks the module: it cannot be evaluated: ")


def test_a_wrong_lowering_of_one_op_is_named(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = TO_TILE.rules()
    right: Rule = known["matmul"]

    def wrong(op: NNOp, low: FunctionLowering) -> SSAValue:
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
