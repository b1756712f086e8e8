"""Learning rates that rise over the first updates, and fall again, as DeepSpeed's configurations ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

from ttc.dialects.core.errors import Error, nearest

_RISING = {"warmup_min_lr": 0.0, "warmup_max_lr": 0.001, "warmup_num_steps": 1000, "warmup_type": "log"}
SCHEDULERS: dict[str, dict[str, Any]] = {"WarmupLR": _RISING, "WarmupDecayLR": {**_RISING, "total_num_steps": None}}
"""The options of each schedule, with their defaults; None: there is none."""


def factor(kind: str, options: Mapping[str, Any], where: str | None = None) -> Callable[[int], float]:
    """Return the rate of each update, counted from 0: it rises to warmup_max_lr, and then stays, or falls in a line.

    Args:
        kind: of SCHEDULERS.
        options: of it.
        where: of an error.
    Raises: E0101 for options that it does not have, or that cannot be.
    """
    for name in options:
        if name not in SCHEDULERS[kind]:
            raise Error("E0101", f"{kind} has no option '{name[:40]}'", where, hint=nearest(name, SCHEDULERS[kind]))
    given = {**SCHEDULERS[kind], **options}
    way = given.pop("warmup_type")
    if way not in ("log", "linear"):
        raise Error("E0101", f"rates cannot rise as '{str(way)[:40]}'", where, hint="log, linear")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise Error("E0101", f"{kind}'s {name} is a number, not {value!r:.40}", where)
    low, high, rising = given["warmup_min_lr"], given["warmup_max_lr"], max(2, int(given["warmup_num_steps"]))
    total = given.get("total_num_steps")

    def rate(step: int) -> float:
        if step < rising:
            share = log(step + 1) / log(rising) if way == "log" else step / rising
        elif total is None:
            share = 1.0
        else:
            share = max(0.0, (total - step) / max(1, total - rising))
        return low + (high - low) * share

    return rate
