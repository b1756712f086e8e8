"""Ops that give a result for any data."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import DYNAMIC, Spec, tensor_type
from ttc.dialects.nn.base import NNOp, ops
from ttc.dialects.nn.total import _TOTAL, is_total

HERE = named_location("here")


def value(dtype: str, *shape: int) -> SSAValue:
    return test.TestOp(result_types=[tensor_type(Spec(shape, np.dtype(dtype)))]).results[0]


def literal(*indices: int) -> SSAValue:
    attribute = LiteralAttr.of(np.array(indices, np.int64))
    return ConstantOp.make((), {"value": attribute}, [tensor_type(attribute.spec)], HERE).results[0]


def built(name: str, *operands: SSAValue | None, **attrs: object) -> NNOp:
    return ops()[name].build(*operands, location=HERE, **attrs)


X, WHOLE = value("float32", 3, 4), value("int64", 3, 4)


@pytest.mark.parametrize(
    ("op", "total"),
    [
        (built("exp", X), True),
        (built("where", value("bool"), X, X), True),
        (built("matmul", X, value("float32", 4, 5), None, transpose_a=False, transpose_b=False), True),
        (built("div", X, X), True),
        (built("div", WHOLE, WHOLE), False),
        (built("gather", X, literal(2, -3), axis=0), True),
        (built("gather", X, literal(3), axis=0), False),
        (built("gather", X, WHOLE, axis=0), False),
        (built("exp", value("float32", DYNAMIC)), False),
        (built("reduce_max", value("float32", 0, 2), axes=(0,), keepdims=False), False),
        (built("non_zero", X), False),
        (built("cholesky", value("float32", 3, 3)), False),
    ],
    ids=lambda x: x.name if isinstance(x, NNOp) else "",
)
def test_ops(op: NNOp, total: bool) -> None:
    assert is_total(op) == total


def test_names_are_those_of_ops() -> None:
    assert {name.removeprefix("nn.") for name in _TOTAL} <= set(ops())
