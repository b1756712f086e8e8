"""Rewrites up to a limit."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.ttc.residual import residual_model
from ttc.compiler.driver import compile_path
from ttc.debug.bisect_checks import NumbersKept
from ttc.instruments.limit import RewriteLimit
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_pass, run_stage
from ttc.passes.netlist.size_queues import SizeQueues


@pytest.mark.parametrize(
    ("limit", "marks", "said"),
    [
        (0, 0, "no rewrite happened"),
        (1, 1, "last rewrite 1: mark@1 (stage nn): mark at /Relu: %"),
        (9, 3, "all 3 rewrites happened"),
    ],
)
def test_rewrites_after_the_limit_are_refused(unit: Unit, passes: dict[str, Pass], limit: int, marks: int, said: str) -> None:
    lines: list[str] = []
    watcher = RewriteLimit(limit, lines.append)
    reports = run_stage("nn", [passes["mark"]] * 3, unit, [watcher])
    watcher.finish()
    assert sum(report.rewrites["mark"] for report in reports) == marks
    assert watcher.count == 3
    assert [line[: len(said)] for line in lines] == [said]


def test_what_later_passes_count_on_is_refused_only_if_asked(small_onnx: Path) -> None:
    unit = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "netlist:balance"})).unit
    for watcher, sized in ((RewriteLimit(2), 4), (RewriteLimit(2, partial=True), 2)):
        again = Unit(unit.module.clone(), unit.weights, unit.target)
        assert run_pass(SizeQueues(), again, [watcher]).rewrites["size-queue"] == sized


@pytest.mark.parametrize("fields", [{"target": "host"}, {"target": "n300", "chips": 2}, {"kernels": "buda", "format": "Bfp8_b"}])
def test_any_number_of_rewrites_gives_an_archive_that_computes_the_same(fields: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "residual.onnx"
    onnx.save(residual_model(), path)
    kept = NumbersKept(None)
    assert kept(compile_path(path, resolve(CompileOptions, {"to": "import"})).unit) is None
    every = RewriteLimit()
    compile_path(path, resolve(CompileOptions, fields), [every])
    for limit in range(every.count + 1):
        found = compile_path(path, resolve(CompileOptions, fields), [RewriteLimit(limit)])
        assert found.package is not None
        assert list(found.package.netlist.programs) == ["forward"]
        assert kept(found.unit) is None
