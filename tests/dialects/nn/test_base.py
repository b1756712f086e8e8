"""Making nn ops: result types that are remembered, by what makes them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Block

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.nn.base import NNOp, ops


def made(op: str, *types: Attribute, **attrs: object) -> NNOp:
    return ops()[op].build(*Block(arg_types=types).args, location=named_location("here"), **attrs)


def single(*shape: int, dtype: type = np.float32) -> TensorType:
    return tensor_type(Spec(shape, np.dtype(dtype)))


def test_types_of_results_follow_operands_and_attributes() -> None:
    for _ in range(2):
        assert spec_of(made("add", single(2, 3), single(3)).results[0].type) == Spec((2, 3), np.dtype(np.float32))
        assert spec_of(made("add", single(2, 3, dtype=np.float64), single(3, dtype=np.float64)).results[0].type).dtype == np.float64
        assert [spec_of(made("concat", single(2, 3), single(2, 3), axis=axis).results[0].type).shape for axis in (0, 1)] == [(4, 3), (2, 6)]


def test_types_that_do_not_stay_are_told_apart() -> None:
    """Objects that are made and dropped take the places of each other in memory."""
    for size in range(1, 40):
        assert spec_of(made("neg", TensorType(f32, [size])).results[0].type).shape == (size,)


def test_attributes_that_are_equal_are_kept_as_they_were_given() -> None:
    padding = {"before": (1,), "after": (0,), "mode": "constant"}
    values = [made("pad", single(3), value=value, **padding).plain_attrs()["value"] for value in (0.0, -0.0)]
    assert [str(value) for value in values] == ["0.0", "-0.0"]


def test_what_cannot_be_made_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(Error) as caught:
            made("add", single(2), single(3))
        assert (caught.value.code, caught.value.where) == ("E0401", "here")
