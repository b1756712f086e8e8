"""Which ops PyTorch takes apart before they are mapped: all it can that have no mapping."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from ttc.importers.torch.tables import rows


def overload_name(op: Any) -> str:
    """`aten.add.Tensor`; for higher-order ops `higher_order.cond`."""
    if isinstance(op, torch._ops.OpOverload):
        return str(op)
    return f"higher_order.{op.name()}" if isinstance(op, torch._ops.HigherOrderOperator) else str(op)


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's decompositions of functional ops that have no mapping: those into core aten, and where there is none, its reference ops.

    Core ops are never taken apart further: one without a mapping is reported by its own name.
    """
    import torch._refs  # registers decompositions
    from torch._decomp import global_decomposition_table

    table = {op: how for op, how in global_decomposition_table["post_autograd"].items() if _is_wanted(op)}
    table.update(torch.export.default_decompositions().items())
    return {op: how for op, how in table.items() if overload_name(op) not in rows()}


def _is_wanted(op: Any) -> bool:
    return isinstance(op, torch._ops.OpOverload) and not op._schema.is_mutable and torch.Tag.core not in op.tags
