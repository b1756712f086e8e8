"""A compiled graph of aten ops: it takes the values of placeholders and gives those of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import fx

from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dynamo.binding import Binding, Build, Parameter
from ttc.dynamo.settings import Settings
from ttc.dynamo.tensors import tensor_of, unusual_stride
from ttc.dynamo.threads import share_threads
from ttc.importers.torch.graphs import Binding as Placed
from ttc.importers.torch.graphs import Fixed, GraphOutput, Input, ModelTensor, import_graph, spec_of_tensor
from ttc.importers.torch.weights import array_of, identity
from ttc.loading import chosen_engine
from ttc.passes.emit import Package
from ttc.runtime.arguments import inputs_of
from ttc.runtime.engines.table import Exact
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
class Job:
    """A graph to compile, with its placeholders.

    Args:
        graph: with static shapes; its random numbers are placeholders.
        name: of the graph.
        placeholders: of the graph, in order.
    """

    graph: fx.GraphModule
    name: str
    placeholders: Sequence[Placeholder]

    def with_drawn(self) -> Job:
        """Return the job with the placeholders of random numbers, which the graph has behind all others."""
        nodes = self.graph.graph.find_nodes(op="placeholder")[len(self.placeholders) :]
        return replace(self, placeholders=(*self.placeholders, *(Placeholder(node.name, held=False) for node in nodes)))


class _Passed(NamedTuple):
    """An output that is a placeholder, or (position -1) a plain value."""

    position: int
    value: Any = None

    def of(self, given: Sequence[Any], arrays: Mapping[str, NDArray], made: dict[str, torch.Tensor]) -> Any:
        return given[self.position] if self.position >= 0 else self.value


class _Made(NamedTuple):
    """An output that is computed; several of one name are one tensor."""

    name: str
    stride: tuple[int, ...] | None

    def of(self, given: Sequence[Any], arrays: Mapping[str, NDArray], made: dict[str, torch.Tensor]) -> Any:
        if self.name not in made:
            made[self.name] = tensor_of(arrays[self.name], self.stride)
        return made[self.name]


class CompiledGraph:
    """A compiled graph that PyTorch calls.  Thread-safe."""

    def __init__(self, job: Job, given: Sequence[Any], settings: Settings) -> None:
        """given: values of the placeholders, drawn ones included.  Raises Error as compiling does."""
        self._outputs = _outputs(job.graph)
        self._binding: Binding | None = None
        self.is_general = True
        """Whether it is right for all tensors of these forms: none of their values went into it."""
        if not any(isinstance(output, _Made) for output in self._outputs):
            return
        placed = _placed(job, given)
        package, baked = _compiled(job, placed, self._outputs, settings)
        self.is_general = not baked
        held = [Parameter(p.name, i) for i, p in enumerate(placed) if isinstance(p, ModelTensor)]
        self._binding = Binding(_builder(package, settings), package.tensors, package.description, held, given, baked)
        wanted = {argument.name for argument in inputs_of(self._binding.unbound.entry("forward"))}
        self._inputs = [(p.name, i, p.spec.dtype) for i, p in enumerate(placed) if isinstance(p, Input) and p.name in wanted]

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """Return the outputs; tensors are fresh, but for those that are placeholders.  Raises E08xx, Changed, Outdated."""
        arrays: Mapping[str, NDArray] = {}
        if self._binding is not None:
            inputs = {name: array_of(given[i], dtype) for name, i, dtype in self._inputs}
            arrays = self._binding.executor(given).run(inputs)
        made: dict[str, torch.Tensor] = {}
        return [output.of(given, arrays, made) for output in self._outputs]


def _outputs(graph: fx.GraphModule) -> list[_Passed | _Made]:
    positions = {node: i for i, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
    (end,) = graph.graph.find_nodes(op="output")
    found: list[_Passed | _Made] = []
    for output in end.args[0]:
        if not isinstance(output, fx.Node):
            found.append(_Passed(-1, output))
        elif output in positions:
            found.append(_Passed(positions[output]))
        else:
            found.append(_Made(output.name, unusual_stride(output.meta["val"])))
    return found


def _placed(job: Job, given: Sequence[Any]) -> list[Placed]:
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


def _compiled(job: Job, placed: Sequence[Placed], outputs: Sequence[Any], settings: Settings) -> tuple[Package, frozenset[str]]:
    """Return the netlist with its tensors, and the names of parameters whose values went into it."""
    wanted: dict[str, None] = {}
    results: list[GraphOutput | None] = []
    for output in outputs:
        new = isinstance(output, _Made) and output.name not in wanted
        results.append(GraphOutput(output.name) if new else None)
        wanted.update({output.name: None} if new else {})
    module, weights = import_graph(job.graph, job.name, placed, results)
    package = compile_source(Source(module, weights, "import"), settings.compile, settings.instruments(job.name)).package
    if package is None:
        raise Error("E0901", "compiling stopped before the end")
    parameters = {p.name for p in placed if isinstance(p, ModelTensor)}
    baked = frozenset(name for name in parameters if name in weights and weights[name].is_loaded)
    return package, baked


def _builder(package: Package, settings: Settings) -> Build:
    """Makes the program, with other values of its tensors too."""
    netlist, description, run = package.netlist, package.description, settings.run
    exact = Exact(run.stochastic_rounding) if run.exact else None
    threads = run.threads or torch.get_num_threads()
    share_threads()
    return lambda tensors: build_program(netlist, description, tensors, engine=chosen_engine(run), threads=threads, exact=exact)
