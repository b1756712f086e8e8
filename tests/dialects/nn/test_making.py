"""Mistakes of our own in what mappings and gradient rules make are internal errors, never faults of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.tile.base import Tile, tile_type, twin


@pytest.mark.parametrize(
    ("op", "attrs", "said"),
    [
        ("sofmax", {"axis": 1}, "dialect nn has no op 'sofmax'"),
        ("softmax", {"axes": 1}, "nn.softmax has no attribute 'axes'"),
        ("softmax", {}, "nn.softmax is made without its attribute 'axis'"),
        ("relu", {"alpha": 1.0}, "nn.relu has no attribute 'alpha'"),
        ("add", {}, "nn.add is made of operands that it does not take"),
    ],
)
def test_a_misspelt_row(op: str, attrs: dict[str, Any], said: str) -> None:
    block = Block(arg_types=[tensor_type(Spec((2, 3), np.dtype(np.float32)))])
    with pytest.raises(Error, match=said) as caught:
        GradientMaker(block, WeightStore()).nn(op, block.args[0], **attrs)
    assert caught.value.code == "E0901"


def test_a_misspelt_attribute_of_a_tile_op() -> None:
    block = Block(arg_types=[tile_type(Tile((2, 3), "Float32"))])
    maker = GradientMaker(block, WeightStore())
    with pytest.raises(Error, match=r"tile.softmax has no attribute 'axes'") as caught:
        twin("softmax").build(block.args[0], location=maker.location, axes=1)
    assert (caught.value.code, caught.value.where) == ("E0901", "grad.op")
