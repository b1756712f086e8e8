"""Losses whose targets are classes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.training.loss import Loss, summed, vector, wide, wide_dtype

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ttc.dialects.core.ir.spec import Spec
    from ttc.dialects.nn.making import OpMaker

INT64 = np.dtype(np.int64)


class _ClassLoss(Loss):
    """What losses over classes have in common: weights of classes, a class that does not count, the dimension of classes."""

    weight: tuple[float, ...]
    ignore_index: int
    axis: int

    def target(self, output: Spec) -> Spec | None:
        self.check(output)
        place = self._axis(output)
        return output._replace(shape=(*output.shape[:place], *output.shape[place + 1 :]), dtype=INT64)

    def classes(self, output: Spec) -> dict[str, int]:
        return {"classes": output.shape[self._axis(output)], "ignore_index": self.ignore_index}

    def _axis(self, output: Spec) -> int:
        """Return the dimension of classes: that of the setting, or the only one.  Raises E0401, E0412."""
        if not output.rank:
            raise Error("E0401", f"loss {self.NAME} takes an output with a dimension of classes, not {output}")
        place = 0 if output.rank == 1 else axis_in(self.axis, output.rank)
        if self.weight and len(self.weight) != output.shape[place]:
            raise Error(
                "E0401", f"loss {self.NAME} has weights of {len(self.weight)} classes, its output {output} has {output.shape[place]}"
            )
        return place

    def _picked(self, b: OpMaker, logs: SSAValue, target: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return for each row the logarithm at its target, the row's weight (0 if its target is ignored), and whether it counts as 1 or
        0.
        """
        place = self._axis(b.spec(logs))
        ignored = b.nn("equal", target, b.constant(np.array(self.ignore_index), INT64))
        zero = b.scalar(0, logs)
        from ttc.dialects.nn.making import without_negative

        safe = without_negative(b, b.nn("where", ignored, b.constant(np.array(0), INT64), target), b.shape(logs)[place])
        sizes = b.shape(safe)
        at = b.reshape(safe, *sizes[:place], 1, *sizes[place:])
        found = b.reshape(b.nn("gather_elements", logs, at, axis=place), *sizes)
        counts = b.nn("where", ignored, zero, b.scalar(1, logs))
        if not self.weight:
            return found, counts, counts
        weights = b.nn("gather", vector(b, self.weight, logs, (len(self.weight),)), safe, axis=0)
        return found, b.nn("mul", weights, counts), counts


@record
class CrossEntropy(_ClassLoss):
    """Cross entropy of logits against classes: -log softmax(x)[target], weighted by class.

    Args:
        weight: of each class; none: 1.
        ignore_index: a target that counts for nothing.
        label_smoothing: in [0, 1]: the share of the target that is spread over all classes evenly.
        reduction: mean: the sum divided by the weights of all targets that count.
        axis: the dimension of classes.
        probabilities: whether targets are probabilities of all classes, of the output's shape, rather than numbers of classes.
    Source:  torch.nn.CrossEntropyLoss.
    """

    NAME: ClassVar[str] = "cross_entropy"
    weight: tuple[float, ...] = ()
    ignore_index: int = -100
    label_smoothing: float = 0.0
    reduction: str = "mean"
    axis: int = 1
    probabilities: bool = False

    def target(self, output: Spec) -> Spec | None:
        found = super().target(output)
        if not 0 <= self.label_smoothing <= 1:
            raise Error("E0101", f"loss {self.NAME}: label_smoothing cannot be {self.label_smoothing:g}", hint="it is between 0 and 1")
        return output._replace(dtype=wide_dtype(output)) if self.probabilities else found

    def classes(self, output: Spec) -> dict[str, int]:
        return {} if self.probabilities else super().classes(output)

    def terms(self, b: OpMaker, output: SSAValue, target: SSAValue | None) -> tuple[SSAValue, SSAValue]:
        assert target is not None
        x = wide(b, output)
        place = self._axis(b.spec(x))
        logs = b.nn("log_softmax", x, axis=place)
        return self._of_probabilities(b, logs, target, place) if self.probabilities else self._of_classes(b, logs, target, place)

    def _of_classes(self, b: OpMaker, logs: SSAValue, target: SSAValue, place: int) -> tuple[SSAValue, SSAValue]:
        found, weights, counts = self._picked(b, logs, target)
        total, smooth = b.nn("neg", summed(b, b.nn("mul", found, weights))), self.label_smoothing
        if smooth:
            spread = b.nn("reduce_sum", self._weighted(b, logs, place), axes=(place,), keepdims=False)
            even = b.nn("mul", summed(b, b.nn("mul", spread, counts)), b.scalar(-smooth / b.shape(logs)[place], logs))
            total = b.nn("add", b.nn("mul", total, b.scalar(1 - smooth, logs)), even)
        return total, summed(b, weights)

    def _of_probabilities(self, b: OpMaker, logs: SSAValue, target: SSAValue, place: int) -> tuple[SSAValue, SSAValue]:
        classes, smooth = b.shape(logs)[place], self.label_smoothing
        if smooth:
            kept = b.nn("mul", target, b.scalar(1 - smooth, target))
            target = b.nn("add", kept, b.scalar(smooth / classes, target))
        total = b.nn("neg", summed(b, b.nn("mul", self._weighted(b, logs, place), target)))
        return total, b.scalar(prod(b.shape(logs)) / max(classes, 1), logs)

    def _weighted(self, b: OpMaker, logs: SSAValue, place: int) -> SSAValue:
        if not self.weight:
            return logs
        return b.nn("mul", logs, vector(b, self.weight, logs, (-1, *(1,) * (b.rank(logs) - 1 - place))))


@record
class NLL(_ClassLoss):
    """Negative log-likelihood of log-probabilities: -x[target], weighted by class.

    Args:
        weight: of each class; none: 1.
        ignore_index: a target that counts for nothing.
        reduction: mean: the sum divided by the weights of all targets that count.
        axis: the dimension of classes.
    Source:  torch.nn.NLLLoss.
    """

    NAME: ClassVar[str] = "nll"
    weight: tuple[float, ...] = ()
    ignore_index: int = -100
    reduction: str = "mean"
    axis: int = 1

    def terms(self, b: OpMaker, output: SSAValue, target: SSAValue | None) -> tuple[SSAValue, SSAValue]:
        assert target is not None
        found, weights, _ = self._picked(b, wide(b, output), target)
        return b.nn("neg", summed(b, b.nn("mul", found, weights))), summed(b, weights)
