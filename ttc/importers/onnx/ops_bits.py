"""Rows for ONNX ops on bits."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_elementwise import same
from ttc.importers.onnx.tensors import DTYPES, type_name

bitwise_and_18 = same("bitwise_and")
bitwise_or_18 = same("bitwise_or")
bitwise_xor_18 = same("bitwise_xor")


def bitwise_not_18(b: Builder, x: SSAValue) -> SSAValue:
    """The difference from all ones."""
    dtype = b.dtype(x)
    return b.nn("bitwise_xor", x, b.constant(np.array(-1).astype(dtype)))


def bit_shift_11(b: Builder, x: SSAValue, by: SSAValue, *, direction: str) -> SSAValue:
    if direction not in ("LEFT", "RIGHT"):
        raise Error("E0402", f"direction is LEFT or RIGHT, not '{direction[:20]}'")
    return b.nn("shift_left" if direction == "LEFT" else "shift_right", x, by)


def bit_cast_26(b: Builder, x: SSAValue, *, to: int) -> SSAValue:
    dtype = DTYPES.get(to)
    if dtype is None:
        raise Unsupported(f"tensors of {type_name(to)}")
    return b.nn("bitcast", x, source=b.dtype(x), dtype=dtype)
