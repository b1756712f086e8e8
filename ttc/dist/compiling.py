"""Compiling modules of a process, each with a frame of its own: the graphs of a function are counted, and modules share one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import FunctionType
from typing import Any

import torch
from torch import nn

from ttc.dynamo.limited import compile_limited

_NUMBERS = count()


def compile_part(module: nn.Module, target: str | None) -> None:
    """Let a module be compiled with all that it calls, when it is first called; None: PyTorch runs it."""
    if target is not None:
        module._compiled_call_impl = _compiled(module, module._call_impl, target)


def compile_unit(module: nn.Module, target: str | None) -> None:
    """Let a module's computation be compiled apart from the functions that PyTorch calls before and after it."""
    if target is not None:
        module.forward = _compiled(module, module.forward, target)
        module._compiled_call_impl = torch.compiler.disable(module._call_impl)


def _compiled(module: nn.Module, call: Callable[..., Any], target: str) -> Callable[..., Any]:
    """Return a function of a module, compiled, whose graphs do not count as those of others."""

    def run(*x: Any, **named: Any) -> Any:
        return call(*x, **named)

    code = run.__code__.replace(co_name=f"run_{next(_NUMBERS)}")
    own = FunctionType(code, run.__globals__, code.co_name, None, run.__closure__)
    return compile_limited(own, type(module).__name__, {"target": target, "fallback": False}, dynamic=False)
