"""Graphs of stages that were compiled before, as archives hold them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ttc.dialects.core.errors import Error
from ttc.dist.nesting import torch_dtype
from ttc.dynamo.draw_texts import draw_of
from ttc.dynamo.results import ComputedOutput, GivenOutput
from ttc.dynamo.tensor_runs import TensorRuns
from ttc.dynamo.threads import share_threads
from ttc.importers.torch.dtypes import DTYPES
from ttc.loading import chosen_engine
from ttc.options import RunOptions, resolve
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.cpu import checked_threads
from ttc.runtime.engines.table import engine_named
from ttc.runtime.executor import FORWARD, Executor
from ttc.runtime.loader import checked_program
from ttc.runtime.stage_archive import GraphValue, StageArchive, StageGraph


class LoadedGraph:
    """A graph of a stage that takes and gives tensors, with a session of its own.

    Args:
        archive: that holds it.
        graph: as it is described there.
    Raises: E06xx, E07xx for what does not fit.
    """

    def __init__(self, archive: StageArchive, graph: StageGraph) -> None:
        self._draws = [draw_of(text) for text in graph.draws]
        self._outputs = [_output(value) for value in graph.outputs]
        self._executor: Executor | None = None
        if graph.part is not None:
            share_threads()
            options = resolve(RunOptions, {}, os.environ)
            engine = engine_named(chosen_engine(options), checked_threads(options.threads or torch.get_num_threads()))
            program = checked_program(archive.part(graph.part), engine)
            entry = program.entry(FORWARD)
            _check(graph, entry)
            self._runs = TensorRuns(entry, {port.name: port.position for port in graph.inputs}, self._outputs)
            self._executor = Executor(program)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs; tensors are fresh, but for those that are among the values.  Raises E08xx."""
        given = (*values, *[draw() for draw in self._draws])
        if self._executor is None:
            return [output.of(given, {}) for output in self._outputs]
        return self._runs(self._executor, given)


def _output(value: GraphValue) -> GivenOutput | ComputedOutput:
    return GivenOutput(value.position) if value.name is None else ComputedOutput(value.name, value.stride)


def _check(graph: StageGraph, entry: Any) -> None:
    """Raises E0703 unless a program takes and gives what the graph of it does."""
    taken = {argument.name: np.dtype(argument.dtype) for argument in inputs_of(entry)}
    given = {result.name for result in outputs_of(entry)}
    wanted = {value.name for value in graph.outputs if value.name is not None}
    if {port.name: DTYPES[torch_dtype(port.dtype)] for port in graph.inputs} != taken or not wanted <= given:
        raise Error("E0703", "a graph of a stage has other inputs or outputs than its program")
