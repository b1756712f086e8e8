"""Types of values in kernels, and of what lies in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from llvmlite import ir

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage

Dtype: TypeAlias = "Storage | Literal['i1', 'ptr']"
"""What a value can be: something that lies in memory, a truth value, or an address."""

_LLVM: dict[str, ir.Type] = {
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
    "f16": ir.HalfType(),
    "bf16": ir.IntType(16),
    "bool": ir.IntType(8),
    "i1": ir.IntType(1),
    "ptr": ir.PointerType(),
    **{f"{sign}{bits}": ir.IntType(bits) for sign in "iu" for bits in (8, 16, 32, 64)},
}
FLOATS = ("f32", "f64")
"""Types that arithmetic in floating point is done in; `f16` and `bf16` are widened when they are read."""


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar (lanes 1) or a vector."""

    dtype: Dtype
    lanes: int = 1

    @property
    def llvm(self) -> ir.Type:
        """The type as llvmlite has it."""
        element = _LLVM[self.dtype]
        return element if self.lanes == 1 else ir.VectorType(element, self.lanes)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_signed(self) -> bool:
        return self.dtype.startswith("i") and self.dtype != "i1"

    def of(self, dtype: Dtype) -> Type:
        """Return the type of as many lanes of another element type."""
        return Type(dtype, self.lanes)


def size_bytes(dtype: Dtype) -> int:
    """Return bytes of one element in memory."""
    return 8 if dtype == "ptr" else 1 if dtype == "i1" else STORAGE_BYTES[dtype]
