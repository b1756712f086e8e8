"""Modules whose activations are not kept for the backward pass, but computed again in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

_MARK = "_ttc_recomputes"


def recompute(model: nn.Module, kinds: Sequence[type[nn.Module]]) -> int:
    """Let modules of the classes compute their activations again, the outermost of those that lie in each other; return how many do.

    Parameters keep their names.
    """
    count = 0
    for inner in model.children():
        if isinstance(inner, tuple(kinds)):
            if not hasattr(inner.forward, _MARK):
                inner.forward = _again(inner.forward)
            count += 1
        else:
            count += recompute(inner, kinds)
    return count


def _again(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def run(*x: Any, **named: Any) -> Any:
        return checkpoint(forward, *x, use_reentrant=False, **named)

    setattr(run, _MARK, True)
    return run
