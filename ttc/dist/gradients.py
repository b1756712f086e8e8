"""Gradients of a step: added to those of steps before once they are whole, and over stages that share a parameter."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from ttc.dist.clipping import COPY
from ttc.dist.names import Names
from ttc.dist.pieces import local_part, zeros_of_part
from ttc.dist.processes import Mesh


class Gradients:
    """The gradients of this process's stages.

    Args:
        parts: all stages, those of this process with the parameters that are trained: cut, where replicas share them.
        names: of tensors as they were before.
        cut: the processes among which parameters are cut; None: they are whole.
    """

    def __init__(self, parts: Sequence[nn.Module], names: Names, mesh: Mesh, cut: DeviceMesh | None) -> None:
        self._mesh, self._cut = mesh, cut
        pipe, here = mesh.size("pipe"), mesh.coordinate("pipe")
        self.parameters = list(dict.fromkeys(p for number in names.own for p in parts[number].parameters()))
        """The parameters of this process's stages, each once."""
        self._tied: list[nn.Parameter] = []
        for places in names.places.values():
            processes = {number % pipe for number, _ in places}
            number, path = next((place for place in places if place[0] in names.own), places[0])
            parameter = dict(parts[number].named_parameters()).get(path)
            if len(processes) == 1 or parameter is None or not parameter.requires_grad:
                continue
            self._tied.append(parameter)
            if min(processes) != here and here in processes:
                setattr(parameter, COPY, True)
        self._before: list[torch.Tensor | None] = []

    def begin(self) -> None:
        """Set aside the gradients of steps before: added up apart, two equal steps have exactly twice the gradient of one."""
        self._before = [parameter.grad for parameter in self.parameters]
        for parameter in self.parameters:
            parameter.grad = None

    def end(self) -> None:
        """Add up the gradients of parameters that several processes have, then those of steps before."""
        own = {id(parameter) for parameter in self.parameters}
        for parameter in self._tied:
            if id(parameter) in own and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            # stages of other processes are not cut here: what they get of a parameter is as large as what those send that have it
            total = zeros_of_part(parameter, self._cut) if parameter.grad is None else local_part(parameter.grad)
            dist.all_reduce(total, group=self._mesh.group("pipe"))
        for parameter, before in zip(self.parameters, self._before, strict=True):
            if before is not None:
                parameter.grad = before if parameter.grad is None else before.add_(parameter.grad)
