"""What ttc counts in a stage is logged, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import Logger

from tests.ttc.lightning.modules import Images, images, trainer
from ttc.dialects.core.errors import Error
from ttc.lightning import MetricsCallback, TTCAccelerator


class Memory(Logger):
    """A logger that keeps what it is given."""

    name, version = "memory", 0  # pyright: ignore[reportAssignmentType]

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


@pytest.mark.parametrize(("accumulated", "batches", "wanted"), [(3, 9, [2, 3]), (1, 4, [2, 4]), (1, 1, [1])])
def test_an_update_is_logged_once(rng: np.random.Generator, accumulated: int, batches: int, wanted: list[int]) -> None:
    logger = Memory()
    options = {"logger": logger, "max_epochs": 1, "accumulate_grad_batches": accumulated}
    trainer("cpu", MetricsCallback(every_n_steps=2), **options).fit(Images(), images(rng, 8 * batches))
    assert [step for step, row in logger.rows if "ttc/runs" in row] == wanted


def test_a_stage_without_updates_is_logged(rng: np.random.Generator) -> None:
    logger, counting = Memory(), MetricsCallback()
    trainer(TTCAccelerator(fallback=False), counting, logger=logger).validate(Images(), images(rng), verbose=False)
    assert [row["ttc/runs"] for _, row in logger.rows if "ttc/runs" in row] == [counting.counted["runs"]]
    assert counting.counted["runs"] >= 2


def test_updates_are_counted_from_a_checkpoint_on(rng: np.random.Generator, tmp_path: Path) -> None:
    logger, data = Memory(), images(rng, 40)
    first = trainer("cpu", max_epochs=1)
    first.fit(Images(), data)
    first.save_checkpoint(tmp_path / "five.ckpt")
    runs = trainer("cpu", MetricsCallback(every_n_steps=4), logger=logger, max_epochs=2)
    runs.fit(Images(), data, ckpt_path=tmp_path / "five.ckpt")
    assert [step for step, row in logger.rows if "ttc/runs" in row] == [9, 10]


def test_less_than_one_update() -> None:
    with pytest.raises(Error, match="E0101.*at least 1, not 0"):
        MetricsCallback(0)
