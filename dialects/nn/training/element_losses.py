"""Losses that add a term for each element of an output."""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import TYPE_CHECKING, ClassVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.nn.formulas import Formula, Term
from ttc.dialects.nn.training.loss import REDUCTIONS, Ints, Loss, summed, vector, wide, wide_dtype

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ttc.dialects.core.ir.spec import Spec
    from ttc.dialects.nn.making import OpMaker


class _ElementLoss(Loss):
    """What losses have in common that add a term for each element; targets have the output's shape."""

    def target(self, output: Spec) -> Spec | None:
        self.check(output)
        return output._replace(dtype=wide_dtype(output))

    def terms(self, b: OpMaker, output: SSAValue, target: SSAValue | None) -> tuple[SSAValue, SSAValue]:
        assert target is not None
        x = wide(b, output)
        found = self.term(Formula(b, x), Formula(b, target))
        return summed(b, found.value), b.scalar(self.count(b.shape(x)), x)

    def count(self, shape: Ints) -> int:
        """Return what the sum is divided by: elements."""
        return prod(shape)

    @abstractmethod
    def term(self, x: Formula, t: Formula) -> Formula:
        """Return the term of each element x with its target t."""


@record
class MSE(_ElementLoss):
    """Mean squared error: (x - target)^2.  Source: torch.nn.MSELoss."""

    NAME: ClassVar[str] = "mse"
    reduction: str = "mean"

    def term(self, x: Formula, t: Formula) -> Formula:
        d = x - t
        return d * d


@record
class L1(_ElementLoss):
    """Mean absolute error: |x - target|.  Source: torch.nn.L1Loss."""

    NAME: ClassVar[str] = "l1"
    reduction: str = "mean"

    def term(self, x: Formula, t: Formula) -> Formula:
        return abs(x - t)


@record
class SmoothL1(_ElementLoss):
    """d^2 / (2 beta) for d = |x - target| below beta, else d - beta / 2.

    Args:    beta: at least 0; 0 gives |x - target|.
    Source:  torch.nn.SmoothL1Loss.
    """

    NAME: ClassVar[str] = "smooth_l1"
    beta: float = 1.0
    reduction: str = "mean"

    def check(self, output: Spec) -> None:
        super().check(output)
        self._require_at_least("beta", self.beta, 0)

    def term(self, x: Formula, t: Formula) -> Formula:
        d = abs(x - t)
        return d if self.beta == 0 else (d < self.beta).choose(d * d * (0.5 / self.beta), d - 0.5 * self.beta)


@record
class Huber(_ElementLoss):
    """d^2 / 2 for d = |x - target| up to delta, else delta (d - delta / 2).

    Args:    delta: above 0.
    Source:  torch.nn.HuberLoss.
    """

    NAME: ClassVar[str] = "huber"
    delta: float = 1.0
    reduction: str = "mean"

    def check(self, output: Spec) -> None:
        super().check(output)
        if self.delta <= 0:
            raise Error("E0101", f"loss {self.NAME}: delta cannot be {self.delta:g}", hint="it is above 0")

    def term(self, x: Formula, t: Formula) -> Formula:
        d = abs(x - t)
        return (d <= self.delta).choose(d * d * 0.5, (d - 0.5 * self.delta) * self.delta)


class _Weighted(_ElementLoss):
    """What losses of truths have in common: weights along the last dimension."""

    weight: tuple[float, ...]

    def check(self, output: Spec) -> None:
        super().check(output)
        self._check_width("weight", self.weight, output)

    def _check_width(self, key: str, numbers: tuple[float, ...], output: Spec) -> None:
        if numbers and len(numbers) not in (1, output.shape[-1] if output.rank else 1):
            raise Error(
                "E0401", f"loss {self.NAME}: {key} has {len(numbers)} numbers, which do not go along the last dimension of {output}"
            )

    def terms(self, b: OpMaker, output: SSAValue, target: SSAValue | None) -> tuple[SSAValue, SSAValue]:
        assert target is not None
        x = wide(b, output)
        found = self.term(Formula(b, x), Formula(b, target))
        if self.weight:
            found = found * _along_last(found, self.weight)
        return summed(b, found.value), b.scalar(self.count(b.shape(x)), x)


def _along_last(x: Formula, numbers: tuple[float, ...]) -> Term:
    return numbers[0] if len(numbers) == 1 else Formula(x.b, vector(x.b, numbers, x.value, (-1,)))


def _log(p: Formula) -> Formula:
    """Return the logarithm, not below -100: there its gradient is 0, not that of a number divided by 0."""
    some = p > 0.0
    return some.choose(some.choose(p, 1.0).of("log").at_least(-100.0), -100.0)


@record
class BCE(_Weighted):
    """Binary cross entropy of probabilities: -(target log x + (1 - target) log(1 - x)), logarithms not below -100.

    Args:    weight: of elements along the last dimension; none: 1.
    Source:  torch.nn.BCELoss.
    """

    NAME: ClassVar[str] = "bce"
    weight: tuple[float, ...] = ()
    reduction: str = "mean"

    def term(self, x: Formula, t: Formula) -> Formula:
        yes, no = _log(x), _log(1.0 - x)
        return (t - 1.0) * no - t * yes


@record
class BCEWithLogits(_Weighted):
    """Binary cross entropy of logits: (1 - target) x + (1 + (pos_weight - 1) target) log(1 + exp(-x)).

    Args:    weight: of elements along the last dimension; none: 1.  pos_weight: of targets 1, along it; none: 1.
    Source:  torch.nn.BCEWithLogitsLoss.
    """

    NAME: ClassVar[str] = "bce_with_logits"
    weight: tuple[float, ...] = ()
    pos_weight: tuple[float, ...] = ()
    reduction: str = "mean"

    def check(self, output: Spec) -> None:
        super().check(output)
        self._check_width("pos_weight", self.pos_weight, output)

    def term(self, x: Formula, t: Formula) -> Formula:
        spread = (-x).of("softplus")
        if self.pos_weight:
            spread = spread * (1.0 + (_along_last(x, self.pos_weight) - 1.0) * t)
        return (1.0 - t) * x + spread


@record
class KL(_ElementLoss):
    """Kullback-Leibler divergence of log-probabilities x from a distribution: target (log target - x), 0 where the target is 0.

    Args:    log_target: whether targets are logarithms.  reduction: mean over elements, batchmean over rows, or sum.
    Source:  torch.nn.KLDivLoss.
    """

    NAME: ClassVar[str] = "kl"
    log_target: bool = False
    reduction: str = "mean"

    @property
    def reductions(self) -> tuple[str, ...]:
        return (*REDUCTIONS, "batchmean")

    def count(self, shape: Ints) -> int:
        return shape[0] if self.reduction == "batchmean" and shape else prod(shape)

    def term(self, x: Formula, t: Formula) -> Formula:
        if self.log_target:
            return t.of("exp") * (t - x)
        some = t > 0.0
        safe = some.choose(t, 1.0)
        return some.choose(t * (safe.of("log") - x), 0.0)
