"""Names and values as the page shows them: text of bounded length."""

from __future__ import annotations

from collections.abc import Iterable

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.to_plain import plain_attr, plain_type
from ttc.dialects.core.plain.functions import TensorType

MAX_CHARACTERS = 512
"""The most characters of one name or value; a longer one keeps its two ends."""


def clipped(text: object) -> str:
    """Return a value as text of at most MAX_CHARACTERS characters: of a longer one the two ends."""
    found = str(list(text)) if isinstance(text, tuple) else str(text)
    half = MAX_CHARACTERS // 2
    return found if len(found) <= MAX_CHARACTERS else f"{found[: half - 1]}…{found[-half:]}"


def all_clipped(texts: Iterable[object]) -> list[str]:
    """Return each value as text of bounded length."""
    return [clipped(text) for text in texts]


def tensor_text(tensor: TensorType) -> str:
    """Return a tensor's type as people read it: `1x56x56x64 Bfp8_b`, and its layout where it lies in tiles."""
    layout = "" if tensor.layout == "rows" else f" {tensor.layout}"
    return clipped(f"{'x'.join(map(str, tensor.shape)) or 'scalar'} {tensor.format}{layout}")


def type_text(type_: object) -> str:
    """Return the type of a value of IR as people read it."""
    return tensor_text(plain_type(type_))  # pyright: ignore[reportArgumentType] - whatever type a value has


def attributes_of(op: TtcOp) -> dict[str, str]:
    """Return the attributes of an op as texts by name; of a parameter or constant its value alone, as IR text."""
    if isinstance(op, LeafOp):
        return {"value": clipped(op.value)}
    return {name: clipped(plain_attr(value)) for name, value in op.plain_attrs().items()}
