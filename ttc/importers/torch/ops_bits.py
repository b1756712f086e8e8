"""Bitwise ops; of truth values they are logic."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import BOOL, binary
from ttc.importers.torch.tables import Rows


def invert(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("not", x) if b.dtype(x) == BOOL else b.nn("bitwise_xor", x, b.constant(np.array(~b.dtype(x).type(0), b.dtype(x))))


def _logic(op: str) -> tuple[str, ...]:
    return (
        *(f"aten.bitwise_{op}.{kind}" for kind in ("Tensor", "Scalar", "Scalar_Tensor")),
        f"aten.__{op}__.Tensor",
        f"aten.__{op}__.Scalar",
    )


def _shift(long: str, short: str) -> tuple[str, ...]:
    kinds = (f"aten.bitwise_{long}_shift.{kind}" for kind in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"))
    return (*kinds, f"aten.__{short}shift__.Tensor", f"aten.__{short}shift__.Scalar")


ROWS: Rows = {
    **dict.fromkeys(_logic("and"), binary("bitwise_and", "and")),
    **dict.fromkeys(_logic("or"), binary("bitwise_or", "or")),
    **dict.fromkeys(_logic("xor"), binary("bitwise_xor", "xor")),
    **dict.fromkeys(_shift("left", "l"), binary("shift_left")),
    **dict.fromkeys(_shift("right", "r"), binary("shift_right")),
    "aten.bitwise_not.default": invert,
}
