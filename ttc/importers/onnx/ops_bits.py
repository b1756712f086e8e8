"""Rows for ONNX ops on bits."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_elementwise import same
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import DTYPES, type_name

MAPPINGS.add("BitwiseAnd-18", same("bitwise_and"))
MAPPINGS.add("BitwiseOr-18", same("bitwise_or"))
MAPPINGS.add("BitwiseXor-18", same("bitwise_xor"))


@MAPPINGS.rule("BitwiseNot-18")
def bitwise_not_18(b: Builder, x: SSAValue) -> SSAValue:
    """Return the difference from all ones."""
    dtype = b.dtype(x)
    return b.nn("bitwise_xor", x, b.constant(np.array(-1).astype(dtype)))


@MAPPINGS.rule("BitShift-11")
def bit_shift_11(b: Builder, x: SSAValue, by: SSAValue, *, direction: str) -> SSAValue:
    if direction not in ("LEFT", "RIGHT"):
        raise Error("E0402", f"direction is LEFT or RIGHT, not '{direction[:20]}'")
    return b.nn("shift_left" if direction == "LEFT" else "shift_right", x, by)


@MAPPINGS.rule("BitCast-26")
def bit_cast_26(b: Builder, x: SSAValue, *, to: int) -> SSAValue:
    dtype = DTYPES.get(to)
    if dtype is None:
        raise Unsupported(f"tensors of {type_name(to)}")
    return b.nn("bitcast", x, source=b.dtype(x), dtype=dtype)
