"""Optimizers of poptorch.optim: those of torch.optim, with PopTorch's settings besides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ttc.compat.names import ignored, submodule
from ttc.dialects.core.errors import Error, nearest

_ACCUMULATORS = "gradients and moments are kept as float32"
EFFECTLESS = {
    **dict.fromkeys(
        ("accum_type", "velocity_accum_type", "first_order_momentum_accum_type", "second_order_momentum_accum_type"), _ACCUMULATORS
    ),
    **dict.fromkeys(("loss_scaling", "velocity_scaling", "use_combined_accum", "scaled_optimizer_state"), _ACCUMULATORS),
}
"""Settings of optimizers that are taken and change no number of float32, and why."""


def _with_settings(kind: type[Any]) -> type[Any]:
    """Return the optimizer of torch with `max_grad_norm`, and with settings that have no effect."""

    def __init__(self: Any, params: Any, *given: Any, max_grad_norm: float | None = None, **settings: Any) -> None:
        for name in [name for name, value in settings.items() if name in EFFECTLESS and value is not None]:
            ignored(f"{name} of poptorch.optim", EFFECTLESS[name])
        own = {name: value for name, value in settings.items() if name not in EFFECTLESS}
        kind.__init__(self, params, *given, **own)
        self.max_grad_norm = max_grad_norm

    return type(kind.__name__, (kind,), {"__init__": __init__, "__doc__": kind.__doc__})


_OF_LAMB = ("bias_correction", "max_weight_norm")
_UNBOUND = 65500.0
"""The bound of norms of weights where a script sets none, as in PopART."""


class _LAMB(torch.optim.Optimizer):
    """Holds the settings of LAMB, whose update `ttc.optim.LAMB` is."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        bias_correction: bool = True,
        max_weight_norm: float | None = None,
        **others: Any,
    ) -> None:
        unknown = [name for name, value in others.items() if value is not None]
        if unknown:
            raise Error("E0105", f"{unknown[0]} of poptorch.optim.LAMB is not supported", hint=nearest(unknown[0], _OF_LAMB))
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "bias_correction": bias_correction}
        super().__init__(params, {**settings, "clip": _UNBOUND if max_weight_norm is None else max_weight_norm})

    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Raise E0105: the executor updates parameters."""
        raise Error("E0105", "LAMB of poptorch.optim makes no steps of its own", hint="call the training model")


_LAMB.__name__ = "LAMB"
REFUSED = {"LAMBNoBias": "poptorch.optim.LAMB(bias_correction=False) is the same"}
"""Names of poptorch.optim that are refused, and why."""
OPTIM = submodule(
    "poptorch",
    "optim",
    {kind.__name__: _with_settings(kind) for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, _LAMB)},
    REFUSED,
)
"""OPTIM stands in for poptorch.optim."""
