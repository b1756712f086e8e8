"""What ttc counts in a stage is logged, and kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import Logger

from tests.ttc.lightning.modules import Images, images, trainer
from ttc.lightning import MetricsCallback, TTCAccelerator


class Memory(Logger):
    """A logger that keeps what it is given."""

    name, version = "memory", 0

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int | None, dict[str, float]]] = []

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None: ...

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.rows.append((step, dict(metrics)))


def test_counts_of_a_stage_are_logged(rng: np.random.Generator) -> None:
    logger, counting = Memory(), MetricsCallback(every_n_steps=2, prefix="compiler/")
    runs = trainer(TTCAccelerator(fallback=False), counting, logger=logger, max_epochs=1, log_every_n_steps=1)
    torch.manual_seed(0)
    runs.fit(Images(), images(rng, 24))
    logged = [(step, row) for step, row in logger.rows if "compiler/fallbacks" in row]
    assert [step for step, _ in logged] == [2, 3]
    assert counting.counted["fallbacks"] == 0
    assert counting.counted["compilations"] >= 2  # forward and backward
    assert logged[-1][1]["compiler/runs"] > logged[0][1]["compiler/runs"] > 0
    assert TTCAccelerator().get_device_stats(torch.device("cpu"))["runs"] >= counting.counted["runs"]


def test_it_counts_updates() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        MetricsCallback(0)
