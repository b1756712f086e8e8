"""Bitwise ops; of truth values they are logic."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import BOOL, binary
from ttc.importers.torch.tables import Rows


def invert(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("not", x) if b.dtype(x) == BOOL else b.nn("bitwise_xor", x, b.constant(np.array(~b.dtype(x).type(0), b.dtype(x))))


def _kinds(*names: str) -> tuple[str, ...]:
    return tuple(f"aten.{name}.{kind}" for name in names for kind in ("Tensor", "Scalar", "Scalar_Tensor", "Tensor_Scalar"))


ROWS: Rows = {
    **dict.fromkeys(_kinds("bitwise_and", "__and__"), binary("bitwise_and", "and")),
    **dict.fromkeys(_kinds("bitwise_or", "__or__"), binary("bitwise_or", "or")),
    **dict.fromkeys(_kinds("bitwise_xor", "__xor__"), binary("bitwise_xor", "xor")),
    **dict.fromkeys(_kinds("bitwise_left_shift", "__lshift__"), binary("shift_left")),
    **dict.fromkeys(_kinds("bitwise_right_shift", "__rshift__"), binary("shift_right")),
    "aten.bitwise_not.default": invert,
}
