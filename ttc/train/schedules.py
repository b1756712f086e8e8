"""Learning rates over a run: the rate of each update, computed on the host, so that nothing is compiled anew.

A schedule is a record with `rate(update, base, total)`: the rate of an update (counted from 0) of a run of `total` updates, from the rate
that the optimizer was given.  Formulas are those of `torch.optim.lr_scheduler`, stepped once an update.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.nn.training.settings import NamedSettings, named


@runtime_checkable
class Schedule(Protocol):
    """Gives the learning rate of an update."""

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update, counted from 0, of `total`, from the optimizer's own rate."""
        ...


@record
class Constant(NamedSettings):
    """The schedule of the optimizer's own rate throughout."""

    WHAT: ClassVar[str] = "schedule"
    NAME: ClassVar[str] = "constant"

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update."""
        return base


@record
class Step(NamedSettings):
    """The schedule of the rate times `gamma` after every `step_size` updates: StepLR.

    Args:
        step_size: updates between two changes.
        gamma: factor of a change.
    """

    WHAT: ClassVar[str] = "schedule"
    NAME: ClassVar[str] = "step"
    step_size: int = 0
    gamma: float = 0.1

    def __post_init__(self) -> None:
        _at_least("step_size", self.step_size, 1)

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update."""
        return base * self.gamma ** (update // self.step_size)


@record
class Cosine(NamedSettings):
    """The schedule of half a period of the cosine from the rate down to `eta_min`: CosineAnnealingLR.

    Args:
        t_max: updates of the half period; 0: all that follow the warm-up.
        eta_min: the lowest rate.
        warmup: updates before, over which the rate grows linearly from 1 / (warmup + 1) of itself.
    """

    WHAT: ClassVar[str] = "schedule"
    NAME: ClassVar[str] = "cosine"
    t_max: int = 0
    eta_min: float = 0.0
    warmup: int = 0

    def __post_init__(self) -> None:
        _at_least("t_max", self.t_max, 0)
        _at_least("warmup", self.warmup, 0)

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update."""
        if update < self.warmup:
            return base * (update + 1) / (self.warmup + 1)
        period = self.t_max or max(total - self.warmup, 1)
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * (update - self.warmup) / period)) / 2


@record
class Linear(NamedSettings):
    """The schedule of a factor from `start_factor` to `end_factor` over `total_iters` updates, which then stays: LinearLR. The default is a
    warm-up.

    Args:
        total_iters: updates until the last factor.
        start_factor, end_factor: of the rate.
    """

    WHAT: ClassVar[str] = "schedule"
    NAME: ClassVar[str] = "linear"
    total_iters: int = 5
    start_factor: float = 1 / 3
    end_factor: float = 1.0

    def __post_init__(self) -> None:
        _at_least("total_iters", self.total_iters, 1)

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update."""
        share = min(update, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


@record
class OneCycle(NamedSettings):
    """The schedule up to `max_lr` and down again, in one run: OneCycleLR, of the learning rate alone.

    Args:
        max_lr: the highest rate; 0: the optimizer's own.
        total_steps: updates of the cycle; 0: all of the run.
        pct_start: share of the cycle on the way up.
        anneal_strategy: cos or linear.
        div_factor: the first rate is `max_lr / div_factor`.
        final_div_factor: the last is the first over this.
        three_phase: down to the first rate in as many updates as up, then to the last.
    """

    WHAT: ClassVar[str] = "schedule"
    NAME: ClassVar[str] = "onecycle"
    max_lr: float = 0.0
    total_steps: int = 0
    pct_start: float = 0.3
    anneal_strategy: str = "cos"
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    three_phase: bool = False

    def __post_init__(self) -> None:
        _at_least("total_steps", self.total_steps, 0)
        if not 0 <= self.pct_start <= 1:
            raise Error("E0101", f"pct_start of a schedule is {self.pct_start:g}, which is not from 0 to 1")
        if self.anneal_strategy not in ("cos", "linear"):
            raise Error("E0101", f"anneal_strategy of a schedule is '{self.anneal_strategy}'", hint="known: cos, linear")
        for name in ("div_factor", "final_div_factor"):
            if not getattr(self, name) > 0:
                raise Error("E0101", f"{name} of a schedule is not above 0")

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update; beyond the cycle's end the last one."""
        highest, steps = self.max_lr or base, self.total_steps or total
        first = highest / self.div_factor
        rates = (
            [first, highest, first, first / self.final_div_factor] if self.three_phase else [first, highest, first / self.final_div_factor]
        )
        up = self.pct_start * steps - 1
        ends = [up, 2 * up, steps - 1] if self.three_phase else [up, steps - 1]
        start = 0.0
        for end, low, high in zip(ends, rates, rates[1:], strict=False):
            if update <= end:
                return self._between(low, high, (update - start) / (end - start) if end > start else 1.0)
            start = end
        return rates[-1]

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


@record(eq=False)
class FunctionRate:
    """The schedule of a factor of the rate, from the user's own function of the update: LambdaLR.

    Args:
        factor: takes the number of the update.
    """

    factor: Callable[[int], float]

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update.  Raises E0101 if the function gives no finite number."""
        found = self.factor(update)
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise Error("E0101", f"the schedule gives {found!r:.80} for update {update}, which is no factor of a learning rate")
        return base * found


class FromTorch:
    """The schedule of a scheduler of torch, which is stepped once an update; updates are asked for in order.

    Args:
        scheduler: whose optimizer has the rates, of one group.
    """

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._update = scheduler.last_epoch

    def rate(self, update: int, base: float, total: int) -> float:
        """Return the rate of an update.  Raises E0101 for an update before the last one asked for."""
        if update < self._update:
            raise Error("E0101", f"a scheduler of torch is at update {self._update}, and cannot go back to {update}")
        for _ in range(update - self._update):
            self._scheduler.optimizer._opt_called = True  # noqa: SLF001 - the update is done here, and torch would warn that none was
            self._scheduler.step()
        self._update = update
        return float(self._scheduler.get_last_lr()[0])


SCHEDULES: dict[str, type[Any]] = {kind.NAME: kind for kind in (Constant, Step, Cosine, Linear, OneCycle)}
"""Schedules by the name that `--schedule` takes."""


def of(value: Any) -> Schedule:
    """Return the schedule that a user means.

    Args:
        value: a schedule, text as `parse` reads, a function of the update that gives a factor, or a scheduler of `torch.optim`.
    Raises: E0101 for anything else.
    """
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, Schedule):
        return value
    if hasattr(value, "get_last_lr") and hasattr(value, "optimizer"):
        if len(value.optimizer.param_groups) != 1:
            raise Error("E0101", "a scheduler of torch gives rates of its optimizer's groups", hint="step it between calls, as torch does")
        return FromTorch(value)
    if callable(value):
        return FunctionRate(cast("Callable[[int], float]", value))
    raise Error("E0101", f"{type(value).__name__} is no schedule", hint=f"known: {', '.join(SCHEDULES)}, or a function of the update")


def _at_least(name: str, value: int, low: int) -> None:
    if value < low:
        raise Error("E0101", f"{name} of a schedule is {value}, which is below {low}")


def parse(text: str) -> Schedule:
    """Return the schedule of a text such as `cosine:warmup=100`.  Raises E0101."""
    return named(text, SCHEDULES, "schedule")


def schedule_text(schedule: Schedule) -> str:
    """Return what checkpoints record of a schedule: text as `parse` reads, or the name of its class."""
    return schedule.text if isinstance(schedule, NamedSettings) else type(schedule).__name__
