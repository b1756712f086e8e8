"""Gradients of a step: added to those of steps before once they are whole, and over stages that share a parameter."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn

from ttc.dist.clipping import COPY
from ttc.dist.processes import Mesh


class Gradients:
    """The gradients of this process's stages.

    Args:
        parts: all stages.
        own: numbers of those of this process.
    """

    def __init__(self, parts: Sequence[nn.Module], own: Sequence[int], mesh: Mesh) -> None:
        self._mesh = mesh
        pipe, here = mesh.size("pipe"), mesh.coordinate("pipe")
        places: dict[nn.Parameter, set[int]] = {}
        for number, part in enumerate(parts):
            for parameter in part.parameters():
                places.setdefault(parameter, set()).add(number % pipe)
        self.parameters = list(dict.fromkeys(p for number in own for p in parts[number].parameters()))
        """The parameters of this process's stages, each once."""
        self._tied = [p for p, found in places.items() if len(found) > 1 and p.requires_grad]
        self._absent = [p for p in self._tied if here not in places[p]]
        for parameter in self._tied:
            if min(places[parameter]) != here:
                setattr(parameter, COPY, True)
        self._before: list[torch.Tensor | None] = []

    def begin(self) -> None:
        """Set aside the gradients of steps before: added up apart, two equal steps have exactly twice the gradient of one."""
        self._before = [parameter.grad for parameter in self.parameters]
        for parameter in self.parameters:
            parameter.grad = None

    def end(self) -> None:
        """Add up the gradients of parameters that several processes have, then those of steps before."""
        for parameter in self._tied:
            total = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            dist.all_reduce(total, group=self._mesh.group("pipe"))
            parameter.grad = total
        for parameter in self._absent:
            parameter.grad = None
        for parameter, before in zip(self.parameters, self._before, strict=True):
            if before is not None:
                parameter.grad = before if parameter.grad is None else before.add_(parameter.grad)
