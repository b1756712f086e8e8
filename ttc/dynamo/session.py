"""A compiled graph of aten ops: it takes the values of placeholders and gives those of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dynamo.binding import Binding, BoundParameter, Build
from ttc.dynamo.results import ComputedOutput, GivenOutput, ViewOutput
from ttc.dynamo.settings import Settings
from ttc.dynamo.tensor_runs import TensorRuns
from ttc.dynamo.tensors import unusual_stride
from ttc.dynamo.threads import share_threads
from ttc.dynamo.view_outputs import shown_bases, with_outputs
from ttc.importers.torch.graphs import Binding as Placed
from ttc.importers.torch.graphs import Fixed, GraphOutput, Input, ModelTensor, import_graph, spec_of_tensor
from ttc.importers.torch.weights import identity
from ttc.loading import chosen_engine, exact_of
from ttc.passes.emit import Package
from ttc.runtime.executor import FORWARD
from ttc.runtime.program import build_program


@record
class Placeholder:
    """A placeholder of a graph: a tensor that it is given.

    Args:
        name: what the program calls it.
        held: whether it is a tensor of the model that is prepared once, not an input of each run.
        trained: whether it is a tensor of the model that has a gradient.
    """

    name: str
    held: bool
    trained: bool = False


@record
class GraphJob:
    """A graph to compile, with its placeholders.

    Args:
        graph: with static shapes; its random numbers are placeholders.
        name: of the graph.
        placeholders: of the graph, in order.
    """

    graph: fx.GraphModule
    name: str
    placeholders: Sequence[Placeholder]

    def with_drawn(self) -> GraphJob:
        """Return the job with the placeholders of random numbers, which the graph has behind all others."""
        nodes = self.graph.graph.find_nodes(op="placeholder")[len(self.placeholders) :]
        return replace(self, placeholders=(*self.placeholders, *(Placeholder(node.name, held=False) for node in nodes)))


class CompiledGraph:
    """A compiled graph that PyTorch calls.  Thread-safe."""

    def __init__(self, job: GraphJob, given: Sequence[Any], settings: Settings) -> None:
        """given: values of the placeholders, drawn ones included.  Raises Error as compiling does."""
        self._outputs, job = _with_views(job)
        self._binding: Binding | None = None
        self.is_general = True
        """Whether it is right for all tensors of these forms: none of their values went into it."""
        if all(isinstance(output, GivenOutput) for output in self._outputs):
            return
        placed = placed_for(job, given)
        package, baked = compiled_package(job, placed, self._outputs, settings)
        self.is_general = not baked
        held = [BoundParameter(p.name, i) for i, p in enumerate(placed) if isinstance(p, ModelTensor)]
        self._binding = Binding(_builder(package, settings), package.tensors, package.description, held, given, baked)
        positions = {p.name: i for i, p in enumerate(placed) if isinstance(p, Input)}
        self._runs = TensorRuns(self._binding.unbound.entry(FORWARD), positions, self._outputs)

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """Return the outputs; tensors are fresh, but for those that are placeholders.  Raises E08xx, Changed, Outdated."""
        if self._binding is None:
            return [output.of(given, {}) for output in self._outputs]
        return self._runs(self._binding.executor(given), given)


def _with_views(job: GraphJob) -> tuple[list[GivenOutput | ComputedOutput | ViewOutput], GraphJob]:
    """Return what each output of a graph is, and the graph that computes what they show of memory."""
    (end,) = job.graph.graph.find_nodes(op="output")
    wanted = list(end.args[0])
    bases = shown_bases(wanted)
    if not bases:
        return [*outputs_of_graph(job.graph)], job
    job = replace(job, graph=with_outputs(job.graph, [bases.get(output, output) for output in wanted]))
    found: list[GivenOutput | ComputedOutput | ViewOutput] = []
    for output, computed in zip(wanted, outputs_of_graph(job.graph), strict=True):
        if output in bases and isinstance(computed, ComputedOutput):
            shown = output.meta["val"]
            computed = ViewOutput(computed, tuple(shown.shape), tuple(shown.stride()), shown.storage_offset())
        found.append(computed)
    return found, job


def outputs_of_graph(graph: fx.GraphModule) -> list[GivenOutput | ComputedOutput]:
    """Return what each output of a graph is."""
    positions = {node: i for i, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
    (end,) = graph.graph.find_nodes(op="output")
    found: list[GivenOutput | ComputedOutput] = []
    for output in end.args[0]:
        if not isinstance(output, fx.Node):
            found.append(GivenOutput(-1, output))
        elif output in positions:
            found.append(GivenOutput(positions[output]))
        else:
            found.append(ComputedOutput(output.name, unusual_stride(output.meta["val"])))
    return found


def placed_for(job: GraphJob, given: Sequence[Any]) -> list[Placed]:
    """Return what each placeholder is to the importer.  Memory that two of them show is bound for the first; the other is an input."""
    found: list[Placed] = []
    seen: set[tuple[object, ...]] = set()
    for placeholder, value in zip(job.placeholders, given, strict=True):
        if not isinstance(value, torch.Tensor):
            found.append(Fixed(value))
        elif placeholder.held and value.numel() and identity(value) not in seen:
            seen.add(identity(value))
            found.append(ModelTensor(placeholder.name, value))
        else:
            found.append(Input(placeholder.name, spec_of_tensor(value, placeholder.name)))
    return found


def compiled_package(
    job: GraphJob, placed: Sequence[Placed], outputs: Sequence[GivenOutput | ComputedOutput | ViewOutput], settings: Settings
) -> tuple[Package, frozenset[str]]:
    """Return the netlist with its tensors, and the names of parameters whose values went into it."""
    wanted: dict[str, None] = {}
    results: list[GraphOutput | None] = []
    for output in outputs:
        new = None if isinstance(output, GivenOutput) or output.name in wanted else output.name
        results.append(None if new is None else GraphOutput(new))
        wanted.update({} if new is None else {new: None})
    module, weights = import_graph(job.graph, job.name, placed, results)
    package = compile_source(Source(module, weights, "import"), settings.compile, settings.instruments(job.name), exportable=False).package
    if package is None:
        raise Error("E0901", "compiling stopped before the end")
    parameters = {p.name for p in placed if isinstance(p, ModelTensor)}
    baked = frozenset(name for name in parameters if name in weights and weights[name].is_loaded)
    return package, baked


def _builder(package: Package, settings: Settings) -> Build:
    """Makes the program, with other values of its tensors too."""
    netlist, description, run = package.netlist, package.description, settings.run
    exact = exact_of(run)
    threads = run.threads or torch.get_num_threads()
    share_threads()
    return lambda tensors: build_program(netlist, description, tensors, engine=chosen_engine(run), threads=threads, exact=exact)
