"""Optimizers that `ttc.compile(..., optimizer=)` takes: records, their text, and instances of torch.optim.

ttc.optim.AdamW(3e-4, weight_decay=0.1) is the same as "adamw:lr=0.0003,weight_decay=0.1" and torch.optim.AdamW of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.training.optimizers import (
    LAMB,
    LARS,
    OPTIMIZERS,
    SGD,
    Adagrad,
    Adam,
    AdamW,
    Optimizer,
    RMSprop,
    optimizer_of_text,
)
from ttc.dialects.nn.training.settings import made

__all__ = ["LAMB", "LARS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "groups_of", "is_torch_optimizer", "states_of"]

Groups = tuple[tuple[str, ...], ...]
"""The optimizer of each group of parameters as text, then names of its parameters; none: all that no other group has."""
_EMPTY = ""
"""Stands in a group that has no parameters."""
_IGNORED = frozenset(
    (
        *("params", "foreach", "fused", "capturable", "differentiable", "param_names", "betas", "decoupled_weight_decay"),
        *("initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum", "swa_lr"),
    )
)
"""Of a group of parameters: what says how PyTorch computes, not what; and what schedulers keep there."""
_SLOTS = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "square_avg", "grad_avg", "sum")


def is_torch_optimizer(optimizer: object) -> bool:
    """Return whether an optimizer is an instance of torch.optim, which need not be loaded to tell."""
    return any(base.__module__ == "torch.optim.optimizer" for base in type(optimizer).__mro__)


def groups_of(optimizer: object, model: object = None) -> Groups:
    """Return the groups of parameters of an optimizer: a record, its text, or an instance of torch.optim over parameters of a module.

    Parameters of a PyTorch module that need no gradient are left out.
    Raises: E0101 for unknown optimizers and settings, E0206 where an instance has parameters that are not the model's.
    """
    named = _parameters(model)
    if is_torch_optimizer(optimizer):
        return _groups_of_torch(optimizer, named)
    if isinstance(optimizer, Optimizer):
        optimizer.check()
        found = optimizer
    elif isinstance(optimizer, str):
        found = optimizer_of_text(optimizer)
    else:
        hint = f"take one of {', '.join(OPTIMIZERS)}, ttc.optim.* or an instance of torch.optim"
        raise Error("E0101", f"a {type(optimizer).__name__} is no optimizer that is known", hint=hint)
    trained = tuple(name for name, parameter in named.items() if parameter.requires_grad)
    return ((found.text, *trained),) if len(trained) < len(named) else ((found.text,),)


def _parameters(model: object) -> dict[str, Any]:
    """Return parameters of a PyTorch module by name; none of anything else."""
    return dict(model.named_parameters()) if hasattr(model, "named_parameters") else {}  # pyright: ignore[reportAttributeAccessIssue]


def _groups_of_torch(optimizer: Any, named: Mapping[str, Any]) -> Groups:
    kind = OPTIMIZERS.get(type(optimizer).__name__.lower())
    if kind is None:
        raise Error("E0101", f"torch.optim.{type(optimizer).__name__} is not known", hint=f"there are {', '.join(OPTIMIZERS)}")
    names = {id(parameter): name for name, parameter in named.items()}
    found: list[tuple[str, ...]] = []
    for group in optimizer.param_groups:
        others = [p for p in group["params"] if id(p) not in names]
        if others:
            shapes = ", ".join(str(list(p.shape)) for p in others[:4])
            message = f"the optimizer has {len(others)} parameters that are not the model's, of shapes {shapes}"
            raise Error("E0206", message, hint="make it of model.parameters()")
        settings = _settings(group)
        if group.get("decoupled_weight_decay") and kind is Adam:
            kind = AdamW
        made_ = made(kind, settings)
        made_.check()
        trained = [names[id(p)] for p in group["params"] if p.requires_grad]
        found.append((made_.text, *(trained or [_EMPTY])))
    return tuple(found)


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a group of parameters that say what is computed; numbers of tensors as numbers."""
    found = {key: value.item() if hasattr(value, "item") else value for key, value in group.items() if key not in _IGNORED}
    return found | dict(zip(("beta1", "beta2"), (float(b) for b in group.get("betas", ())), strict=False))


def states_of(optimizer: Any, model: Any) -> dict[str, NDArray]:
    """Return the states of an instance of torch.optim as those of a training program: `optimizer.exp_avg.layer.weight`, `optimizer.step`.

    An instance that has made no step has none.  Raises E0101 where its parameters have made different numbers of steps.
    """
    names = {id(parameter): name for name, parameter in _parameters(model).items()}
    found: dict[str, NDArray] = {}
    steps: set[float] = set()
    for parameter, state in optimizer.state.items():
        name = names.get(id(parameter))
        if name is None:
            continue
        for key, value in state.items():
            if key == "step":
                steps.add(float(value))
            elif key in _SLOTS and value is not None:
                found[f"optimizer.{key}.{name}"] = np.array(value.detach().cpu().numpy(), np.float32)
    if len(steps) > 1:
        raise Error(
            "E0101", f"parameters of the optimizer have made different numbers of steps: {', '.join(f'{s:g}' for s in sorted(steps))}"
        )
    # SGD counts no steps: one that has momentum has made one at least
    count = steps.pop() if steps else 1.0 if found else None
    return found if count is None else {**found, "optimizer.step": np.array(count, np.float32)}
