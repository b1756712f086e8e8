"""Activations that ops carry with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported


def fused(row: Callable[..., SSAValue]) -> Callable[..., SSAValue]:
    """Return the row of an op that has a row's operands and options and `fused_activation_function`, which its result goes through."""

    @wraps(row)
    def apply(b: Builder, *operands: SSAValue | None, fused_activation_function: str, **options: Any) -> SSAValue:
        return activated(b, row(b, *operands, **options), fused_activation_function)

    return apply


def activated(b: Builder, x: SSAValue, activation: str) -> SSAValue:
    """Apply a fused activation by name.  Raises Unsupported."""
    match activation:
        case "NONE":
            return x
        case "RELU":
            return b.nn("relu", x)
        case "RELU_N1_TO_1":
            return b.nn("clip", x, min=-1.0, max=1.0)
        case "RELU6":
            return b.nn("clip", x, min=0.0, max=6.0)
        case "TANH":
            return b.nn("tanh", x)
        case _:
            raise Unsupported(f"activation {activation}")
