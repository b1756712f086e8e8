"""Optimizers and schedulers of PyBuda as those of ttc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ttc import optim
from ttc.compat.names import submodule
from ttc.dialects.core.errors import Error, nearest


class Optimizer:
    """An optimizer by PyBuda's names.

    Args:
        learning_rate: at the start.
        device_params: says that it updates all parameters of its device, which it does anyway.
        parameters: likewise.
        settings: others, by PyBuda's names.
    """

    KIND: type[Any] = optim.SGD
    NAMES: dict[str, str] = {}

    def __init__(self, learning_rate: float = 1e-3, device_params: bool = False, parameters: Any = None, **settings: Any) -> None:
        self.learning_rate = float(learning_rate)
        self.device_params = device_params
        if settings.get("bias_correction") is True:
            del settings["bias_correction"]  # as all of ours do, unless they are told otherwise
        try:
            self.ours = self.KIND(lr=self.learning_rate, **{self.NAMES.get(name, name): value for name, value in settings.items()})
        except TypeError:
            raise Error("E0101", f"{type(self).__name__} does not take {', '.join(settings)[:80]}") from None

    def get_optimizer_params(self, _name: str, _is_buda: bool) -> dict[str, float]:
        """Return the numbers of the optimizer."""
        return {**self.ours.numbers(), "lr": self.learning_rate}


def _kind(name: str, kind: type[Any], names: dict[str, str]) -> type[Optimizer]:
    return type(name, (Optimizer,), {"KIND": kind, "NAMES": names})


class LearningRateScheduler:
    """A schedule of learning rates: a subclass has a `get_lr`, which gives the rate of the next step, or a `get_pytorch_scheduler`.

    Args:   optimizer: of pybuda.optimizers.
    """

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self._rates: list[float] = []
        self._of_torch: Any = None

    def get_lr(self) -> float:
        """Return the rate of the next step: that of the scheduler of PyTorch.  Raises E0101 where a subclass has neither."""
        if self._of_torch is None:
            instance = torch.optim.SGD([torch.zeros(1)], lr=self._rates[0])
            self._of_torch = self.get_pytorch_scheduler(instance)
        self._of_torch.optimizer._opt_called = True  # noqa: SLF001 - what schedulers of torch look at
        self._of_torch.step()
        return float(self._of_torch.get_last_lr()[0])

    def get_pytorch_scheduler(self, optimizer: torch.optim.Optimizer) -> Any:
        """Return the same schedule as one of PyTorch.  Raises E0101 unless a subclass defines it."""
        raise Error("E0101", f"{type(self).__name__} has no get_lr and no get_pytorch_scheduler")

    def step(self) -> None:
        """Go on to the next rate."""
        self.optimizer.learning_rate = self.get_lr()

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the learning rate of the next update, for ttc's schedules; total: unused."""
        if not self._rates:
            self._rates.append(base)
        while len(self._rates) <= update:
            found = self.get_lr()
            self._rates.append(float(found[0] if isinstance(found, list | tuple) else found))
            self.optimizer.learning_rate = self._rates[-1]
        return self._rates[update]


_KINDS = (
    _kind("SGD", optim.SGD, {}),
    _kind("Adam", optim.Adam, {"epsilon": "eps"}),
    _kind("AdamW", optim.AdamW, {"epsilon": "eps"}),
    _kind("LAMB", optim.LAMB, {"correction": "bias_correction", "epsilon": "eps"}),
    _kind("LARS", optim.LARS, {"lars_coeff": "coefficient"}),
)


def optimizer_of(config: Mapping[str, Any]) -> Optimizer:
    """Return the optimizer that a VerifyConfig names by `type` and `params`.  Raises E0101 for an unknown one."""
    kinds = {kind.__name__.lower(): kind for kind in _KINDS}
    name = str(config.get("type", "sgd"))
    if name.lower() not in kinds:
        raise Error("E0101", f"there is no optimizer '{name[:40]}'", hint=nearest(name, kinds))
    return kinds[name.lower()](**config.get("params", {}))


OPTIMIZERS = submodule("pybuda", "optimizers", {"Optimizer": Optimizer, **{kind.__name__: kind for kind in _KINDS}})
"""OPTIMIZERS stands in for pybuda.optimizers."""
SCHEDULERS = submodule("pybuda", "schedulers", {"LearningRateScheduler": LearningRateScheduler})
"""SCHEDULERS stands in for pybuda.schedulers."""
