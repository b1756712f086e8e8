"""Losses that users write themselves, as functions of an output and a target: they become part of the model."""

from __future__ import annotations

from typing import Any

from ttc.dialects.core.errors import Error
from ttc.losses import Loss, is_known_module


def is_own_loss(loss: Any) -> bool:
    """Return whether a loss is a function, or a module for which no record exists."""
    return callable(loss) and not isinstance(loss, Loss) and not is_known_module(loss)


def with_loss(model: Any, loss: Any) -> Any:
    """Return a module that takes the model's inputs and one target, gives its outputs, and marks the loss.

    The model is its attribute `model`.
    Raises: E0101 for a model that is no module of PyTorch.
    """
    if not hasattr(model, "named_parameters"):
        raise Error("E0101", "a loss that is a function goes with a module of PyTorch", hint="take a loss by its name")
    import torch

    from ttc.marks.ops import mark_loss

    class WithLoss(torch.nn.Module):
        """A model with a loss behind it."""

        def __init__(self) -> None:
            super().__init__()
            self.model, self.loss = model, loss

        def forward(self, *arrays: Any) -> Any:
            """Return the outputs for all arrays but the last, which is the target."""
            found = self.model(*arrays[:-1])
            mark_loss(self.loss(found, arrays[-1]), "mean")
            return found

    made = WithLoss()
    made.train(model.training)
    return made


def owner_of(model: Any) -> Any:
    """Return the user's own model of one that `with_loss` has made; else the model."""
    return model.model if type(model).__qualname__ == "with_loss.<locals>.WithLoss" else model
