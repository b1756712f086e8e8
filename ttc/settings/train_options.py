"""Options that make a training program of a model."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import ttc.settings.option_values as takes
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.settings.records import Options, choice, option, settings, switch


def _loss(raw: Any) -> str:
    """Return a loss as text.  Raises E0101."""
    from ttc.losses import loss_of

    return loss_of(raw).text


def _optimizer(raw: Any) -> str:
    """Return an optimizer as text.  Raises E0101."""
    from ttc.dialects.nn.training.optimizers import optimizer_of_text

    return optimizer_of_text(takes.text(raw)).text


def _positive(raw: Any) -> float:
    """Return a finite number above 0."""
    number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else 0.0
    if not 0 < number < math.inf:
        raise ValueError("it takes a number above 0")
    return number


_WITH_OPTIMIZER = ("microbatches", "clip_norm", "clip_value", "loss_scale")
_WITH_LOSS = ("loss_output", "microbatches", "loss_scale")
"""Options that mean nothing without an optimizer or a loss."""


@record(kw_only=True)
class TrainOptions(Options):
    """The options of `ttc compile` and `ttc.compile` that make a training program."""

    TABLE: ClassVar[str] = "training"

    loss: str | None = option(
        None,
        "Make a training program with this loss: cross_entropy, mse, ...; settings follow.",
        _loss,
        "NAME[:KEY=VALUE,...]",
        in_result=True,
    )
    optimizer: str | None = option(
        None, "How it updates parameters: sgd, adam, adamw, ...; settings follow.", _optimizer, "NAME[:KEY=VALUE,...]", in_result=True
    )
    training: bool = option(
        False,
        "Make a training program without a loss, too: gradients of outputs are inputs.",
        takes.truth,
        "true|false",
        switch=True,
        in_result=True,
    )
    loss_output: str | None = option(None, "Output that the loss is of; default: the only one.", takes.text, "NAME", in_result=True)
    microbatches: int = option(1, "Microbatches that a step takes at once.", takes.integer(1), "N", in_result=True)
    clip_norm: float | None = option(None, "Bound the norm of all gradients together.", _positive, "X", in_result=True)
    clip_value: float | None = option(None, "Bound every number of the gradients.", _positive, "X", in_result=True)
    loss_scale: float | None = option(
        None, "Scale the loss dynamically, from this on; updates that are not finite are left out.", _positive, "X", in_result=True
    )
    batch_norm: str = choice(
        "batch",
        "Batch norms made for inference: train with statistics of the batch, or the given ones.",
        ("batch", "given"),
        in_result=True,
    )
    recompute: str = choice(
        "auto",
        "What gradients compute again instead of keeping it: nothing, what is cheap or --memory asks for, or all but borders of segments.",
        ("none", "auto", "all"),
        in_result=True,
    )
    memory: int | None = option(
        None, "Bytes that the forward part keeps for gradients at most, with --recompute auto.", takes.integer(0), "BYTES", in_result=True
    )
    stash: bool = option(
        False,
        "Without a loss: let forward keep what backward reads; otherwise backward computes the model again.",
        takes.truth,
        "true|false",
        switch=True,
        in_result=True,
    )
    input_gradients: bool = option(False, "Give the gradients of inputs, too.", takes.truth, "true|false", switch=True, in_result=True)
    check_gradients: bool = switch("Compare the gradient of every op with differences in float64.")
    groups: tuple[tuple[str, ...], ...] = ()
    """The optimizer of each group of parameters as text, then their names; none: all parameters are one group."""

    def recorded(self) -> dict[str, Any]:
        return {**super().recorded(), **({"groups": self.groups} if self.groups else {})}

    @property
    def wanted(self) -> bool:
        """Whether a training program is asked for.  Raises E0101 for options that need a loss or an optimizer where there is none."""
        asked = [item.name for item, _ in settings(type(self)) if getattr(self, item.name) != item.default]
        asked += ["optimizer"] if self.groups else []
        if self.loss is None:
            for name in asked:
                if not self.training or name in _WITH_LOSS:
                    flag = name.replace("_", "-")
                    raise Error("E0101", f"--{flag} makes a training program, which has a loss: there is none", hint="add --loss NAME")
        if self.optimizer is None and not self.groups:
            for name in asked:
                if name in _WITH_OPTIMIZER:
                    flag = name.replace("_", "-")
                    raise Error("E0101", f"--{flag} goes with an optimizer, and there is none", hint="add --optimizer NAME")
        if self.stash and self.loss is not None:
            raise Error(
                "E0101", "--stash is for programs without a loss: with one, backward computes all", hint="leave out --stash or --loss"
            )
        if self.memory is not None and self.recompute != "auto":
            raise Error("E0101", "--memory is what is kept where gradients compute some values again", hint="leave --recompute at auto")
        return self.loss is not None or self.training
