"""Optimizers of stages, and the learning rates that their schedules give."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.training.optimizers import Optimizer, optimizer_of_text
from ttc.optim import is_torch_optimizer
from ttc.train.rates import hyper_of, is_stepped
from ttc.train.schedules import Schedule, of

if TYPE_CHECKING:
    from ttc.runtime.manifest import Training

_IN_TORCH = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW", "rmsprop": "RMSprop", "adagrad": "Adagrad"}
"""Classes of torch.optim by the names of ours; their settings have the same names, but for the betas."""


class StageRates:
    """The optimizer of a stage with its schedule.

    Args:
        optimizer: text, a record of `ttc.optim`, or an instance of `torch.optim`.
        scheduler: what `ttc.train.schedules.of` takes, a scheduler of torch over the instance, or a function that makes one of it.
    Raises: E0101 for a scheduler that is none.
    """

    def __init__(self, optimizer: Any, scheduler: Any = None) -> None:
        self.optimizer = optimizer
        self._steps, self._total = 0, 1
        self._schedule: Schedule | None = None
        self._stepped: Any = None
        self._bases = [float(group["lr"]) for group in optimizer.param_groups] if self._is_torch else []
        if scheduler is None:
            return
        if self._is_torch and callable(scheduler) and not isinstance(scheduler, Schedule) and not hasattr(scheduler, "step"):
            self._stepped = scheduler(optimizer)
        elif self._is_torch and hasattr(scheduler, "step") and hasattr(scheduler, "optimizer"):
            self._stepped = scheduler
        else:
            self._schedule = of(scheduler)
        if self._stepped is not None and getattr(self._stepped, "optimizer", None) is not optimizer:
            raise Error(
                "E0101", "the scheduler is not of the stage's optimizer", hint="give a function: lambda optimizer: StepLR(optimizer, 10)"
            )

    @property
    def _is_torch(self) -> bool:
        return is_torch_optimizer(self.optimizer)

    def step(self, total: int) -> None:
        """Go on to the rate of the next of so many steps."""
        self._steps, self._total = self._steps + 1, total
        if self._stepped is not None:
            is_stepped(self.optimizer)
            self._stepped.step()

    def set_rates(self) -> None:
        """Give groups of an instance of torch the rates that a schedule of ours has now."""
        if self._schedule is not None:
            for group, base in zip(self.optimizer.param_groups, self._bases, strict=True):
                group["lr"] = self._schedule.rate(self._steps, base, self._total)

    def hyper(self, model: Any, training: Training) -> dict[str, float]:
        """Return the values of a program's hyper-parameters now, by the names of their inputs; rates are those of the schedule."""
        if self._is_torch:
            self.set_rates()
            is_stepped(self.optimizer)
        found = {**training.hyper, **hyper_of(self.optimizer, model, training)}
        if self._schedule is None or self._is_torch:
            return found
        rates = [name for name in found if name.partition(".")[0] == "lr"]
        return {**found, **{name: self._schedule.rate(self._steps, found[name], self._total) for name in rates}}


def instance_for(optimizer: Any, parameters: Iterable[Any]) -> Any:
    """Return an optimizer of torch over parameters of a module.

    Args:   optimizer: an instance, which stays itself; a function that makes one of parameters; text; or a record of `ttc.optim`.
    Raises: E0101 for an optimizer that PyTorch does not have, and what is none.
    """
    if is_torch_optimizer(optimizer):
        return optimizer
    if isinstance(optimizer, str | Optimizer):
        return _torch_instance(optimizer_of_text(optimizer) if isinstance(optimizer, str) else optimizer, parameters)
    if callable(optimizer):
        return made_by(cast("Callable[..., Any]", optimizer), parameters)
    raise Error("E0101", f"a {type(optimizer).__name__} is no optimizer", hint="give text, ttc.optim.*, or a function of parameters")


def made_by(function: Callable[..., Any], parameters: Iterable[Any]) -> Any:
    """Return what a user's function makes of parameters.  Raises E0101 if that is no instance of torch.optim."""
    found = function(list(parameters))
    if not is_torch_optimizer(found):
        raise Error("E0101", f"the function of parameters gives a {type(found).__name__}, which is no instance of torch.optim")
    return found


def _torch_instance(optimizer: Optimizer, parameters: Iterable[Any]) -> Any:
    import torch

    optimizer.check()
    if optimizer.NAME not in _IN_TORCH:
        hint = "give the device a function of parameters as its optimizer, or another device"
        raise Error("E0101", f"PyTorch has no optimizer {optimizer.NAME}, and stages on the CPU are updated by PyTorch", hint=hint)
    settings = dataclasses.asdict(cast("Any", optimizer))
    if "beta1" in settings:
        settings["betas"] = (settings.pop("beta1"), settings.pop("beta2"))
    return getattr(torch.optim, _IN_TORCH[optimizer.NAME])(list(parameters), **settings)
