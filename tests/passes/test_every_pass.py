"""Every pass of the pipeline: one stem for file, class, name and test, and IR before and after that its test executes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from tests.passes.documented import pair
from ttc.dialects.core.machines.chip_groups import ChipGroups
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.base import Pass
from ttc.passes.nn.differentiate import Differentiate
from ttc.passes.pipeline import PipelineSettings, stages
from ttc.passes.training import TrainingPlan

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (load_target("n150"), replace(load_target("n150"), kernels="buda"), load_target("host"))
FOLDERS = {"nn": ("nn",), "tile": ("nn_to_tile", "tile"), "netlist": ("tile_to_netlist", "netlist")}
"""Folders of passes/ that hold the passes of a stage."""

TRAINING = TrainingPlan("mse", None, (("sgd",),), clip_norm=1.0)
PIPELINES = (
    *map(stages, TARGETS),
    stages(load_target("n150"), PipelineSettings(chips=(0, 1), divides=ChipGroups(((0, 1),)))),
    stages(load_target("host"), PipelineSettings(gradients=Differentiate())),
    stages(load_target("host"), PipelineSettings(training=TRAINING)),
    stages(load_target("host"), PipelineSettings(training=replace(TRAINING, stash=True))),
)
EVERY = {type(pass_): stage for pipeline in PIPELINES for stage, found in pipeline.items() for pass_ in found}
CHECKS = {"docstring", "check_pair"}
"""Functions of tests that execute the IR of a docstring."""


def classes() -> Iterator[tuple[str, str]]:
    """Path below passes/ and name of every class that derives Pass."""
    for path in sorted((ROOT / "passes").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id == "Pass" for base in node.bases):
                yield str(path.relative_to(ROOT / "passes")), node.name


def executed(test: Path) -> set[str]:
    """Classes of passes whose docstrings a test executes: `check(FuseBias(...), ...)`."""
    calls = [node for node in ast.walk(ast.parse(test.read_text())) if isinstance(node, ast.Call) and node.args]
    passes = [call.args[0].func for call in calls if _called(call.func) in CHECKS and isinstance(call.args[0], ast.Call)]
    return {_called(function) for function in passes}


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def test_the_pipeline_has_every_pass() -> None:
    assert sorted(name for _, name in classes()) == sorted(kind.__name__ for kind in EVERY)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_file_class_name_and_test_share_a_stem(kind: type[Pass]) -> None:
    stem = kind.name.replace("-", "_")
    source = Path(sys.modules[kind.__module__].__file__ or "").relative_to(ROOT / "passes")
    assert source.stem == stem
    assert source.parent.name in FOLDERS[EVERY[kind]]
    assert kind.__name__ == "".join(word.capitalize() for word in stem.split("_"))
    assert (ROOT / "tests" / "passes" / source.parent / f"test_{stem}.py").is_file()


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_ir_before_and_after_is_executed(kind: type[Pass]) -> None:
    pair(kind)
    with pytest.raises(FrozenInstanceError):
        vars(kind)["__setattr__"](object.__new__(kind), "changed", True)
    source = Path(sys.modules[kind.__module__].__file__ or "").relative_to(ROOT / "passes")
    assert kind.__name__ in executed(ROOT / "tests" / "passes" / source.parent / f"test_{source.stem}.py")
