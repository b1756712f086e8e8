"""What part each microbatch has in the loss of a batch, so that gradients are those of all its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dist.processes import Mesh

IGNORED = -100
"""The target that the functions of PyTorch's losses over classes do not count."""


class SharedLoss:
    """The loss of a microbatch times its share of the batch, which is all that gradients are ever divided by.

    A mean loss of PyTorch over classes, a module or the function itself, has shares by the targets that count, any other loss the same
    share for each microbatch.

    Args:
        loss: of outputs and targets; None: the last stage gives it.
        microbatches: of a step of this process.
    """

    def __init__(self, loss: Callable[..., torch.Tensor] | None, microbatches: int, mesh: Mesh) -> None:
        self._loss = loss
        self._microbatches = microbatches
        self._mesh = mesh
        self._total: float | None = None
        self.structure: pytree.TreeSpec | None = None
        """How the outputs of the last stage are nested."""
        self.values: list[torch.Tensor] = []
        """Losses of microbatches of this step, each of its own rows."""
        self.shares: list[float] = []

    def begin(self, target: torch.Tensor) -> None:
        """Get ready for a step with the targets of all its rows; the last stages of all replicas do so together."""
        self.values, self.shares, self._total = [], [], None
        weights = self._weights(target)
        if weights is None:
            return
        total = weights.sum().double()
        replicas = self._mesh.replicas()
        if replicas > 1:
            dist.all_reduce(total, group=self._mesh.replica_group())
        self._total = float(total) / replicas  # gradients are averaged over replicas afterwards

    def __call__(self, leaves: Any, target: torch.Tensor) -> torch.Tensor:
        """Return the loss of a microbatch, times its share."""
        output = pytree.tree_unflatten(list(leaves), self.structure) if self.structure is not None else leaves
        if isinstance(output, torch.Tensor) and output.dtype in (torch.bfloat16, torch.float16):
            output = output.float()
        value = _number(output) if self._loss is None else self._loss(output, target)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            given = f"a tensor of {list(value.shape)}" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
            raise Error("E0801", f"the loss of a microbatch is one number, not {given}", hint='reduction="mean"')
        value, share = value.reshape(()), self._share(target)
        self.values.append(value.detach().float())
        self.shares.append(share)
        return value * share if share else (value * 0).nan_to_num()

    def _share(self, target: torch.Tensor) -> float:
        weights = self._weights(target)
        if weights is None or not self._total:
            return 1 / self._microbatches
        return float(weights.sum()) / self._total

    @property
    def takes_targets(self) -> bool:
        """Whether the loss is a function of outputs and targets."""
        return self._loss is not None

    def counts(self, target: Any) -> bool:
        """Return whether the loss says how many targets its mean is of, so that replicas may have different numbers of rows."""
        return isinstance(target, torch.Tensor) and self._weights(target) is not None

    def _weights(self, target: torch.Tensor) -> torch.Tensor | None:
        """Return what each target counts in a mean over classes; None for other losses."""
        loss = self._loss
        if loss in (functional.cross_entropy, functional.nll_loss) and not target.is_floating_point():
            return (target != IGNORED).double()
        if not isinstance(loss, nn.CrossEntropyLoss | nn.NLLLoss) or loss.reduction != "mean" or target.is_floating_point():
            return None
        counts = (target != loss.ignore_index).double()
        if loss.weight is None:
            return counts
        return counts * loss.weight.double()[target.clamp(0, len(loss.weight) - 1)]

    def mean(self) -> torch.Tensor:
        """Return the loss of all rows of this process's step."""
        return sum((v * s for v, s in zip(self.values, self.shares, strict=True) if s), torch.zeros(()))


def _number(output: Any) -> torch.Tensor:
    """Return the loss that the last stage gives.  Raises E0801 where that is not one number."""
    if not isinstance(output, torch.Tensor) or output.numel() != 1:
        raise Error("E0801", "the last stage gives no loss: that is one output of one number", hint="give the runner a loss")
    return output.reshape(())
