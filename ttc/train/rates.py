"""Hyper-parameters of an optimizer that its user can change at any time, and what of it a program is made for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ttc.dialects.nn.training.optimizers import Optimizer, optimizer_of_text
from ttc.optim import groups_of, is_torch_optimizer, states_of

if TYPE_CHECKING:
    from ttc.runtime.manifest import Training


def hyper_of(optimizer: Any, model: Any, training: Training) -> dict[str, float]:
    """Values of a program's hyper-parameters as the optimizer has them now, by the names of their inputs.

    Args:
        optimizer: text, a record of `ttc.optim`, or an instance of `torch.optim` over parameters of the model.
        training: of the program.
    Raises: E0101 for values that are out of range.
    """
    found: dict[str, float] = {}
    for group, settings in zip(training.groups, _settings(optimizer, model), strict=False):
        numbers = settings.numbers()
        found.update({taken: numbers[name] for name, taken in group.inputs.items() if name in numbers})
    return found


def structure_of(optimizer: Any, model: Any) -> tuple[Any, ...]:
    """What a program is made for, so that optimizers of equal structures share one: all but the values of numbers that come in."""
    rows = groups_of(optimizer, model)
    kinds = [(settings.structure(), tuple(settings.numbers())) for settings in _settings(optimizer, model)]
    return tuple((*kind, *row[1:]) for kind, row in zip(kinds, rows, strict=True))


def gathered_of(optimizer: Any, model: Any) -> dict[str, NDArray[Any]]:
    """What an instance of torch has gathered in its own steps, as states of a program; none of anything else.  Raises E0101."""
    return states_of(optimizer, model) if is_torch_optimizer(optimizer) else {}


def is_stepped(optimizer: Any) -> None:
    """Tell an optimizer of torch that its update was done, so that its schedulers do not warn that none was."""
    if is_torch_optimizer(optimizer):
        optimizer._opt_called = True  # noqa: SLF001 - what schedulers look at


def _settings(optimizer: Any, model: Any) -> list[Optimizer]:
    """The optimizer of each group of parameters."""
    return [optimizer_of_text(row[0]) for row in groups_of(optimizer, model)]
