"""What a program was compiled to be trained with, as its archive records it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from math import isfinite

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record(slots=True)
class Group:
    """Parameters that an optimizer updates with the same numbers.

    Args:
        optimizer: with its settings, as text.
        parameters: by name.
        values: numbers of the optimizer by setting, as they were when it was compiled.
        inputs: names of the inputs through which they come in, by setting.
    """

    optimizer: str
    parameters: tuple[str, ...]
    values: dict[str, float]
    inputs: dict[str, str]


@record(slots=True)
class Training:
    """What a program is trained with; its entries are `forward`, `backward`, `optimizer`, `step` and `evaluate`.

    Args:
        inputs, outputs: of the model, by name.
        loss: as text; None: cotangents of outputs are inputs of `backward`.
        reduction: mean: a loss is the sum of all `loss.sum` over that of all `loss.count`; sum: the sum alone.
        output: that the loss is of.
        targets: inputs that the loss alone takes.
        classes: of targets that are numbers of classes.
        ignore_index: the target that counts for nothing.
        mean_of_means: whether the loss is a number of the model's own, which counts once a microbatch.
        optimizer: its name; None: gradients are added up alone.
        groups: of parameters.
        slots: states that the optimizer has for each parameter: `optimizer.<slot>.<parameter>`.
        hyper: inputs of `step` and `optimizer` that are hyper-parameters, with the values that they have unless others come in.
        microbatches: that a step takes.
        batch: rows of a microbatch; None: inputs have none.
        wide: parameters, states, inputs and outputs that stay in the format of the source.
        stops: where gradients stop on purpose: source names.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    loss: str | None = None
    reduction: str = "mean"
    output: str | None = None
    targets: tuple[str, ...] = ()
    classes: int | None = None
    ignore_index: int | None = None
    mean_of_means: bool = False
    optimizer: str | None = None
    groups: tuple[Group, ...] = ()
    slots: tuple[str, ...] = ()
    hyper: dict[str, float] = field(default_factory=dict)
    microbatches: int = 1
    batch: int | None = None
    wide: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()

    def check(self, inputs: Collection[str], parameters: Collection[str]) -> None:
        """Raise E0703 unless what is named is there, and numbers make sense.  inputs: of all programs; parameters: of the model."""
        named = {name for group in self.groups for name in group.inputs.values()} | {*self.hyper, *self.targets}
        trained = {name for group in self.groups for name in group.parameters}
        for what, found in (("input", named.difference(inputs)), ("parameter", trained.difference(parameters))):
            if found:
                raise Error("E0703", f"training names {what} '{min(found)[:80]}', which is not there")
        if self.microbatches < 1 or self.reduction not in ("mean", "sum") or (self.batch or 1) < 1:
            raise Error("E0703", "training takes no microbatches, or its loss is neither a mean nor a sum")
        numbers = [x for group in self.groups for x in group.values.values()] + [*self.hyper.values()]
        if not all(isfinite(x) for x in numbers):
            raise Error("E0703", "a number of training is not finite")
