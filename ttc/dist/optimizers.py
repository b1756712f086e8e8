"""The state of optimizers by the names of parameters, as checkpoints keep it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ttc.dialects.core.errors import Error
from ttc.dist.pieces import SavedTensor, shared_like

_ADAM = {"step": True, "exp_avg": True, "exp_avg_sq": True, "max_exp_avg_sq": "amsgrad"}
STATES: dict[str, dict[str, bool | str]] = {
    "Adam": _ADAM,
    "AdamW": _ADAM,
    "SGD": {"momentum_buffer": "momentum"},
}
"""The states that optimizers of PyTorch keep for a parameter: always, or where an option of its group is set."""


def state_of(optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the state of an optimizer for parameters, as `NAME/KEY`.  Raises E0101 for a class whose state is not kept."""
    _check(optimizer)
    found: dict[str, torch.Tensor] = {}
    for name, parameter in parameters.items():
        state = optimizer.state.get(parameter, {})
        for key, value in state.items():
            if value is not None:
                found[f"{name}/{key}"] = value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
    return found


def take_state(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.Tensor], states: Mapping[str, Mapping[str, SavedTensor]]
) -> Callable[[], None]:
    """Return what gives an optimizer the state of its parameters; options, rates among them, stay those that it has.

    Raises: E0101 for a class whose state is not kept, E0807 for a state that is not whole.
    """
    _check(optimizer)
    names = {parameter: name for name, parameter in parameters.items()}
    packed = optimizer.state_dict()
    packed["state"] = {}
    number = 0
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            state = dict(states.get(names.get(parameter, ""), {}))
            if state:
                _check_whole(optimizer, group, parameter, state, names[parameter])
                packed["state"][number] = {key: shared_like(stored.value, parameter) for key, stored in state.items()}
            number += 1
    return lambda: optimizer.load_state_dict(packed)


def _check(optimizer: torch.optim.Optimizer) -> None:
    kind = type(optimizer).__name__
    if kind not in STATES or getattr(torch.optim, kind) is not type(optimizer):
        raise Error("E0101", f"checkpoints do not keep the state of a {kind}", hint=f"they keep that of {', '.join(STATES)}")


def _check_whole(
    optimizer: torch.optim.Optimizer, group: Mapping[str, Any], parameter: torch.Tensor, state: Mapping[str, SavedTensor], name: str
) -> None:
    wanted = {key for key, when in STATES[type(optimizer).__name__].items() if when is True or group.get(str(when))}
    if state.keys() != wanted:
        there = ", ".join(sorted(state))[:80]
        raise Error("E0807", f"the checkpoint keeps {there} for '{name}', the optimizer {', '.join(sorted(wanted)) or 'nothing'}")
    for key, value in state.items():
        like = torch.tensor(0.0) if key == "step" else parameter
        is_alike = value.shape == like.shape and value.value.dtype == like.dtype
        if not is_alike or (key == "step" and not 0 <= value.value < float("inf")):
            raise Error("E0807", f"the checkpoint's {key} of '{name}' does not have the shape and type that the parameter asks for")
