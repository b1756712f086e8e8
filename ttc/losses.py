"""Losses that `ttc.compile(..., loss=)` takes: records, their text, and modules of torch.nn.

ttc.losses.CrossEntropy(label_smoothing=0.1) is the same as "cross_entropy:label_smoothing=0.1" and torch.nn.CrossEntropyLoss of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.training.losses import (
    BCE,
    KL,
    L1,
    LOSSES,
    MSE,
    NLL,
    BCEWithLogits,
    CrossEntropy,
    Huber,
    Loss,
    Output,
    SmoothL1,
    loss_of_text,
)
from ttc.dialects.nn.training.settings import made

__all__ = [
    "BCE",
    "KL",
    "L1",
    "MSE",
    "NLL",
    "BCEWithLogits",
    "CrossEntropy",
    "Huber",
    "Loss",
    "Output",
    "SmoothL1",
    "for_targets",
    "loss_of",
]

_MODULES: dict[str, type[Loss]] = {
    "CrossEntropyLoss": CrossEntropy,
    "NLLLoss": NLL,
    "BCELoss": BCE,
    "BCEWithLogitsLoss": BCEWithLogits,
    "MSELoss": MSE,
    "L1Loss": L1,
    "SmoothL1Loss": SmoothL1,
    "HuberLoss": Huber,
    "KLDivLoss": KL,
}
"""Modules of torch.nn that are losses."""
_SETTINGS = ("weight", "pos_weight", "ignore_index", "label_smoothing", "reduction", "beta", "delta", "log_target")


def is_known_module(loss: object) -> bool:
    """Return whether a loss is a module of torch.nn that has a record."""
    return type(loss).__module__ == "torch.nn.modules.loss" and type(loss).__name__ in _MODULES


def loss_of(loss: object) -> Loss:
    """Return the loss that a user gives: a record, its text, or a module of torch.nn.

    Raises: E0101 for unknown ones, with the nearest known name, and settings that have no meaning here.
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return loss_of_text(loss)
    name = type(loss).__name__
    if not is_known_module(loss):
        hint = f"take one of {', '.join(LOSSES)}, give ttc.training the module, or let the model give its loss and take ttc.losses.Output()"
        raise Error("E0101", f"a {name} is no loss that is known", hint=hint)
    kind, module = _MODULES[name], loss
    given = {key: _plain(getattr(module, key)) for key in _SETTINGS if getattr(module, key, None) is not None}
    return made(kind, given)


def for_targets(loss: Any, *, floating: bool) -> Any:
    """Return a loss for targets of floating point, or others: PyTorch's cross entropy takes probabilities of classes, too."""
    if floating and is_known_module(loss) and isinstance(found := loss_of(loss), CrossEntropy):
        return replace(found, probabilities=True)
    return loss


def _plain(value: Any) -> Any:
    """Return a setting of a module as a plain value; tensors as lists of numbers.  Raises E0101 for tensors of more dimensions."""
    if not hasattr(value, "detach"):
        return value
    array = value.detach().cpu().numpy()
    if array.ndim > 1:
        raise Error("E0101", f"a loss has weights of shape {list(array.shape)}; they go along one dimension")
    return tuple(float(x) for x in array.reshape(-1))
