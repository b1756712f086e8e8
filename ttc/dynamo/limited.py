"""Functions that are compiled a bounded number of times, after which a call ends in an error, not in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo import config
from torch._dynamo.exc import FailOnRecompileLimitHit

from ttc.dialects.core.errors import Error

MAX_VARIANTS = 64
"""Ways in which one function is compiled: for shapes, and for what differs in Python between its calls."""


def compile_limited(function: Callable[..., Any], name: str, options: Mapping[str, Any], **of_dynamo: Any) -> Callable[..., Any]:
    """Return a function that is compiled when it is first called, and whenever a call differs from all before.

    It raises E0805 where a call is one of too many ways: PyTorch would run the function itself from then on.

    Args:
        name: that the error has for it.
        options: of the backend.
        of_dynamo: further arguments of `torch.compile`.
    """
    make: Any = torch.compile  # whose overloads say less than it takes
    compiled = make(function, backend="ttc", options=dict(options), recompile_limit=MAX_VARIANTS, **of_dynamo)

    def run(*args: Any, **named: Any) -> Any:
        with config.patch(fail_on_recompile_limit_hit=True):
            try:
                return compiled(*args, **named)
            except FailOnRecompileLimitHit as error:
                what = f"{name} differs between its calls in more than {MAX_VARIANTS} ways, each of which is compiled"
                hint = "TORCH_LOGS=recompiles says in what; rows are filled up to a few numbers, and numbers that change go into tensors"
                raise Error("E0805", what, hint=hint) from error

    return run
