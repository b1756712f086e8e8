"""Functions of Python in the middle of a model."""

from __future__ import annotations

import re
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, prop_def, var_operand_def, var_result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, STR, STRS
from ttc.dialects.core.ir.spec import NUMBERS, Spec
from ttc.dialects.nn.base import TENSOR, NNOp

_TYPE = re.compile(r"([a-z0-9_]{1,20}):((?:[0-9]{1,12}(?:x[0-9]{1,12})*)?)")


@irdl_op_definition
class HostCallOp(NNOp):
    """Call a function of Python with tensors, in the process that runs the program: ys = f(*xs).

    No archive can hold it.  It stays where nothing reads its results, and is called at each run, also on constants.  What it gives
    depends on its operands alone, so that equal calls are one.

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
    match = _TYPE.fullmatch(text)
    dtype = None if match is None else NUMBERS.get(match[1])
    if match is None or dtype is None:
        raise Error("E0402", f"'{text[:80]}' is no type of a result", hint="write float32:3x4")
    return Spec(tuple(int(size) for size in match[2].split("x") if size), dtype)
