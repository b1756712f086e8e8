"""A callback that logs what ttc counts."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from ttc import metrics
from ttc.dialects.core.errors import Error


class MetricsCallback(Callback):
    """Log what ttc counted since a fit, validation, test or prediction began: compilations, fallbacks, memory and others.

    Args:
        every_n_steps: updates between two entries in the log; updates that are left at the end are logged, too.
        prefix: that names in the log begin with.
    Raises: E0101 for less than 1 update.
    """

    def __init__(self, every_n_steps: int = 50, prefix: str = "ttc/") -> None:
        if every_n_steps < 1:
            raise Error("E0101", f"every_n_steps is at least 1, not {every_n_steps}")
        self.every_n_steps, self.prefix = every_n_steps, prefix
        self.counted: dict[str, float] = {}
        """What was counted in the stage that ended last."""
        self._stack = ExitStack()
        self._scope: Any = None
        self._logged_at, self._has_logged = 0, False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Begin to count for a stage."""
        self._stack.close()
        self._scope = self._stack.enter_context(metrics.scope(stage))
        self._logged_at, self._has_logged = trainer.global_step, False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count updates from where a checkpoint left off, which the Trainer has read by now."""
        self._logged_at = trainer.global_step

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Log after every so many updates, of which a batch may do none or several."""
        if trainer.global_step - self._logged_at >= self.every_n_steps:
            self._log(trainer)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Log what the stage counted in all, unless its last update was, and end."""
        self._stack.close()
        if self._scope is None:
            return
        self.counted = self._scope.flat()
        if not self._has_logged or trainer.global_step != self._logged_at:
            self._log(trainer)
        self._scope = None

    def _log(self, trainer: Trainer) -> None:
        self._logged_at, self._has_logged = trainer.global_step, True
        self.counted = self._scope.flat()
        values = {f"{self.prefix}{name}": value for name, value in self.counted.items()}
        for logger in trainer.loggers:
            logger.log_metrics(values, step=trainer.global_step)
