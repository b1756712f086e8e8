"""Learning rates that follow an optimizer which takes the place of another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR


def move_rates(before: torch.optim.Optimizer, after: torch.optim.Optimizer, schedulers: Sequence[Any]) -> None:
    """Let schedulers of an optimizer set the rates of another one, whose groups are like those."""
    moved = [inner for scheduler in schedulers for inner in _all(scheduler) if inner.optimizer is before]
    if before is after or not moved:
        return
    rates = [group["lr"] for group in after.param_groups]
    LambdaLR(after, lambda _: 1.0)  # a scheduler that is made lets the optimizer count its steps, which others ask for
    for group, rate in zip(after.param_groups, rates, strict=True):
        group["lr"] = rate
    for scheduler in moved:
        scheduler.optimizer = after


def _all(scheduler: Any) -> Iterator[Any]:
    """Yield a scheduler and those that it is made of."""
    for inner in getattr(scheduler, "_schedulers", ()):
        yield from _all(inner)
    if hasattr(scheduler, "optimizer"):
        yield scheduler
