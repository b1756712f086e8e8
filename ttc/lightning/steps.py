"""Compiled steps in the place of those of a LightningModule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType, MethodType
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.core.optimizer import LightningOptimizer
from torch import nn

from ttc.dynamo.limited import compile_limited

STEPS = ("training_step", "validation_step", "test_step", "predict_step")
"""Methods of a LightningModule that are compiled."""
OUTSIDE = (
    *("log", "log_dict", "print", "optimizers", "lr_schedulers", "manual_backward", "clip_gradients", "all_gather"),
    *("toggle_optimizer", "untoggle_optimizer", "save_hyperparameters"),
)
"""Methods of a LightningModule that speak to its Trainer: between two graphs, not in one."""


class CompiledSteps:
    """Puts compiled steps into models, and takes them out again; what was compiled stays for the next time.

    Args:
        options: of the backend of `torch.compile`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._outside: dict[Any, Callable[..., Any]] = {}
        self._changed: list[tuple[nn.Module, str, Any]] = []

    def put_into(self, module: LightningModule) -> None:
        """Replace the steps of a model, unless `torch.compile` made it: its author has chosen then."""
        self.take_out()
        if module._compiler_ctx is not None:
            return
        for name in OUTSIDE:
            self._keep_outside(module, name)
        for metric in module.modules():
            if _is_metric(metric):
                self._keep_outside(metric, "forward")
        for name in STEPS:
            self._set(module, name, self._step(module, getattr(module, name)))

    def take_out(self) -> None:
        """Give models back what they had."""
        for module, name, before in reversed(self._changed):
            if before is None:
                vars(module).pop(name, None)
            else:
                vars(module)[name] = before
        self._changed.clear()

    def _set(self, module: nn.Module, name: str, value: Any) -> None:
        self._changed.append((module, name, vars(module).get(name)))
        vars(module)[name] = value

    def _keep_outside(self, module: nn.Module, name: str) -> None:
        """Let no graph take a method in.  All models of a class get the same function: compiled steps know it again."""
        method = getattr(module, name)
        if isinstance(method, MethodType):
            if method.__func__ not in self._outside:
                self._outside[method.__func__] = _outside(method.__func__)
            self._set(module, name, MethodType(self._outside[method.__func__], module))

    def _step(self, module: LightningModule, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that is compiled when it first runs: one for all models of a class."""
        function = step.__func__ if isinstance(step, MethodType) else step
        if not isinstance(function, FunctionType):
            return step
        if function not in self._compiled:
            self._compiled[function] = compile_limited(function, function.__name__, self._options)
        compiled = self._compiled[function]
        of = (step.__self__,) if isinstance(step, MethodType) else ()

        @wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            return compiled(*of, *args, **named)

        return run


def _outside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that no graph takes in, nor methods of optimizers that it gives."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        given = function(*args, **named)
        for value in given if isinstance(given, list) else [given]:
            if isinstance(value, LightningOptimizer):
                _keep_optimizer_outside(value)
        return given

    return torch.compiler.disable(call, reason="it speaks to the Trainer")


def _keep_optimizer_outside(optimizer: LightningOptimizer) -> None:
    for name in ("step", "zero_grad", "toggle_model"):
        if name not in vars(optimizer):
            vars(optimizer)[name] = torch.compiler.disable(getattr(optimizer, name), reason="it speaks to the Trainer")


def _is_metric(module: nn.Module) -> bool:
    """Return whether it is a metric of torchmetrics, which counts on the host."""
    return any(kind.__module__.startswith("torchmetrics.") and kind.__name__ == "Metric" for kind in type(module).__mro__)
