"""A callback that logs what ttc counts."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from ttc import metrics


class MetricsCallback(Callback):
    """Log what ttc counted since a fit, validation, test or prediction began: compilations, fallbacks, memory and others.

    Args:
        every_n_steps: updates between two entries in the log; what is left at the end is logged, too.
        prefix: that names in the log begin with.
    """

    def __init__(self, every_n_steps: int = 50, prefix: str = "ttc/") -> None:
        if every_n_steps < 1:
            raise ValueError(f"every_n_steps is at least 1, not {every_n_steps}")
        self.every_n_steps, self.prefix = every_n_steps, prefix
        self.counted: dict[str, float] = {}
        """What was counted in the stage that ended last."""
        self._stack = ExitStack()
        self._scope: Any = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Begin to count for a stage."""
        self._stack.close()
        self._scope = self._stack.enter_context(metrics.scope(stage))

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Log after every so many updates."""
        if trainer.global_step % self.every_n_steps == 0:
            self._log(trainer)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Log what the stage counted in all, and end."""
        self._stack.close()
        if self._scope is not None:
            self._log(trainer)
            self._scope = None

    def _log(self, trainer: Trainer) -> None:
        self.counted = self._scope.flat()
        values = {f"{self.prefix}{name}": value for name, value in self.counted.items()}
        for logger in trainer.loggers:
            logger.log_metrics(values, step=trainer.global_step)
