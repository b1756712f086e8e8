"""Functions of Python in the middle of a model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, prop_def, var_operand_def, var_result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, STR, STRS
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp


def result_text(spec: Spec) -> str:
    """Return the type of a result as the op has it: `float32:3x4`."""
    return f"{spec.dtype}:{'x'.join(map(str, spec.shape))}"


@irdl_op_definition
class HostCallOp(NNOp):
    """What a function of Python makes of tensors, called in the process that runs the program: ys = f(*xs).

    No archive can hold it.  It stays where nothing reads its results.

    Args:    xs: tensors of any dtype.
             function: the name under which the process knows it; with `.gradient` behind it, what gives the gradients of the first `count`
             operands that are floating point, from these and those of its results.
             count: operands of the function itself.
             types: of the results, `float32:3x4`.
    Returns: ys: one tensor a type.  A function that fails, or gives others, is E0815 when the op runs.
    Raises:  E0402 for a type that is none, or a count that is not of the operands.
    Source:  ttc.host.
    """

    name = "nn.host_call"
    EFFECT: ClassVar[bool] = True
    xs = var_operand_def(TENSOR)
    function = prop_def(STR)
    count = prop_def(INT)
    types = prop_def(STRS)
    ys = var_result_def(TENSOR)

    @classmethod
    def infer(cls, *xs: Spec, function: str, count: int, types: tuple[str, ...]) -> tuple[Spec, ...]:
        if not 0 <= count <= len(xs):
            raise Error("E0402", f"a function of {count} operands cannot be called with {len(xs)}")
        return tuple(_spec(text) for text in types)


def _spec(text: str) -> Spec:
    dtype, _, sizes = text.partition(":")
    try:
        return Spec(tuple(int(size) for size in sizes.split("x") if sizes), np.dtype(dtype))
    except (TypeError, ValueError):
        raise Error("E0402", f"'{text[:80]}' is no type of a result", hint="write float32:3x4") from None
