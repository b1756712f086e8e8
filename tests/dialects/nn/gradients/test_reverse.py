"""Cotangents of slices of one value: joined where they lie side by side, else added up."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block, Operation, SSAValue

from tests.ops.cases import spec
from ttc.dialects.core.ir.spec import tensor_type
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.nn.gradients.reverse import pull_back


def of_slices(*spans: tuple[int, int]) -> tuple[Operation, list[SSAValue]]:
    """What makes the cotangent of x[2, 6] of which columns [start, start + count) are read, and the cotangents of these."""
    block = Block(arg_types=[tensor_type(spec(2, 6))])
    maker = GradientMaker(block, WeightStore())
    x = block.args[0]
    read = [maker.nn("slice", x, starts=(0, start), sizes=(2, count), steps=(1, 1)) for start, count in spans]
    seeds = {part: maker.constant(np.ones((2, count), np.float32)) for part, (_, count) in zip(read, spans, strict=True)}
    found = pull_back(maker, [part.owner for part in read if isinstance(part.owner, Operation)], seeds, [x])[x].owner
    assert isinstance(found, Operation)
    return found, list(seeds.values())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_slices_side_by_side_are_joined_in_their_places(order: tuple[int, ...]) -> None:
    spans = ((0, 2), (2, 1), (3, 3))
    found, seeds = of_slices(*(spans[i] for i in order))
    assert found.name == "nn.concat"
    assert list(found.operands) == [seeds[order.index(i)] for i in range(3)]


@pytest.mark.parametrize("spans", [((0, 4), (3, 3)), ((0, 2), (3, 3)), ((0, 2), (2, 3)), ((0, 3), (0, 3), (3, 3)), ((0, 3), (0, 6))])
def test_others_are_added(spans: tuple[tuple[int, int], ...]) -> None:
    found, _ = of_slices(*spans)
    assert found.name == "nn.add"
