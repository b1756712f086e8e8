"""Training as passes: what a program is trained with, and the passes that make it so."""

from __future__ import annotations

from ttc.dialects.core.records import record
from ttc.passes.base import Pass
from ttc.passes.nn.accumulate_gradients import AccumulateGradients
from ttc.passes.nn.add_loss import AddLoss
from ttc.passes.nn.apply_optimizer import ApplyOptimizer
from ttc.passes.nn.clip_gradients import ClipGradients
from ttc.passes.nn.differentiate import Differentiate
from ttc.passes.nn.evaluation_mode import EvaluationMode
from ttc.passes.nn.recognize_batch_norm import RecognizeBatchNorm
from ttc.passes.nn.recompute import Recompute
from ttc.passes.nn.split_backward import SplitBackward
from ttc.passes.nn.train_batch_norm import TrainBatchNorm
from ttc.passes.nn.training_notes import BACKWARD, EVALUATE, SCALED, SUM


@record
class TrainingPlan:
    """What a program is trained with.

    Args:
        loss: as text; None: cotangents of outputs are inputs.
        output: that the loss is of; None: the only one of floating point.
        groups: the optimizer of each group of parameters as text, then their names; none: gradients are added up alone.
        inputs: whose gradients are given.
        microbatches: that a step takes.
        clip_norm, clip_value: bounds of gradients; None: none.
        loss_scale: that a dynamic scale of the loss starts with; None: the loss is not scaled.
        recompute: what gradients compute again instead of keeping it: none, auto, all.
        memory: bytes that they may keep at most, with auto; None: what is cheap is computed again.
        stash: whether forward keeps what backward reads, between the two.
        batch_norm: batch: batch norms that were made for inference take the statistics of the batch; given: they stay as they are.
    """

    loss: str | None = None
    output: str | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    inputs: tuple[str, ...] = ()
    microbatches: int = 1
    clip_norm: float | None = None
    clip_value: float | None = None
    loss_scale: float | None = None
    batch_norm: str = "batch"
    recompute: str = "auto"
    memory: int | None = None
    stash: bool = False

    def passes_on_stashes(self) -> list[Pass]:
        """Return the passes that choose what gradients keep, behind all that merge equal ops."""
        return [Recompute(self.recompute, self.memory), *([SplitBackward()] if self.stash else [])]

    def passes(self) -> list[Pass]:
        """Return the passes that make the entry functions of training, after those that find composite ops."""
        named = tuple(name for row in self.groups for name in row[1:]) if all(len(row) > 1 for row in self.groups) else ()
        differentiated = SUM if self.loss_scale is None else SCALED
        clips = self.clip_norm is not None or self.clip_value is not None
        return [
            RecognizeBatchNorm(),
            TrainBatchNorm(self.batch_norm),
            AddLoss(self.loss, self.output, self.loss_scale),
            Differentiate(EVALUATE, None if self.loss is None else differentiated, (), named, self.inputs, "joint", BACKWARD),
            EvaluationMode(),
            AccumulateGradients(self.microbatches, bool(self.groups)),
            *([ClipGradients(self.clip_norm, self.clip_value)] if clips and self.groups else []),
            *([ApplyOptimizer(self.groups)] if self.groups else []),
        ]
