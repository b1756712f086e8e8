"""Leaves: the ops of dialect ttc, shared by nn and tile, whose values are not computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    base,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import STR, LiteralAttr, WeightAttr
from ttc.dialects.core.ir.spec import Spec, StringType, tensor_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ttc.dialects.core.plain.weights import Weight, WeightStore


class LeafOp(TtcOp):
    """A value that is not computed: no operands, one result."""

    value = prop_def(base(WeightAttr) | base(LiteralAttr))
    result = result_def()
    traits = traits_def(Pure())

    def check(self) -> None:
        shape = getattr(self.result.type, "get_shape", lambda: None)()
        if shape is not None and tuple(shape) != self.value.spec.shape:
            raise VerifyException(f"the value is {self.value.spec} but the result is {self.result.type}")

    @property
    def key(self) -> str | None:
        """The weight's key; None for a literal."""
        return self.value.key.data if isinstance(self.value, WeightAttr) else None

    def array(self, weights: WeightStore | Mapping[str, Weight]) -> NDArray:
        """Return the value: a literal's own, or that of the weight in the store.  Raises E0304 for a weight that is not there."""
        return self.value.array if isinstance(self.value, LiteralAttr) else weights[self.value.key.data].value()


@irdl_op_definition
class ConstantOp(LeafOp):
    """A constant: a weight of the store, or a small literal.

    Returns: result: a tensor of the value's shape; in dialect tile in the format that the op border asks for.
    """

    name = "ttc.constant"

    @classmethod
    def literal(cls, array: NDArray, location: Attribute) -> ConstantOp:
        """Return a constant that is written out; at most `LiteralAttr.MAX_ELEMENTS` elements can be."""
        value = LiteralAttr.of(array)
        return cls.make((), {"value": value}, [tensor_type(value.spec)], location)

    @classmethod
    def holding(cls, array: NDArray, weights: WeightStore, stem: str, location: Attribute) -> ConstantOp:
        """Return a constant that is written out if the array is small, else one of a new weight."""
        if array.size <= LiteralAttr.MAX_ELEMENTS:
            return cls.literal(array, location)
        return cls.weight(array, weights, stem, location)

    @classmethod
    def weight(cls, array: NDArray, weights: WeightStore, stem: str, location: Attribute) -> ConstantOp:
        """Return a constant of a new weight, whose key begins with the stem."""
        key, spec = weights.fresh(stem), Spec(array.shape, array.dtype)
        weights.add_array(key, np.ascontiguousarray(array))
        return cls.make((), {"value": WeightAttr.of(key, spec)}, [tensor_type(spec)], location)


@irdl_op_definition
class ParamOp(LeafOp):
    """A parameter by its name: a value that may be replaced (and its derived tensors computed anew) without compiling again."""

    name = "ttc.param"
    sym = prop_def(STR)


@irdl_op_definition
class StateOp(LeafOp):
    """The value a state has when the function is entered; `value` is the one it starts with.

    It stays where nothing reads it: a result may update the state, and it says which there are.
    """

    name = "ttc.state"
    sym = prop_def(STR)


def is_unread(op: Operation) -> bool:
    """Return whether an op of ours may be dropped: nothing reads its results, it declares no state, and has no effect."""
    unread = all(r.first_use is None for r in op.results)  # asked first, as most ops are read
    return unread and isinstance(op, TtcOp) and not isinstance(op, StateOp) and not op.EFFECT


CORE = Dialect("ttc", [ConstantOp, ParamOp, StateOp], [WeightAttr, LiteralAttr, StringType])
