"""Marks as ops of PyTorch, which torch.export keeps: identities and reductions that can be told from others."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.node import has_side_effect

from ttc.dialects.core.errors import Error
from ttc.marks.readings import ProbeReading, Sink, show, watch

REDUCTIONS = ("none", "mean", "sum")
"""Ways to reduce a marked loss."""


def probe(x: torch.Tensor, name: str, *, sink: Sink = "print", only_bad: bool = False) -> torch.Tensor:
    """Return x, and show its value whenever it is computed, and its gradient, as NAME_gradient, in the backward pass.

    It stays where nothing reads its result, but is no part of torch.compile.

    Args:
        x: any tensor.
        name: that values are shown under.
        sink: print: the standard error output; a function that is called with a `ProbeReading`; or the path of a file to which lines are
            added.
        only_bad: whether values are shown that hold a NaN or an infinity, and no others.
    Raises: E0101 for a name or a sink that cannot be.
    """
    watch(name, sink, only_bad=only_bad)
    return torch.ops.ttc.probe(x, name)


def mark_loss(x: torch.Tensor, reduction: str = "none") -> torch.Tensor:
    """Return x, reduced, and mark it as part of the loss that `ttc.training(model, loss="marked")` trains.

    Several marked losses are added, but those that another one follows from.

    Args:
        x: floating point.
        reduction: none, mean or sum, over all elements.
    Raises: E0101 for another reduction.
    """
    if reduction not in REDUCTIONS:
        raise Error("E0101", f"a loss has no reduction '{str(reduction)[:40]}'", hint=", ".join(REDUCTIONS))
    return torch.ops.ttc.mark_loss(x, reduction)


@torch.library.custom_op("ttc::probe", mutates_args=())
def _probe(x: torch.Tensor, name: str) -> torch.Tensor:
    show(ProbeReading(name, x.detach().clone().numpy() if x.dtype != torch.bfloat16 else x.detach().float().numpy()))
    return x.clone()


@torch.library.custom_op("ttc::mark_loss", mutates_args=())
def _mark_loss(x: torch.Tensor, reduction: str) -> torch.Tensor:
    return _reduced(x, reduction)


def _reduced(x: torch.Tensor, reduction: str) -> torch.Tensor:
    return x.clone() if reduction == "none" else getattr(x, reduction)()


def _name(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.name = inputs[1]


def _shape(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.shape, ctx.reduction = inputs[0].shape, inputs[1]


def _loss_gradient(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
    count = ctx.shape.numel() if ctx.reduction == "mean" else 1
    return (dy if ctx.reduction == "none" else dy.expand(ctx.shape) / count), None


_probe.register_fake(lambda x, name: torch.empty_like(x))
_probe.register_autograd(lambda ctx, dy: (torch.ops.ttc.probe(dy, f"{ctx.name}_gradient"), None), setup_context=_name)
_mark_loss.register_fake(_reduced)
_mark_loss.register_autograd(_loss_gradient, setup_context=_shape)
has_side_effect(torch.ops.ttc.probe.default)
has_side_effect(torch.ops.ttc.mark_loss.default)
