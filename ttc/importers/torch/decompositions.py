"""The ops that PyTorch takes apart before they are mapped: all it can that have no mapping."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

from ttc.importers.torch.composites import composites
from ttc.importers.torch.tables import rows


def overload_name(op: Any) -> str:
    """Return the name of an overload: `aten.add.Tensor`; for higher-order ops `higher_order.cond`."""
    if isinstance(op, torch._ops.OpOverload):
        return str(op)
    return f"higher_order.{op.name()}" if isinstance(op, torch._ops.HigherOrderOperator) else str(op)


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's decompositions of functional ops without a mapping: into core aten, or where there is none, its reference ops.

    Core ops are never taken apart further: one without a mapping is reported by its own name.
    """
    import torch._refs  # registers decompositions
    from torch._decomp import global_decomposition_table

    table = {op: how for op, how in global_decomposition_table["post_autograd"].items() if _is_wanted(op)}
    table.update(torch.export.default_decompositions().items())
    table.update(chunked_losses())
    table.update(composites())
    return {op: how for op, how in table.items() if overload_name(op) not in rows()}


def chunked_losses() -> dict[Any, Callable[..., Any]]:
    """Return losses of linear layers that PyTorch (2.13 on) computes by chunks of the batch as the layer and the loss that they are."""
    if find_spec("torch.nn.modules.linear_cross_entropy") is None:
        return {}
    import_module("torch.nn.modules.linear_cross_entropy")  # which registers the ops
    found = {"_linear_cross_entropy_batch_chunked": _chunked_loss, "_linear_cross_entropy_batch_chunked_no_reduction": _chunked_losses}
    space = torch.ops.torch_nn
    return {getattr(space, name).default: how for name, how in found.items() if hasattr(space, name)}


def _chunked_loss(
    x: Any, linear: Any, target: Any, bias: Any, weight: Any, reduction: str, ignored: int, smoothing: float, *rest: Any
) -> Any:
    """The loss, and in place of gradients tensors without elements.  rest: sizes of chunks, and last which gradients are wanted, too."""
    if any(rest[-3:]):
        return NotImplemented
    found = torch.nn.functional.cross_entropy(
        torch.nn.functional.linear(x, linear, bias), target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
    )
    return found, x.new_zeros((0, 0)), x.new_zeros((0, 0)), x.new_zeros((0,))


def _chunked_losses(x: Any, linear: Any, target: Any, bias: Any, weight: Any, ignored: int, *_: Any) -> Any:
    """Return the loss of each sample."""
    logits = torch.nn.functional.linear(x, linear, bias)
    return torch.nn.functional.cross_entropy(logits, target, weight, ignore_index=ignored, reduction="none")


def _is_wanted(op: Any) -> bool:
    return isinstance(op, torch._ops.OpOverload) and not op._schema.is_mutable and torch.Tag.core not in op.tags
