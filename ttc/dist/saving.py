"""Writes the stages of a model, compiled, into one archive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ttc import __version__
from ttc.compiler.training_keywords import in_mode
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dist.capturing import capture, tensors_of
from ttc.dist.cutting import partition
from ttc.dist.nesting import stored_leaf, stored_signature
from ttc.dist.signatures import Leaf, Signature, buffers_kept, outputs_for
from ttc.dist.stages import Crossing
from ttc.dynamo.draw_texts import text_of
from ttc.dynamo.frozen import FrozenGraph, freeze
from ttc.dynamo.results import ComputedOutput
from ttc.dynamo.settings import Settings, read_settings
from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.weights import array_of
from ttc.runtime.archive import write_archive
from ttc.runtime.stage_archive import (
    FORMAT_VERSION,
    GraphPort,
    GraphValue,
    SharedTensor,
    StageGraph,
    StagePass,
    StoredStage,
    StoredStages,
    write_stage_archive,
)


def save_stages(
    path: str | os.PathLike[str],
    model: nn.Module | None = None,
    stages: int | Sequence[nn.Module] = 1,
    *,
    examples: Sequence[torch.Tensor],
    named: Mapping[int, Mapping[str, torch.Tensor]] | None = None,
    by: str = "uniform",
    precision: str = "float32",
    target: str = "host",
    training: bool = True,
) -> None:
    """Compile the stages of a model into one archive, of which each process of a `Runner` loads no more than its own.

    One process writes it, of any kind; those that run it trace and compile nothing.
    Args:
        path: of the archive (.tti).
        model: that is cut, as `partition` cuts it.
        stages: how many, or modules, of which each takes what the one before gives.
        examples: inputs of the model with the rows of one microbatch; their values are not read.
        named: examples of further inputs of stages, by the number of the stage and name.
        by: what stages are alike in; see `partition`.
        precision: float32 or bf16-mixed.
        target: that stages are compiled for.
        training: whether the archive is for steps, too, or for evaluation alone.
    Raises: E0101 for options that cannot be, E0103 where the archive cannot be written, E02xx for what cannot be compiled.
    """
    examples = _with_rows(examples)
    parts = _parts_of(model, stages, by, examples)
    for number in named or {}:
        if number not in range(len(parts)):
            raise Error("E0101", f"there is no stage {number!r} that takes inputs by name", hint=f"0 to {len(parts) - 1}")
    settings = read_settings({"target": target, "fallback": False})
    with tempfile.TemporaryDirectory() as folder:
        writer = _Writer(settings, Path(folder), precision, training)
        given = Signature.of(tuple(value.detach() for value in examples))
        for number, part in enumerate(parts):
            crossing = Crossing(part, precision, is_last=number == len(parts) - 1)
            given = writer.add(crossing, given, (named or {}).get(number, {}))
        rows = len(examples[0])
        found = StoredStages(FORMAT_VERSION, __version__, target, precision, rows, writer.tensors, tuple(writer.stages))
        write_stage_archive(path, found, writer.members)


def _parts_of(model: nn.Module | None, stages: Any, by: str, examples: Sequence[torch.Tensor]) -> tuple[nn.Module, ...]:
    if not isinstance(stages, int):
        parts = tuple(stages)
        if parts and all(isinstance(part, nn.Module) for part in parts) and model is None:
            return parts
        raise Error("E0101", "stages are a number of those of a model, or modules without a model", hint="save_stages(path, model, 4, ...)")
    if model is None:
        raise Error("E0101", "there is no model to cut", hint="save_stages(path, model, 4, examples=(x,))")
    return partition(model, stages, by, examples)


def _with_rows(examples: Any) -> tuple[torch.Tensor, ...]:
    examples = tuple(examples) if isinstance(examples, tuple | list) else (examples,)
    if not examples or any(not isinstance(value, torch.Tensor) or not value.ndim or not len(value) for value in examples):
        raise Error("E0101", "examples are tensors with the rows of a microbatch", hint="examples=(x,)")
    return examples


class _Writer:
    """Compiles stages, one after another, and keeps what an archive holds of them.

    Args:   folder: for archives of graphs, until they are members.
    """

    def __init__(self, settings: Settings, folder: Path, precision: str, training: bool) -> None:
        self._settings, self._folder, self._training = settings, folder, training
        self._keys: dict[int, str] = {}
        self.tensors: dict[str, SharedTensor] = {}
        self.members: dict[str, memoryview] = {}
        self.stages: list[StoredStage] = []

    def add(self, crossing: Crossing, given: Signature, named: Mapping[str, torch.Tensor]) -> Signature:
        """Compile a stage, and return what the next one takes."""
        crossing.structure = given.structure
        part = crossing.part
        extra = {name: Leaf.of(value.detach()) for name, value in named.items()}
        ways: dict[bool, StagePass] = {}
        made: dict[bool, Signature] = {}
        for training in (True, False) if self._training else (False,):
            with in_mode(part, None if training else False), buffers_kept(part):
                inputs = given if training else _without_gradients(given)
                made[training] = outputs_for(lambda *x, **n: crossing.value(part.forward, *x, **n), inputs, named, training=training)
                ways[training] = self._pass(crossing, inputs, extra, made[training], training=training)
        parameters = tuple((name, self._key(tensor, name)) for name, tensor in part.named_parameters(remove_duplicate=False))
        buffers = tuple((name, self._key(tensor, name)) for name, tensor in part.named_buffers(remove_duplicate=False))
        kept = tuple(name for name in part.state_dict() if name in dict(buffers))
        leaves = {name: stored_leaf(leaf) for name, leaf in extra.items()}
        self.stages.append(StoredStage(parameters, buffers, kept, stored_signature(given), leaves, ways.get(True), ways[False]))
        return made[self._training]

    def _pass(self, crossing: Crossing, inputs: Signature, named: Mapping[str, Leaf], gives: Signature, *, training: bool) -> StagePass:
        captured = capture(crossing, inputs, named, training=training)
        name = f"stage_{len(self.stages)}_{'training' if training else 'evaluation'}"
        forward = self._graph(freeze(captured.forward, name, self._settings))
        backward = None if captured.backward is None else self._graph(freeze(captured.backward, f"{name}_backward", self._settings))
        _, buffers = tensors_of(crossing.part)
        kept = len(forward.outputs) - len(gives.leaves) - len(buffers)
        wanted = kept + sum(leaf.has_gradient for leaf in gives.leaves)
        if kept < 0 or (backward is not None and backward.arguments != wanted):
            raise Error("E0901", f"the graphs of {name} do not fit each other")
        return StagePass(forward, backward, stored_signature(gives))

    def _graph(self, frozen: FrozenGraph) -> StageGraph:
        part = None
        if frozen.package is not None:
            part = f"parts/{len(self.members):04}.tti"
            file = self._folder / f"{len(self.members):04}.tti"
            package = frozen.package
            write_archive(file, netlist=package.netlist, tensors=package.tensors, description=package.description)
            self.members[part] = memoryview(file.read_bytes())
        inputs = tuple(GraphPort(name, position, dtype) for name, (position, dtype) in frozen.inputs.items())
        outputs = tuple(GraphValue(o.name, -1, o.stride) if isinstance(o, ComputedOutput) else _passed(o) for o in frozen.outputs)
        return StageGraph(part, frozen.arguments, inputs, outputs, tuple(map(text_of, frozen.draws)))

    def _key(self, tensor: torch.Tensor, name: str) -> str:
        """Return the key of a tensor, which becomes a member when it is met first."""
        if id(tensor) not in self._keys:
            key = name if name not in self.tensors else f"{len(self.stages)}:{name}"
            array = array_of(tensor, dtype_of(tensor.dtype))
            member = f"tensors/{len(self.members):04}.bin"
            self.members[member] = memoryview(array.tobytes())
            trained = isinstance(tensor, nn.Parameter) and tensor.requires_grad
            self.tensors[key] = SharedTensor(member, tuple(tensor.shape), format_of(array.dtype).name, trained)
            self._keys[id(tensor)] = key
        return self._keys[id(tensor)]


def _passed(output: Any) -> GraphValue:
    if output.position < 0 and output.value is not None:
        raise Error("E0202", f"a stage gives {output.value!r:.80}, which is no tensor")
    return GraphValue(None, output.position)


def _without_gradients(signature: Signature) -> Signature:
    return Signature(tuple(Leaf(leaf.shape, leaf.dtype, False) for leaf in signature.leaves), signature.structure)
