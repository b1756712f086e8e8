"""A wrong rewrite of a step of the native engine is found, and a wrong kernel told from one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ttc.debug.bisect import Culprit, bisect
from ttc.debug.bisect_checks import NumbersKept
from ttc.debug.bisect_plan import PlanSearch
from ttc.options import CompileOptions, resolve
from ttc.runtime.engines.native.graph.nodes import Flat
from ttc.runtime.engines.native.graph.region import Region, RegionStep, identity
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.lower import can_take_region
from ttc.runtime.engines.native.prepare import lower_nodes, steps
from ttc.runtime.engines.native.prepare.rewriter import Allow


def searched(model: Path) -> Culprit | None:
    numbers = NumbersKept(None)
    return bisect(model, resolve(CompileOptions, {"batch": "2", "target": "host"}), numbers, (), PlanSearch(numbers))


def negating(fuse: Callable[[Flat, Allow], None]) -> Callable[[Flat, Allow], None]:
    """The step with one more rewrite, which negates what the first node that can take a region computes."""

    def planted(flat: Flat, allow: Allow) -> None:
        fuse(flat, allow)
        at, node = next((at, node) for at, node in enumerate(flat.nodes) if can_take_region(node.work.op))
        if allow("planted", node):
            old = node.region or identity("f32")
            region = Region(old.inputs, (*old.steps, RegionStep("neg", (old.output,), "f32")), len(old.inputs) + len(old.steps))
            flat.nodes[at] = replace(node, region=region, parts=node.parts or (node,))

    return planted


def test_nothing_is_wrong(small_onnx: Path) -> None:
    assert searched(small_onnx) is None


def test_the_rewrite_of_a_step_is_found(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "fuse_regions", negating(steps.fuse_regions))
    found = searched(small_onnx)
    assert found is not None
    assert (found.stage, found.run, found.text) == ("native", "fuse-regions@1", "fuse-regions")
    assert found.problem.startswith("output 'probabilities': max abs ")
    assert found.rewrite is not None
    assert found.rewrite[1].startswith("planted at ")
    assert [line for line in found.after if "neg" in line] != []
    assert len(found.before) == len(found.after) == 1


def test_a_wrong_kernel_is_told_from_a_wrong_step(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = lower_nodes.lowering_of

    def unchanged(n: Lowering) -> None:
        n.alias(n.operand(0))

    monkeypatch.setattr(lower_nodes, "lowering_of", lambda op: unchanged if op == "tile.softmax" else right(op))
    found = searched(small_onnx)
    assert found is not None
    assert (found.run, found.rewrite) == ("lower@1", None)
    assert len(found.after) == 1
    assert "OUT OF bound" in found.after[0]
