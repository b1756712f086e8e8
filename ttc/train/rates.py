"""Hyper-parameters of an optimizer that its user can change at any time, and what of it a program is made for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ttc.dialects.nn.training.optimizers import Optimizer, optimizer_of_text
from ttc.optim import groups_of, is_torch_optimizer, states_of

if TYPE_CHECKING:
    from ttc.runtime.manifest import Training


def hyper_of(optimizer: Any, model: Any, training: Training) -> dict[str, float]:
    """Return values of a program's hyper-parameters as the optimizer has them now, by the names of their inputs.

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


class Numbers:
    """Gives values of hyper-parameters at every step; they are made anew only where what they come from has changed."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] | None = None
        self._found: dict[str, float] = {}
        self._seen: tuple[Any, list[tuple[int, dict[str, Any]]]] | None = None

    def of(self, optimizer: Any, model: Any, training: Training) -> dict[str, float]:
        """Return the values that `hyper_of` gives; the caller must not change them. Raises E0101 as it does."""
        groups = getattr(optimizer, "param_groups", None)
        if self._seen is not None and self._seen[0] == (training, optimizer) and _are_as_seen(groups, self._seen[1]):
            return self._found
        key = _settings_now(optimizer, training)
        if key is None or key != self._key:
            self._found, self._key = hyper_of(optimizer, model, training), key
        self._seen = None
        if key is not None and isinstance(groups, list):
            self._seen = (training, optimizer), [(len(group["params"]), dict(group)) for group in groups]
        return self._found


def _are_as_seen(groups: Any, seen: list[tuple[int, dict[str, Any]]]) -> bool:
    """Return whether groups of parameters have the entries that they had, and the same lists of as many parameters."""
    if type(groups) is not list or len(groups) != len(seen):
        return False
    return all(
        group["params"] is items["params"] and len(group["params"]) == count and group == items
        for group, (count, items) in zip(groups, seen, strict=True)
    )


def _settings_now(optimizer: Any, training: Training) -> tuple[Any, ...] | None:
    """Return all that the values come from, to be compared; None where it may change without being seen: numbers in tensors."""
    if not is_torch_optimizer(optimizer):
        return training, optimizer
    rows = [(len(group["params"]), *(item for item in group.items() if item[0] != "params")) for group in optimizer.param_groups]
    plain = all(_is_plain(value) for _, *items in rows for _, value in items)
    return (training, optimizer, *rows) if plain else None


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else value is None or isinstance(value, bool | int | float | str)


def structure_of(optimizer: Any, model: Any) -> tuple[Any, ...]:
    """Return what a program is made for, so that optimizers of equal structures share one: all but the values of numbers that come in."""
    rows = groups_of(optimizer, model)
    kinds = [(settings.structure(), tuple(settings.numbers())) for settings in _settings(optimizer, model)]
    return tuple((*kind, *row[1:]) for kind, row in zip(kinds, rows, strict=True))


def gathered_of(optimizer: Any, model: Any) -> dict[str, NDArray[Any]]:
    """Return what an instance of torch has gathered in its own steps, as states of a program; none for any other optimizer. Raises
    E0101.
    """
    return states_of(optimizer, model) if is_torch_optimizer(optimizer) else {}


def is_stepped(optimizer: Any) -> None:
    """Tell an optimizer of torch that its update was done, so that its schedulers do not warn that none was."""
    if is_torch_optimizer(optimizer):
        optimizer._opt_called = True  # noqa: SLF001 - what schedulers look at


def _settings(optimizer: Any, model: Any) -> list[Optimizer]:
    """Return the optimizer of each group of parameters."""
    return [optimizer_of_text(row[0]) for row in groups_of(optimizer, model)]
