"""A stage as PyTorch's pipelines take it: the compiled part of a model, with tensors alone at its ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dist.signatures import Shapes, Signature, buffers_kept

PRECISIONS = {"float32": None, "bf16-mixed": torch.bfloat16}
"""What stages compute in: the type that autocast takes, or None."""
Backward = Callable[[torch.Tensor, "torch.Tensor | None"], Any]


def precision_of(name: str) -> torch.dtype | None:
    """Return the type of a row of PRECISIONS.  Raises E0101 for another name."""
    if name not in PRECISIONS:
        raise Error("E0101", f"there is no precision '{str(name)[:40]}'", hint=", ".join(PRECISIONS))
    return PRECISIONS[name]


class Crossing(nn.Module):
    """A part of a model between two others, or at an end: it takes and gives the leaves of structures of tensors.

    Args:
        part: that is run.
        precision: float32 or bf16-mixed.
        is_last: whether its outputs are those of the model: numbers without rows are then rows, of one microbatch each.
    Raises: E0101 for another precision.
    """

    def __init__(self, part: nn.Module, precision: str, *, is_last: bool) -> None:
        super().__init__()
        self.part = part
        self._is_last = is_last
        self._autocast = precision_of(precision)
        self.structure: pytree.TreeSpec | None = None
        """How the inputs are nested; None: they are given one by one."""
        self.shapes: Shapes | None = None
        """What works out shapes, where parameters are cut."""

    def forward(self, *leaves: torch.Tensor, **named: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the part, and return the leaves of what it gives."""
        given = pytree.tree_leaves(self.value(self.part, *leaves, **named))
        return tuple(leaf.reshape(1) if self._is_last and not leaf.ndim else leaf.contiguous() for leaf in given)

    def value(self, call: Callable[..., Any], *leaves: torch.Tensor, **named: torch.Tensor) -> Any:
        """Call the part, or another way to run it, and return what it gives."""
        inputs = leaves if self.structure is None else pytree.tree_unflatten(list(leaves), self.structure)
        cast = nullcontext() if self._autocast is None else torch.autocast("cpu", self._autocast)
        with cast:
            return call(*inputs, **named) if isinstance(inputs, tuple) else call(inputs, **named)


def warm_up(crossing: Crossing, inputs: Signature, named: dict[str, torch.Tensor], *, training: bool) -> None:
    """Let a stage be compiled by running it on zeros; gradients, buffers and random numbers are afterwards what they were."""
    cut = [(parameter, parameter.grad) for parameter in crossing.parameters() if isinstance(parameter, DTensor)]
    with torch.random.fork_rng(devices=[]), buffers_kept(crossing), torch.set_grad_enabled(training):
        given = inputs.zeros()
        outputs = [x for x in crossing(*given, **named) if x.requires_grad]
        wanted = [x for x in (*crossing.parameters(), *given) if x.requires_grad]
        if training and outputs and cut:
            torch.autograd.backward(outputs, [torch.zeros_like(x) for x in outputs])  # hooks work on this way alone
        elif training and outputs and wanted:
            torch.autograd.grad(outputs, wanted, [torch.zeros_like(x) for x in outputs], allow_unused=True)
    for parameter, gradient in cut:
        parameter.grad = gradient


class HookedStage(PipelineStage):
    """A stage whose backward pass of each microbatch is a function of the user: of the loss, or of an output and its gradient."""

    hook: Backward

    def backward_maybe_with_nosync(self, backward_type: Any, bwd_kwargs: dict[str, Any], last_backward: bool = False) -> Any:
        """Call the function for what the stage gave, and return the gradients of its inputs."""
        if isinstance(self.submod, FSDPModule):  # as the method of PyTorch does: what replicas share is added up in the end
            self.submod.set_is_last_backward(False)
            self.submod.set_reshard_after_backward(False)
            self.submod.set_requires_gradient_sync(False)
        given = bwd_kwargs["stage_output"]
        outputs = (given,) if isinstance(given, torch.Tensor) else given
        gradients = bwd_kwargs["output_grads"] or (None,) * len(outputs)
        with self._synchronized(list(outputs), last_backward):
            for output, gradient in zip(outputs, gradients, strict=True):
                if output.requires_grad:
                    self.hook(output, gradient)
        return tuple(value.grad if isinstance(value, torch.Tensor) else None for value in bwd_kwargs["input_values"]), None

    def _synchronized(self, outputs: list[torch.Tensor], last: bool) -> AbstractContextManager[Any]:
        """Lets replicas add up gradients with the last microbatch alone."""
        if not isinstance(self.submod, DistributedDataParallel):
            return nullcontext()
        if not last:
            return self.submod.no_sync()
        self.submod.reducer.prepare_for_backward(outputs)
        return nullcontext()
