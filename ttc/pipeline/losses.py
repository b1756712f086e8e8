"""The loss at the end of a pipeline: for each microbatch its sum, what that is divided by, and gradients of the last stage's outputs.

Sums and counts of microbatches are added up, and divided once, so that an update has the gradients of the loss over all its rows.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ttc.api import compile, is_torch
from ttc.compiler.source import identity
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.records import record
from ttc.dialects.nn.training.losses import Loss, Output
from ttc.losses import loss_of
from ttc.pipeline.device import Device
from ttc.pipeline.stage import Arrays, Cotangents, tensor
from ttc.runtime.arguments import inputs_of
from ttc.runtime.machine.session import Session
from ttc.train.host import taken
from ttc.train.updates import BACKWARD, GRADIENT, LOSS_COUNT, LOSS_SUM

OUTPUT = "output"
"""The name of the loss of a pipeline whose last stage gives the loss."""


@record(slots=True)
class LossValue:
    """The loss of some rows.

    Args:
        total: its sum.
        count: what it is divided by; None for a loss that is a sum.
    """

    total: float
    count: float | None

    def __add__(self, other: LossValue) -> LossValue:
        counts = None if self.count is None or other.count is None else self.count + other.count
        return LossValue(self.total + other.total, counts)

    @property
    def divisor(self) -> float:
        """The number that sums of gradients are divided by: at least a little, as they are 0 where no row counts."""
        return 1.0 if self.count is None else max(self.count, 1e-30)

    @property
    def mean(self) -> float:
        """The loss; NaN where no row counts."""
        if self.count is None:
            return self.total
        return self.total / self.count if self.count else math.nan


class Accumulated:
    """The loss of the microbatches since the last update."""

    def __init__(self) -> None:
        self._value: LossValue | None = None

    def add(self, values: Sequence[LossValue]) -> LossValue:
        """Count the losses of microbatches in, and return what they make together."""
        found = values[0] if values else LossValue(0.0, 0.0)
        for value in values[1:]:
            found = found + value
        if values:
            self._value = found if self._value is None else self._value + found
        return found

    @property
    def is_empty(self) -> bool:
        """Whether no microbatch has gone back since the last update."""
        return self._value is None

    @property
    def value(self) -> LossValue:
        """Return the loss of all these microbatches. Raises E0801 if there are none."""
        if self._value is None:
            raise Error("E0801", "there are no accumulated gradients", hint="call forward and backward first")
        return self._value

    def clear(self) -> None:
        """Forget the losses of all microbatches."""
        self._value = None


class Head(Protocol):
    """Computes the loss of a microbatch."""

    @property
    def targets(self) -> int | None:
        """How many arrays the loss takes beside the outputs; None where that is not known."""
        ...

    def backward(self, outputs: Arrays, targets: Arrays) -> tuple[LossValue, Cotangents]:
        """Return the loss of a microbatch, and the gradients of its sum by the outputs."""
        ...


def head_of(loss: Any, device: Device) -> Head:
    """Return the head that computes a loss.

    Args:
        loss: `output` for a last stage that gives it; text, a record of `ttc.losses`, a module of torch.nn, or any function of outputs and
            targets that computes one number in PyTorch.
        device: of the last stage: where it is `cpu`, modules of torch.nn run eagerly; else those that are known are compiled for it.
    Raises: E0101 for unknown losses.
    """
    known = None if _is_module(loss) and device.is_cpu else _known(loss)
    if isinstance(known, Output):
        return GivenLoss()
    if known is not None:
        return CompiledLoss(known, "host" if device.is_cpu else device.target, device.number)
    if not callable(loss):
        raise Error("E0101", f"a {type(loss).__name__} is no loss", hint='give "mse", ttc.losses.*, or a module of torch.nn')
    return TorchLoss(loss)


def _known(loss: Any) -> Loss | None:
    try:
        return loss_of(loss)
    except Error:
        if isinstance(loss, str | Loss) or not callable(loss):
            raise
        return None


def _is_module(loss: Any) -> bool:
    return is_torch(loss) and hasattr(loss, "forward")


class GivenLoss:
    """A loss that is the one output of the last stage: a number, of which each microbatch counts as much."""

    targets = 0

    def backward(self, outputs: Arrays, targets: Arrays) -> tuple[LossValue, Cotangents]:
        """Return the output, and 1.  Raises E0801 unless it is one number."""
        if len(outputs) != 1 or outputs[0].size != 1:
            raise Error("E0801", "the last stage gives no loss: that is one output of one number", hint="give the pipeline a loss")
        return LossValue(float(outputs[0].reshape(())), 1.0), (np.ones_like(outputs[0]),)


class CompiledLoss:
    """A loss of ours, compiled for a target when the first outputs are there."""

    targets = 1

    def __init__(self, loss: Loss, target: str, number: int | None = None) -> None:
        self._loss = loss
        self._target, self._number = target, number
        self._session: Session | None = None

    def backward(self, outputs: Arrays, targets: Arrays) -> tuple[LossValue, Cotangents]:
        """Return the loss of a microbatch and its gradient.  Raises E0801 for targets that do not fit."""
        if len(outputs) != 1:
            raise Error("E0801", f"loss {self._loss.NAME} is of one output; the last stage gives {len(outputs)}", hint="give a function")
        session = self._made(outputs[0])
        arguments = inputs_of(session.entry(BACKWARD))
        target = _like(targets[0], np.dtype(arguments[1].dtype), arguments[1].shape)
        found = session.call(BACKWARD, {arguments[0].name: outputs[0], arguments[1].name: target})
        count = float(found[LOSS_COUNT]) if self._loss.reduction == "mean" else None
        return LossValue(float(found[LOSS_SUM]), count), (found[f"{GRADIENT}{arguments[0].name}"],)

    def _made(self, output: NDArray[Any]) -> Session:
        if self._session is None:
            program = compile(identity(Spec(output.shape, output.dtype)), target=self._target, loss=self._loss, input_gradients=True)
            self._session = Session(program, number=self._number)
        return self._session


class TorchLoss:
    """A loss that PyTorch computes: a module of torch.nn, or a function of outputs and targets.

    Of modules that average over elements or classes the sum and the count are known.  Of another function each microbatch counts as much.
    """

    def __init__(self, loss: Any) -> None:
        self.targets = 0 if _takes_one(loss) else None
        self._loss = loss
        self._kind = _counted(loss)
        self._summed = loss
        if self._kind is not None and loss.reduction != "sum":
            self._summed = copy.copy(loss)
            self._summed.reduction = "sum"

    def backward(self, outputs: Arrays, targets: Arrays) -> tuple[LossValue, Cotangents]:
        """Return the loss of a microbatch and its gradients.  Raises E0801 unless the loss is one number."""
        import torch

        leaves = [tensor(y.copy()) for y in outputs]
        for leaf in leaves:
            leaf.requires_grad_(leaf.is_floating_point())
        wanted = [tensor(t) for t in targets]
        with torch.enable_grad():
            total = self._summed(*leaves, *wanted)
        if not isinstance(total, torch.Tensor) or total.numel() != 1:
            raise Error("E0801", "the loss is not one number", hint="a loss has reduction mean or sum")
        if total.requires_grad:
            total.reshape(()).backward()
        found = tuple(np.array(taken(leaf.grad), order="C") if leaf.grad is not None else None for leaf in leaves)
        return LossValue(float(total.detach()), self._count(leaves, wanted)), found

    def _count(self, outputs: list[Any], targets: list[Any]) -> float | None:
        if getattr(self._loss, "reduction", None) == "sum":
            return None
        if self._kind == "classes":
            return _count_of_classes(self._loss, outputs[0], targets[0])
        if self._kind == "elements":
            import torch

            rows = getattr(self._loss, "reduction", None) == "batchmean"
            return float(outputs[0].shape[0] if rows else math.prod(torch.broadcast_shapes(outputs[0].shape, targets[0].shape)))
        return 1.0


_ELEMENTS = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss", "KLDivLoss")
_CLASSES = ("CrossEntropyLoss", "NLLLoss")
"""Modules of torch.nn whose mean is over elements, and over targets that count."""


def _takes_one(loss: Any) -> bool:
    """Return whether a function takes one argument: the output alone, and no targets."""
    try:
        parameters = inspect.signature(loss.forward if hasattr(loss, "forward") else loss).parameters.values()
    except (TypeError, ValueError):
        return False
    return len(parameters) == 1 and all(item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD) for item in parameters)


def _counted(loss: Any) -> str | None:
    """Return how the mean of a module of torch.nn is counted; None for others, and for reduction `none`, which is no loss."""
    if type(loss).__module__ != "torch.nn.modules.loss" or getattr(loss, "reduction", "none") == "none":
        return None
    name = type(loss).__name__
    return "elements" if name in _ELEMENTS else "classes" if name in _CLASSES else None


def _count_of_classes(loss: Any, output: Any, target: Any) -> float:
    """Return the weights of all targets that count; of probabilities, their number."""
    if target.is_floating_point():
        return float(math.prod(output.shape) / output.shape[1 if output.dim() > 1 else 0])
    counts = target != loss.ignore_index
    if loss.weight is None:
        return float(counts.sum())
    return float(loss.weight[target.where(counts, 0 * target)][counts].sum())


def _like(value: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a target in the type that a loss takes it in, where that loses no kind; ones before its shape are dropped or added."""
    same_kind = value.dtype.kind == dtype.kind or {value.dtype.kind, dtype.kind} <= set("fV")
    found = np.ascontiguousarray(value, dtype) if same_kind and value.dtype != dtype else value
    return found.reshape(shape) if found.shape != shape and _without_ones(found.shape) == _without_ones(shape) else found


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape
