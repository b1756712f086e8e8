"""Trains and evaluates a model whose stages lie in several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils import _pytree as pytree

from ttc.compiler.training_keywords import in_mode
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dist.agreement import BatchOffer, agree
from ttc.dist.checkpoints import Checkpointed
from ttc.dist.clipping import clip_grad_norm_
from ttc.dist.compiling import compile_part
from ttc.dist.cutting import partition
from ttc.dist.failures import meet, naming
from ttc.dist.gradients import Gradients
from ttc.dist.lines import StageLine, StagePlace
from ttc.dist.loaded import LoadedStages
from ttc.dist.names import Names
from ttc.dist.processes import Mesh
from ttc.dist.schedules import check_schedule, made_schedule
from ttc.dist.sharded import broadcast, made_optimizer
from ttc.dist.sharding import Sharding, replicated, reshard
from ttc.dist.shares import SharedLoss
from ttc.dist.signatures import Shapes, hash_of, hash_of_modes, microbatch_of
from ttc.dist.stages import Backward, Crossing

_NUMBERS = count()
"""Runners of this process, which all processes make in the same order."""


@record(eq=False)
class StepResult:
    """What a step gives, in every process.

    Args:
        loss: of all rows of all replicas.
        losses: loss[microbatch] of this replica's microbatches, each of its own rows.
        outputs: of this replica's rows, where the last stage is, or everywhere if asked for; else None.
    """

    loss: torch.Tensor
    losses: torch.Tensor
    outputs: Any


class Runner:
    """Trains a model in stages, one or more a process, whose gradients are those of the whole batch under every schedule.

    All processes make it of the same model; they start from the weights that process 0 has.  Optimizers take `parameters()`.

    Args:
        model: a Sequential, or what `linearize` gives; or the path of an archive of stages, which `save_stages` has written: each process
            loads its own, and compiles nothing.
        mesh: of the processes.  Stage s lies in process s modulo the size of `pipe`; replicas along `data` have rows of their own.
        stages: `uniform` or `params`, as `partition` takes them, or modules, one a stage, of which each takes what the one before gives.
        loss: of outputs and targets; "output": the last stage gives it; None: nothing is trained.
        microbatches: that a step's rows are divided into.
        schedule: gpipe, 1f1b, or interleaved, where processes have several stages.
        precision: float32 or bf16-mixed.
        backward: is called instead of PyTorch's backward pass with what a microbatch gave, and its gradient, or a loss and None.
        target: that stages are compiled for; None: PyTorch runs them.
        shard: what replicas share, 0 to 3; offload, units: see `shard`.
    Raises: E0101 for options that cannot be; E0102, E07xx in all processes where one cannot load its part of an archive.
    """

    def __init__(
        self,
        model: nn.Module | str | Path | None = None,
        *,
        mesh: Mesh,
        stages: str | Sequence[nn.Module] = "uniform",
        loss: Callable[..., torch.Tensor] | str | None = None,
        microbatches: int = 1,
        schedule: str = "1f1b",
        precision: str = "float32",
        backward: Backward | None = None,
        target: str | None = "host",
        shard: int = 0,
        offload: str | Path | None = None,
        units: Sequence[type[nn.Module]] = (),
    ) -> None:
        _check(loss, microbatches)
        self._mesh = mesh
        self._name, self._steps = f"runner {next(_NUMBERS)}", 0
        self._loaded = None

        def checked(count: int) -> None:
            check_schedule(schedule, count, mesh.size("pipe"), microbatches)

        self._parts: tuple[nn.Module, ...]
        if isinstance(model, str | Path):
            _check_archived(mesh, stages, units)
            self._loaded = LoadedStages.open(model, mesh, self._name, checked)
            self._loaded.check_options(precision, target)
            self._parts, precision, target = self._loaded.parts, "float32", None  # stages are in their own
        else:
            self._parts = _parts(model, stages, mesh, checked)
        self._microbatches = microbatches
        pipe = mesh.size("pipe")
        self._own = [number for number in range(len(self._parts)) if number % pipe == mesh.coordinate("pipe")]
        self._crossings = {number: Crossing(self._parts[number], precision, is_last=number == len(self._parts) - 1) for number in self._own}
        if self._loaded is None:
            broadcast(mesh, *self._parts)
        self._names, self._sharding = Names.of(self._parts, self._own), Sharding.of(shard, offload, units)
        is_cut = self._sharding.is_cut(mesh)
        if is_cut:
            _check_apart(self.stages)
        self._modules = {number: self._prepared(crossing, target) for number, crossing in self._crossings.items()}
        self._gradients = Gradients(self._parts, self._names, mesh, mesh.cut_mesh() if is_cut else None)
        self._loss = None if loss is None else SharedLoss(None if isinstance(loss, str) else loss, microbatches, mesh)
        self._backward, self._schedule = backward, schedule
        self._lines: dict[object, StageLine] = {}
        self._checkpoints = Checkpointed(mesh, self._name)

    @property
    def stages(self) -> tuple[nn.Module, ...]:
        """The stages of this process."""
        return tuple(self._parts[number] for number in self._own)

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters of this process's stages, each once."""
        return list(self._gradients.parameters)

    def optimizer(self, kind: type[torch.optim.Optimizer] | torch.optim.Optimizer, /, **options: Any) -> torch.optim.Optimizer:
        """Return an optimizer of this process's stages whose states replicas share: see `Sharded.optimizer`; every process calls it."""
        return made_optimizer(kind, self.parameters(), self._mesh, self._sharding, options)

    def state_dict(self) -> dict[str, Any]:
        """Return parameters and buffers of this process's stages by the names that the model has for them."""
        return {name: value for part in self.stages for name, value in part.state_dict().items()}

    def save(self, folder: str | Path, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Write parameters, buffers, steps and an optimizer's state as a checkpoint, whole or not at all; every process calls it.

        Args:
            folder: that all processes see; a checkpoint that it has is replaced.
            optimizer: Adam, AdamW or SGD of PyTorch, of this process's parameters.
        Raises: E0101 for another optimizer, E0103 where a process cannot write, E0811.
        """
        self._checkpoints.save(folder, self._names.now(self._parts), self._steps, optimizer)

    def load(self, folder: str | Path, optimizer: torch.optim.Optimizer | None = None) -> int:
        """Go on from a checkpoint that any number of processes wrote, and return the steps that were done; every process calls it.

        Nothing is changed unless all processes can read it.  An optimizer keeps its options.
        Args:   as of `save`.
        Raises: E0102 without a checkpoint, E0807 for one that is damaged or of another model, E0811.
        """
        self._steps = self._checkpoints.load(folder, self._names.now(self._parts), optimizer)
        return self._steps

    def zero_grad(self) -> None:
        """Forget the gradients of this process's stages."""
        for parameter in self.parameters():
            parameter.grad = None

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0, *, error_if_nonfinite: bool = False) -> torch.Tensor:
        """Clip gradients by the norm of those of all stages, and return it; every process calls it.  See `clip_grad_norm_`."""
        return clip_grad_norm_(self.parameters(), max_norm, norm_type, mesh=self._mesh, error_if_nonfinite=error_if_nonfinite)

    def step(self, *x: torch.Tensor, target: torch.Tensor | None = None, gather: str = "last", **named: torch.Tensor) -> StepResult:
        """Add the gradients of a batch's loss to those of the parameters.  All processes call it together.

        Args:
            x: inputs of the model, with rows; read by processes of the first stage.
            target: of the loss; read by processes of the last stage.
            gather: `last` or `all`: which stages' processes get the outputs.
            named: further inputs of this process's stages, with rows.
        Raises: E0801 for rows that cannot be that many microbatches; E0811 for a process that ends or hangs.
        """
        if self._loss is None:
            raise Error("E0101", "there is no loss to train", hint="Runner(..., loss=torch.nn.CrossEntropyLoss())")
        self._steps += 1
        with naming(self._mesh, f"step {self._steps}"):
            return self._step(self._loss, x, target, gather, named)

    def eval(self, *x: torch.Tensor, gather: str = "last", **named: torch.Tensor) -> Any:
        """Return the outputs of a batch in evaluation, as one process has them; None where `gather` does not ask for them.

        Batches may have any number of rows: those that are no multiple of the microbatches are filled up, and outputs cut.

        Args:   as of `step`.
        Raises: E0801, E0811.
        """
        _check_gather(gather)
        with ExitStack() as stack:
            for part in self.stages:
                stack.enter_context(in_mode(part, training=False))
            stack.callback(reshard, self._modules.values())
            with naming(self._mesh, "evaluation"), torch.no_grad():
                return self._evaluated(x, gather, named)

    # ---- inside --------------------------------------------------------------------------------------------------------------------

    def _step(self, loss: SharedLoss, x: Any, target: Any, gather: str, named: dict[str, torch.Tensor]) -> StepResult:
        _check_gather(gather)
        first, last = self._has(0), self._has_last
        target = target if last else None
        line = self._line(x if first else (), named, target, training=True)
        if last:
            target = torch.zeros(self._microbatches) if target is None else target
            loss.begin(target)
        self._gradients.begin()
        arguments = x if first else ()
        outputs = line.schedule.step(*arguments, target=target, losses=[] if last else None, return_outputs=True, **named)
        self._gradients.end()
        numbers = torch.stack([loss.mean(), *loss.values]) if last else torch.zeros(1 + self._microbatches)
        numbers = self._from_last(numbers.detach())
        total = numbers[0].clone()
        if self._mesh.replicas() > 1:
            dist.all_reduce(total, group=self._mesh.replica_group())
            total /= self._mesh.replicas()
        return StepResult(total, numbers[1:], self._gathered(line, outputs, gather))

    def _evaluated(self, x: Any, gather: str, named: dict[str, torch.Tensor]) -> Any:
        count = torch.tensor([len(value) if self._has(0) and value.ndim else 0 for value in [*x, *named.values(), torch.zeros(0)][:1]])
        if self._mesh.size("pipe") > 1:
            dist.broadcast(count, self._mesh.ranks("pipe")[0], self._mesh.group("pipe"))
        rows = int(count)
        step = -(-rows // self._microbatches) if self._loaded is None else self._loaded.rows
        step *= self._microbatches
        found = []
        for first in range(0, max(rows, 1), max(step, 1)):
            given = tuple(_filled(value[first : first + step], step) for value in x) if self._has(0) else ()
            extra = {name: _filled(value[first : first + step], step) for name, value in named.items()}
            line = self._line(given, extra, training=False)
            found.append(self._gathered(line, line.schedule.eval(*given, **extra), gather))
        return pytree.tree_map(lambda *values: (values[0] if len(values) == 1 else torch.cat(values))[:rows], *found)

    def _line(self, x: Any, named: dict[str, torch.Tensor], target: torch.Tensor | None = None, *, training: bool) -> StageLine:
        """Return the stages, ready for inputs of such shapes; all processes come here with the same."""
        inputs, extra, number = self._agreed(x, named, target, training=training)
        key = (number, training)
        if key not in self._lines:
            place = StagePlace(self._mesh, len(self._parts), tuple(self._own))
            line = StageLine.build(place, self._crossings, self._modules, tuple(inputs), extra, self._backward, training=training)
            meet(self._mesh, f"{self._name}, shapes {len(self._lines)}")
            if self._loss is not None:
                self._loss.structure = line.outputs.structure
            loss = self._loss if training else None
            line.schedule = made_schedule(self._schedule, line.stages, len(self._parts), self._microbatches, loss)
            self._lines[key] = line
        return self._lines[key]

    def _agreed(
        self, x: Any, named: dict[str, torch.Tensor], target: Any, *, training: bool
    ) -> tuple[list[torch.Tensor], dict[str, torch.Tensor], int]:
        """Return the first microbatch of inputs, and a number of the shapes and modes of all processes.

        Raises E0801 in all if one cannot run its rows.
        """
        refusal: Error | None = None
        inputs: list[torch.Tensor] = []
        extra: dict[str, torch.Tensor] = {}
        try:
            self._check_given(x, named, target, training=training)
            inputs = microbatch_of(x, self._microbatches)
            extra = dict(zip(named, microbatch_of(list(named.values()), self._microbatches), strict=True))
            microbatch_of([] if target is None else [target], self._microbatches)
            if self._loaded is not None:
                self._loaded.check(self._own, inputs, extra)
        except Error as error:
            refusal = error
        shapes = hash_of([*inputs, *extra.values()]) + sum(hash_of_modes(part) for part in self.stages)
        rows = sum(len(value) for value in [*inputs, *extra.values()][:1]) * self._microbatches if self._has(0) else None
        weighs = training and self._loss is not None and self._has_last and not self._loss.counts(target)
        return inputs, extra, agree(BatchOffer(shapes, refusal, rows, weighs))

    def _check_given(self, x: Any, named: Mapping[str, torch.Tensor], target: Any, *, training: bool) -> None:
        """Raises E0801 for what is missing in this process."""
        if self._has(0) and not x and not named:
            raise Error("E0801", "the first stage takes inputs", hint="step(x, target=y), eval(x)")
        if training and not torch.is_grad_enabled():
            raise Error("E0801", "a step computes gradients, and they are turned off", hint="eval() computes without them")
        if training and self._has_last and self._loss is not None and self._loss.takes_targets and target is None:
            raise Error("E0801", "the loss takes targets", hint="step(x, target=y), in the processes of the last stage")

    def _gathered(self, line: StageLine, outputs: Any, gather: str) -> Any:
        """Return the outputs as the model gives them, in the processes that get them."""
        leaves = list(outputs) if outputs is not None else None
        if gather == "all":
            shapes = [(self._microbatches * (leaf.shape or (1,))[0], *leaf.shape[1:]) for leaf in line.outputs.leaves]
            room = [torch.zeros(shape, dtype=leaf.dtype) for shape, leaf in zip(shapes, line.outputs.leaves, strict=True)]
            leaves = [self._from_last(value.detach().contiguous()) for value in (leaves if leaves is not None else room)]
        return None if leaves is None else pytree.tree_unflatten([leaf.detach() for leaf in leaves], line.outputs.structure)

    def _from_last(self, value: torch.Tensor) -> torch.Tensor:
        """Return what the process of the last stage has, in all processes of the pipeline."""
        if self._mesh.size("pipe") > 1:
            ranks = self._mesh.ranks("pipe")
            dist.broadcast(value, ranks[(len(self._parts) - 1) % len(ranks)], self._mesh.group("pipe"))
        return value

    def _has(self, stage: int) -> bool:
        return stage in self._own

    @property
    def _has_last(self) -> bool:
        return self._has(len(self._parts) - 1)

    def _prepared(self, crossing: Crossing, target: str | None) -> nn.Module:
        """Return what runs a stage, for all replicas."""
        if self._sharding.is_cut(self._mesh):
            crossing.shapes = Shapes(crossing.part)
        compile_part(crossing.part, target)
        return replicated(crossing, self._mesh, self._sharding, target)


def _filled(value: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the tensor with its last row again and again, up to so many."""
    return value if len(value) == rows else torch.cat([value, value[-1:].expand(rows - len(value), *value.shape[1:])])


def _check(loss: Any, microbatches: int) -> None:
    if isinstance(loss, str) and loss != "output":
        raise Error("E0101", f"there is no loss '{loss[:40]}'", hint='a function of outputs and targets, or "output"')
    if type(microbatches) is not int or microbatches < 1:
        raise Error("E0101", f"a step has at least 1 microbatch, not {microbatches!r}")


def _check_apart(stages: Sequence[nn.Module]) -> None:
    """Raises E0101 for a parameter of several stages: each cuts its own, in place."""
    seen: dict[nn.Parameter, str] = {}
    for number, part in enumerate(stages):
        for name, parameter in part.named_parameters():
            if parameter in seen:
                message = (
                    f"parameter '{name}' of stage {number} of this process is '{seen[parameter]}' of another, and cannot be cut for both"
                )
                raise Error("E0101", message, hint="shard=1 shares the states of its optimizer")
        seen |= {parameter: name for name, parameter in part.named_parameters()}


def _check_gather(gather: str) -> None:
    if gather not in ("last", "all"):
        raise Error("E0101", f"outputs cannot be gathered as '{str(gather)[:40]}'", hint="last, all")


def _parts(model: nn.Module | None, stages: Any, mesh: Mesh, check: Callable[[int], None]) -> tuple[nn.Module, ...]:
    _check_mesh(mesh)
    if isinstance(stages, str):
        if model is None:
            raise Error("E0101", "there is no model to cut", hint="Runner(model, ...), or stages=[...]")
        if stages == "cost":
            raise Error("E0101", "the cost of stages depends on inputs", hint='stages=partition(model, n, "cost", examples=(x,))')
        stages = partition(model, mesh.size("pipe"), stages)
    stages = tuple(stages)
    check(len(stages))
    return stages


def _check_mesh(mesh: Mesh) -> None:
    """Raises E0101 for dimensions that a runner has no use for."""
    if mesh.size("tensor") > 1:
        raise Error("E0101", "a Runner has stages and replicas, no shares of tensors", hint="mesh(data=, pipe=)")
    if mesh.size("shard") > 1:
        raise Error("E0101", "a Runner cuts parameters among all replicas", hint="mesh(data=, pipe=) and Runner(shard=)")


def _check_archived(mesh: Mesh, stages: Any, units: Sequence[Any]) -> None:
    """Raises E0101 for what does not go with an archive."""
    _check_mesh(mesh)
    if stages != "uniform" or units:
        raise Error("E0101", "an archive has its stages, which hold no modules", hint="leave out stages= and units=")
