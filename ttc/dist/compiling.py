"""Compiling modules of a process, each with a frame of its own: TorchDynamo keeps 8 graphs of a function, and modules share one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import FunctionType
from typing import Any

import torch
from torch import nn

_NUMBERS = count()


def compile_part(module: nn.Module, target: str | None) -> None:
    """Let a module be compiled with all that it calls, when it is first called; None: PyTorch runs it."""
    if target is not None:
        module._compiled_call_impl = _compiled(module._call_impl, target)


def compile_unit(module: nn.Module, target: str | None) -> None:
    """Let what a module computes be compiled apart from the functions that PyTorch calls before and after it."""
    if target is not None:
        module.forward = _compiled(module.forward, target)
        module._compiled_call_impl = torch.compiler.disable(module._call_impl)


def _compiled(call: Callable[..., Any], target: str) -> Callable[..., Any]:
    """A function, compiled, whose graphs do not count as those of others."""

    def run(*x: Any, **named: Any) -> Any:
        return call(*x, **named)

    code = run.__code__.replace(co_name=f"run_{next(_NUMBERS)}")
    own = FunctionType(code, run.__globals__, code.co_name, None, run.__closure__)
    return torch.compile(own, backend="ttc", dynamic=False, options={"target": target, "fallback": False})
