"""Stages of an archive in the place of modules: a process has its own, and of all others no more than names and shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dist.failures import naming, together
from ttc.dist.loaded_graph import LoadedGraph
from ttc.dist.nesting import leaf_of, signature_of, torch_dtype
from ttc.dist.parts import put_module
from ttc.dist.processes import Mesh
from ttc.dist.signatures import Leaf
from ttc.runtime.stage_archive import SharedTensor, StageArchive, StagePass, StoredStage, open_stage_archive


class LoadedStage(nn.Module):
    """A stage of an archive.  Parameters and buffers have the names that the model had.

    Args:
        number: of the stage.
        stored: as the archive describes it.
        tensors: parameters and buffers by key.
        archive: of which its graphs are loaded; None: the stage is another process's, and cannot run.
    """

    def __init__(self, number: int, stored: StoredStage, tensors: Mapping[str, torch.Tensor], archive: StageArchive | None) -> None:
        super().__init__()
        self._number = number
        self._takes = signature_of(stored.takes)
        self._named = {name: leaf_of(leaf) for name, leaf in stored.named.items()}
        places: dict[str, tuple[nn.Module, str]] = {}
        for name, key in (*stored.parameters, *stored.buffers):
            held = _holder(self, name), name.rpartition(".")[2]
            if isinstance(tensors[key], nn.Parameter):
                held[0].register_parameter(held[1], tensors[key])  # pyright: ignore[reportArgumentType]
            else:
                held[0].register_buffer(held[1], tensors[key], persistent=name in stored.kept)
            places.setdefault(key, held)
        self._places = list(places.values())
        self._buffers_at = len({key for _, key in stored.parameters})
        self._ways = _Ways({}) if archive is None else _Ways.load(archive, stored, len(places) - self._buffers_at)

    def forward(self, *inputs: Any, **named: torch.Tensor) -> Any:
        """Compute what the stage gives.  Raises E0801 for inputs that it was not compiled for."""
        leaves = pytree.tree_leaves(inputs)
        self.check(leaves, named)
        training = torch.is_grad_enabled()
        if training and not self.training:
            what = f"stage {self._number} of the archive is in evaluation, where it was compiled without gradients"
            raise Error("E0801", what, hint="train(), or torch.no_grad()")
        way = self._ways.of(self._number, training=self.training)
        if any(isinstance(leaf, FakeTensor) for leaf in leaves):
            return pytree.tree_unflatten([_like(leaf, training) for leaf in way.gives.leaves], way.gives.structure)
        held = [getattr(module, name) for module, name in self._places]
        values = (*held, *leaves, *[named[name] for name in self._named])
        found = _Through.apply(way, *values) if training and way.backward is not None else way.run(values)
        outputs, changed = found[: len(way.gives.leaves)], found[len(way.gives.leaves) : len(way.gives.leaves) + way.buffers]
        with torch.no_grad():
            for buffer, value in zip(held[self._buffers_at :], changed, strict=True):
                if value is not buffer:
                    buffer.copy_(value)
        return pytree.tree_unflatten(list(outputs), way.gives.structure)

    def check(self, leaves: Sequence[torch.Tensor] | None, named: Mapping[str, torch.Tensor]) -> None:
        """Raises E0801 for inputs that the stage was not compiled for; None: those that are not known yet."""
        if set(named) != set(self._named):
            wanted = ", ".join(self._named) or "none"
            raise Error("E0801", f"stage {self._number} of the archive takes {wanted} by name, not {', '.join(named) or 'none'}")
        leaves = self._takes.zeros() if leaves is None else leaves
        pairs = [*zip(leaves, self._takes.leaves, strict=False), *((named[name], leaf) for name, leaf in self._named.items())]
        if len(leaves) != len(self._takes.leaves) or any(tuple(x.shape) != leaf.shape or x.dtype != leaf.dtype for x, leaf in pairs):
            given = ", ".join(f"{x.dtype} of {list(x.shape)}".removeprefix("torch.") for x in leaves)
            wanted = ", ".join(f"{x.dtype} of {list(x.shape)}".removeprefix("torch.") for x in self._takes.leaves)
            what = f"microbatches of stage {self._number} of the archive are {wanted}, not {given or 'nothing'}"
            raise Error("E0801", what, hint="write the archive with such examples, or give other rows, or another number of microbatches")


class _Way:
    """A pass through a stage, loaded."""

    def __init__(self, archive: StageArchive, stored: StagePass, buffers: int) -> None:
        self.gives, self.buffers = signature_of(stored.gives), buffers
        self._forward = LoadedGraph(archive, stored.forward)
        self.backward = None if stored.backward is None else LoadedGraph(archive, stored.backward)

    def run(self, values: Sequence[torch.Tensor]) -> list[Any]:
        """Compute outputs, buffers, and what the backward pass reads."""
        return self._forward(values)


class _Ways:
    """The passes through a stage, which copies of it share."""

    def __init__(self, ways: Mapping[bool, _Way]) -> None:
        self._ways = ways

    @staticmethod
    def load(archive: StageArchive, stored: StoredStage, buffers: int) -> _Ways:
        """Load the passes of a stage.  Raises E06xx, E07xx."""
        both = {True: stored.training, False: stored.evaluation}
        return _Ways({training: _Way(archive, way, buffers) for training, way in both.items() if way is not None})

    def of(self, number: int, *, training: bool) -> _Way:
        """Return the pass of a mode.  Raises E0801 where there is none."""
        if training not in self._ways:
            raise Error("E0801", f"the archive has stage {number} in evaluation alone", hint="save_stages(..., training=True)")
        return self._ways[training]

    def __deepcopy__(self, memo: object) -> _Ways:
        return copy(self)


class _Through(torch.autograd.Function):
    """One pass through a stage, for autograd."""

    @staticmethod
    def forward(ctx: Any, way: _Way, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = way.run(values)
        given = len(way.gives.leaves) + way.buffers
        ctx.way = way
        ctx.save_for_backward(*found[given:])
        leaves = [*(leaf.has_gradient for leaf in way.gives.leaves), *[False] * way.buffers]
        ctx.mark_non_differentiable(*(x for x, wanted in zip(found, leaves, strict=False) if not wanted))
        return tuple(found[:given])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        wanted = [gradient for gradient, leaf in zip(gradients, ctx.way.gives.leaves, strict=False) if leaf.has_gradient]
        return (None, *ctx.way.backward((*ctx.saved_tensors, *wanted)))


class LoadedStages:
    """The stages of an archive, of which this process has its own.

    Args:
        parts: all, in order.
        archive: that they are of.
    """

    def __init__(self, parts: Sequence[LoadedStage], archive: StageArchive) -> None:
        self.parts, self._archive = tuple(parts), archive
        self.rows = archive.stages.rows

    @staticmethod
    def open(path: str | Path, mesh: Mesh, name: str, check: Callable[[int], None]) -> LoadedStages:
        """Open an archive in all processes, or in none.

        Args:
            name: of what loads it, which nothing else of the processes has.
            check: is called with the number of stages.
        Raises: E0102, E07xx where a process cannot load its part, E0703 where processes have different archives, in all of them.
        """
        with naming(mesh, "loading of an archive"):
            with together(mesh, f"{name}, archive", "E0703", "cannot open the archive"):
                archive = open_stage_archive(path)
            _require_same(archive)
            count = len(archive.stages.stages)
            check(count)
            own = [number for number in range(count) if number % mesh.size("pipe") == mesh.coordinate("pipe")]
            with together(mesh, f"{name}, stages", "E0703", "cannot load its part of the archive"):
                parts = _loaded(archive, own)
            return LoadedStages(parts, archive)

    def check_options(self, precision: str, target: str | None) -> None:
        """Raises E0101 for another precision or target than that of the archive; those of a runner that is asked for none are any."""
        stages = self._archive.stages
        if precision not in ("float32", stages.precision):
            raise Error("E0101", f"the archive's stages compute in {stages.precision}, not in {precision}", hint="leave out precision=")
        if target not in ("host", stages.target):
            raise Error("E0101", f"the archive's stages are for target {stages.target}, not {target}", hint="leave out target=")

    def check(self, own: Sequence[int], inputs: Sequence[torch.Tensor], named: Mapping[str, torch.Tensor]) -> None:
        """Raises E0801 for a microbatch of this process that its stages were not compiled for."""
        for number in own:
            self.parts[number].check(inputs if number == 0 else None, named)


def _require_same(archive: StageArchive) -> None:
    """Raises E0703 unless all processes have the same archive."""
    number = int(archive.seal.decode("ascii").rpartition(" ")[2][:15], 16)
    both = torch.tensor([number, -number])
    dist.all_reduce(both, dist.ReduceOp.MAX)
    if int(both[0]) != -int(both[1]):
        raise Error("E0703", "processes have different archives", str(archive.path), "give all of them the same file")


def _loaded(archive: StageArchive, own: Collection[int]) -> list[LoadedStage]:
    stages = archive.stages.stages
    here = {key for number in own for _, key in (*stages[number].parameters, *stages[number].buffers)}
    trained = {key for stage in stages for _, key in stage.parameters}
    tensors: dict[str, torch.Tensor] = {}
    for key, shared in archive.stages.tensors.items():
        value = _tensor(archive, shared) if key in here else torch.empty(shared.shape, dtype=_dtype(shared), device="meta")
        tensors[key] = nn.Parameter(value, shared.trained) if key in trained else value
    found = [LoadedStage(n, stage, tensors, archive if n in own else None) for n, stage in enumerate(stages)]
    archive.require_unchanged()
    return found


def _tensor(archive: StageArchive, shared: SharedTensor) -> torch.Tensor:
    """Return a tensor of the archive, in memory of its own."""
    made = torch.empty(shared.shape, dtype=_dtype(shared))
    if made.numel():
        made.view(-1).view(torch.uint8).copy_(torch.frombuffer(bytearray(archive.member(shared.member)), dtype=torch.uint8))
    return made


def _dtype(shared: SharedTensor) -> torch.dtype:
    return torch_dtype(str(format_named(shared.format).array_dtype))


def _holder(root: nn.Module, name: str) -> nn.Module:
    """Return the module that has a tensor of a dotted name, which is made where it is not there."""
    path = name.rpartition(".")[0]
    return put_module(root, path) if path else root


def _like(leaf: Leaf, training: bool) -> torch.Tensor:
    return torch.empty(leaf.shape, dtype=leaf.dtype).requires_grad_(leaf.has_gradient and training)
