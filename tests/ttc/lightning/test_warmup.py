"""Rates rise and fall as DeepSpeed's do."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.lightning.warmup import factor

PARAMS = {"warmup_min_lr": 0.02, "warmup_max_lr": 0.06, "warmup_num_steps": 4, "warmup_type": "linear"}


def test_rates_rise_in_a_line_and_stay_or_fall() -> None:
    rising = [0.02, 0.03, 0.04, 0.05, 0.06]
    assert [factor("WarmupLR", PARAMS)(step) for step in range(6)] == pytest.approx([*rising, 0.06])
    falling = factor("WarmupDecayLR", {**PARAMS, "total_num_steps": 8})
    assert [falling(step) for step in (4, 6, 8, 9)] == pytest.approx([0.06, 0.04, 0.02, 0.02])


def test_rates_rise_by_logarithms() -> None:
    rate = factor("WarmupLR", {**PARAMS, "warmup_type": "log"})
    assert [rate(0), rate(1), rate(3)] == pytest.approx([0.02, 0.02 + 0.04 * log(2) / log(4), 0.06])


@pytest.mark.parametrize("options", [{"steps": 1}, {"warmup_type": "square"}, {"warmup_max_lr": "1"}, {"warmup_min_lr": float("nan")}, {}])
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(Error, match="E0101"):
        factor("WarmupDecayLR", options)
