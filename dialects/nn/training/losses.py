"""The table of all losses, by name."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.nn.training.class_losses import NLL, CrossEntropy
from ttc.dialects.nn.training.element_losses import BCE, KL, L1, MSE, BCEWithLogits, Huber, SmoothL1
from ttc.dialects.nn.training.loss import Loss, summed, wide
from ttc.dialects.nn.training.settings import named

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ttc.dialects.core.ir.spec import Spec
    from ttc.dialects.nn.making import OpMaker


@record
class Output(Loss):
    """An output of the model is the loss: a number counts once a microbatch (a mean of means), a tensor by its elements.

    Args:    name: of the output; none: the only one, or the one called loss.
    """

    NAME: ClassVar[str] = "output"
    name: str = ""
    reduction: str = "mean"

    def target(self, output: Spec) -> Spec | None:
        self.check(output)
        return None

    def terms(self, b: OpMaker, output: SSAValue, target: SSAValue | None) -> tuple[SSAValue, SSAValue]:
        x = wide(b, output)
        total = summed(b, x)
        return b.nn("identity", total) if total is output else total, b.scalar(prod(b.shape(x)), x)


LOSSES: dict[str, type[Loss]] = {kind.NAME: kind for kind in (CrossEntropy, NLL, BCE, BCEWithLogits, MSE, L1, SmoothL1, Huber, KL, Output)}
"""Classes of the losses by the names that users write."""


def loss_of_text(text: str) -> Loss:
    """Return the loss that a text stands for: `cross_entropy:ignore_index=-100,label_smoothing=0.1`.  Raises E0101."""
    return named(text, LOSSES, "loss")
