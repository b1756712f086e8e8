"""Keywords of `ttc.compile` that make a training program, as options of training."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ttc.options import resolve
from ttc.settings.records import settings
from ttc.settings.train_options import TrainOptions

if TYPE_CHECKING:
    from ttc.passes.base import Instrument


def training_of(model: object, fields: dict[str, Any]) -> TrainOptions | None:
    """Return the options of training among keywords, which are taken out; None where nobody asks for a training program.

    Batch norms of a PyTorch module in evaluation mode keep their statistics, and those of any model with training=False, unless
    `batch_norm` says otherwise.
    Raises: E0101 for options that do not go together, and what `loss_of` and `groups_of` raise.
    """
    names = [item.name for item, _ in settings(TrainOptions) if item.name in fields]
    asked = {name: value for name in names if (value := fields.pop(name)) is not None}
    mode, optimizer = asked.get("training"), asked.pop("optimizer", None)
    if mode is False:
        del asked["training"]
    found = resolve(TrainOptions, asked, os.environ)
    if optimizer is not None:
        from ttc.optim import groups_of

        found = replace(found, groups=groups_of(optimizer, model))
    if not found.wanted:
        return None
    given = mode is False or (mode is None and is_module(model))
    return replace(found, batch_norm="given") if given and "batch_norm" not in found.given else found


def is_module(model: object) -> bool:
    """Return whether a model is a module of PyTorch, which has a mode."""
    return hasattr(model, "named_parameters") and hasattr(model, "training")


@contextmanager
def in_mode(model: Any, training: bool | None) -> Iterator[None]:
    """Put a PyTorch module and all modules in it into a mode, and restore the mode of each afterwards. None: keep the modes."""
    if training is None or not is_module(model):
        yield
        return
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


def gradient_checks(options: TrainOptions | None) -> list[Instrument]:
    """Return the instrument that compares gradients with differences, where it is asked for."""
    if options is None or not options.check_gradients:
        return []
    from ttc.instruments.gradients import GradientCheck

    return [GradientCheck()]
