"""What nodes do with their results before they store them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.execution import plan
from ttc.runtime.engines.native.graph.nodes import Flat
from ttc.runtime.engines.native.prepare import steps
from ttc.runtime.engines.native.prepare.fusion import MAX_STEPS

_PRODUCT = {"transpose_a": False, "transpose_b": False}


def _product(*works: Work, precision: str, format: str = "Float16_b") -> Ran:
    given = [Given(normal(9, 20), format), Given(normal(20, 33), format, constant=True)]
    return ran([Work("tile.matmul", (0, 1), _PRODUCT, (TensorType((9, 33), format),)), *works], given, precision=precision)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("activation", [None, "relu"])
def test_entries_of_queues_are_rounded_but_not_converted(monkeypatch: pytest.MonkeyPatch, precision: str, activation: str | None) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("an entry was converted in Python")

    monkeypatch.setattr(plan.RunValues, "entry", refused)
    names = {"names": (), "values": ()}
    works = [] if activation is None else [Work("tile.map", (2,), {"fn": activation, **names}, (TensorType((9, 33), "Float16_b"),))]
    found = _product(*works, precision=precision)
    assert not (found.native.view(np.uint32) & 0xFFFF).any()
    assert np.abs(found.native - found.reference).max() < 1e-2 * np.abs(found.reference).max()


def test_regions_that_grow_by_joining_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fused: list[Flat] = []
    join = steps.fuse_regions
    monkeypatch.setattr(steps, "fuse_regions", lambda flat, allow: (join(flat, allow), fused.append(flat)))
    ops, x = 2 * MAX_STEPS, TensorType((4,), "Float32")
    works = [Work("tile.map", (i, 0), {"fn": "add", "names": (), "values": ()}, (x,)) for i in range(ops)]
    found = ran(works, [Given(normal(4), "Float32")])
    sizes = [len(node.region.steps) for node in fused[0].nodes if node.region is not None]
    assert max(sizes) <= MAX_STEPS
    assert sum(sizes) >= ops - len(sizes)
    found.close(1e-5)
