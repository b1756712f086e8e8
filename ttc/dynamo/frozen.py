"""Graphs of aten ops that are compiled to be stored: what an archive needs of them, without any value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import fx

from ttc.dialects.core.records import record
from ttc.dynamo.draws import Draw, take_out
from ttc.dynamo.graph import check_devices
from ttc.dynamo.results import ComputedOutput, GivenOutput
from ttc.dynamo.session import GraphJob, Placeholder, compiled_package, outputs_of_graph, placed_for
from ttc.dynamo.settings import Settings
from ttc.importers.torch.graphs import Input
from ttc.passes.emit import Package
from ttc.runtime.arguments import inputs_of


@record(eq=False)
class FrozenGraph:
    """A compiled graph whose placeholders are inputs, all of them.

    Args:
        package: what its archive is written from; None: it computes nothing.
        arguments: placeholders of the graph.
        inputs: of the program, by name: the position among placeholders and behind them draws, and the type as numpy names it.
        outputs: of the graph.
        draws: random numbers that are drawn before it runs.
    """

    package: Package | None
    arguments: int
    inputs: Mapping[str, tuple[int, str]]
    outputs: Sequence[GivenOutput | ComputedOutput]
    draws: tuple[Draw, ...]


def freeze(graph: fx.GraphModule, name: str, settings: Settings) -> FrozenGraph:
    """Compile a graph with static shapes, whose nodes carry `meta["val"]`.  Raises what compiling raises; E0202 for other devices."""
    check_devices(graph)
    placeholders = [Placeholder(node.name, held=False) for node in graph.graph.find_nodes(op="placeholder")]
    draws = take_out(graph)
    job = GraphJob(graph, name, placeholders).with_drawn()
    outputs = outputs_of_graph(graph)
    if not any(isinstance(output, ComputedOutput) for output in outputs):
        return FrozenGraph(None, len(placeholders), {}, outputs, draws)
    placed = placed_for(job, [node.meta["val"] for node in graph.graph.find_nodes(op="placeholder")])
    package, _ = compiled_package(job, placed, outputs, settings)
    (entry,) = package.netlist.programs.values()
    wanted = {argument.name for argument in inputs_of(entry)}
    inputs = {p.name: (i, str(p.spec.dtype)) for i, p in enumerate(placed) if isinstance(p, Input) and p.name in wanted}
    return FrozenGraph(package, len(placeholders), inputs, outputs, draws)
