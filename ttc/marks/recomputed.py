"""Parts of a model whose values backward passes compute again, as its author marks them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.fx.traceback as fx_traceback

KEY = "ttc_recompute"
"""The key in `meta["custom"]` under which a node of an exported graph has the name of its part."""
F = TypeVar("F", bound=Callable[..., Any])


def recompute(marked: F) -> F:
    """Return a function, or a module, whose inner values backward passes compute again instead of keeping them.

    It changes no number.  The call is marked where ttc compiles the model, also without the option `recompute`.

    Args:   marked: a function of a PyTorch model, or a module, which is marked in place.
    """
    if isinstance(marked, torch.nn.Module):
        marked.forward = recompute(marked.forward)
        return marked  # pyright: ignore[reportReturnType] - what was given
    name = getattr(marked, "__name__", type(marked).__name__)

    @functools.wraps(marked)
    def inside(*arguments: Any, **named: Any) -> Any:
        if not torch.compiler.is_exporting():
            return marked(*arguments, **named)
        before = fx_traceback.current_meta.get("custom", {})
        fx_traceback.current_meta["custom"] = {**before, KEY: name}
        try:
            return marked(*arguments, **named)
        finally:
            fx_traceback.current_meta["custom"] = before

    return inside  # pyright: ignore[reportReturnType] - of the same signature
