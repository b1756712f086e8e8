"""The stages of a process, made ready for inputs of certain shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage

from ttc.dialects.core.records import record
from ttc.dist.failures import COMPILING
from ttc.dist.processes import Mesh
from ttc.dist.signatures import Signature, buffers_kept, outputs_for, receive, send, take_modes
from ttc.dist.stages import Backward, Crossing, HookedStage, warm_up


@record
class StagePlace:
    """Which stages of how many a process has.

    Args:
        stages: of the pipeline; stage s lies in process s modulo the size of `pipe`.
        own: numbers of those of this process, ascending.
    """

    mesh: Mesh
    stages: int
    own: tuple[int, ...]

    def of(self, stage: int) -> int:
        """Return the process that has a stage, by its number among all."""
        ranks = self.mesh.ranks("pipe")
        return ranks[stage % len(ranks)]


@record(frozen=False, eq=False)
class StageLine:
    """Stages of PyTorch's for one set of shapes.

    Args:
        stages: of this process, ascending.
        outputs: what the last stage of the pipeline gives for a microbatch.
        schedule: that runs them.
    """

    stages: list[PipelineStage]
    outputs: Signature
    schedule: Any = field(default=None)

    @staticmethod
    def build(
        place: StagePlace,
        crossings: Mapping[int, Crossing],
        modules: Mapping[int, nn.Module],
        inputs: Sequence[torch.Tensor],
        named: Mapping[str, torch.Tensor],
        backward: Backward | None,
        *,
        training: bool,
        is_compiled: bool = True,
    ) -> StageLine:
        """Work out what passes between stages, and let those of this process be compiled. All processes of the pipeline call it.

        Args:
            crossings, modules: by stage; a module is what runs a crossing, alone or for replicas.
            inputs: a microbatch of those of the model, where the first stage is.
            named: a microbatch of those by name.
            backward: of the user, instead of PyTorch's.
            training: whether gradients are asked for.
            is_compiled: whether stages are compiled, which is then done here.
        """
        signatures = _signatures(place, crossings, inputs, named, training=training)
        stages: list[PipelineStage] = []
        for number in place.own:
            given, made = signatures[number]
            # what is compiled while a process waits is compiled in all of them at once
            if is_compiled:
                with place.mesh.waiting(COMPILING):  # parameters that are cut are gathered meanwhile
                    warm_up(crossings[number], given, {name: value.detach() for name, value in named.items()}, training=training)
            stages.append(_stage(place, number, modules[number], given, made, backward))
        return StageLine(stages, _outputs_everywhere(place, signatures))


def _signatures(place: StagePlace, crossings: Mapping[int, Crossing], inputs: Any, named: Any, *, training: bool) -> dict[int, Any]:
    """Return what each stage of this process takes and gives."""
    found: dict[int, tuple[Signature, Signature]] = {}
    for number in place.own:
        if number == 0:
            given = Signature.of(tuple(value.detach() for value in inputs))
        elif number - 1 in found:
            given = found[number - 1][1]
        else:
            given = receive(place.of(number - 1), place.mesh.group("pipe"))
        crossing = crossings[number]
        crossing.structure = given.structure
        part, mode = crossing.part, None
        if crossing.shapes is not None:
            part, mode = crossing.shapes.module, crossing.shapes.mode
            take_modes(part, crossing.part)
        run = partial(crossing.value, part.forward)
        with buffers_kept(crossing.part):  # counters of batch norms are plain numbers, which any pass changes
            made = outputs_for(run, given, named, training=training, mode=mode)
        found[number] = given, made
        if number + 1 < place.stages and place.of(number + 1) != place.mesh.rank:
            send(made, place.of(number + 1), place.mesh.group("pipe"))
    return found


def _outputs_everywhere(place: StagePlace, signatures: Mapping[int, Any]) -> Signature:
    """Return what the last stage gives, told to all processes of the pipeline."""
    last = place.stages - 1
    if place.of(last) != place.mesh.rank:
        return receive(place.of(last), place.mesh.group("pipe"))
    for rank in place.mesh.ranks("pipe"):
        if rank != place.mesh.rank:
            send(signatures[last][1], rank, place.mesh.group("pipe"))
    return signatures[last][1]


def _stage(
    place: StagePlace, number: int, module: nn.Module, given: Signature, made: Signature, backward: Backward | None
) -> PipelineStage:
    kind = PipelineStage if backward is None else HookedStage
    shapes: dict[str, Any] = {"input_args": given.zeros(), "output_args": made.zeros(), "group": place.mesh.pipe_group()}
    stage = kind(module, number, place.stages, torch.device("cpu"), **shapes)
    if isinstance(stage, HookedStage) and backward is not None:
        stage.hook = backward
    return stage
