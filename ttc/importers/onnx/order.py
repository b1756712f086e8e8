"""Puts the nodes of bodies behind those that make what they read: ONNX asks for it, but files exist that leave it to their reader."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto


def sort_nodes(model: ModelProto) -> None:
    """Sort the nodes of the graph, of its subgraphs and of the functions, in place; what is sorted stays as it is.

    A node comes right before the first that needs it, unless it stands before that already.  Of nodes that need each other one stays
    before what it reads, which `check_body` refuses.  Takes time linear in the nodes and their inputs.
    """
    _sort_body(model.graph)
    for function in model.functions:
        _sort_body(function)


def _sort_body(body: GraphProto | FunctionProto) -> set[str]:
    """Sort a body and the graphs in it; gives the names that it reads and that its nodes do not make."""
    reads = [_reads(node) for node in body.node]
    makers = {name: number for number, node in reversed(list(enumerate(body.node))) for name in node.output if name}
    needs = [[makers[name] for name in names if name in makers] for names in reads]
    if any(other >= number for number, others in enumerate(needs) for other in others):
        places = {number: place for place, number in enumerate(_order(needs))}
        numbers = iter(range(len(needs)))
        body.node.sort(key=lambda _: places[next(numbers)])
    outputs = body.output if isinstance(body, FunctionProto) else [output.name for output in body.output]
    inputs = body.input if isinstance(body, FunctionProto) else [input_.name for input_ in body.input]
    own = [] if isinstance(body, FunctionProto) else [tensor.name for tensor in body.initializer]
    return set().union(outputs, *reads).difference(makers, inputs, own)


def _reads(node: NodeProto) -> dict[str, None]:
    """Return names that a node reads, in its graphs too, in an order that is always the same."""
    found = dict.fromkeys(filter(None, node.input))
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
            found.update(dict.fromkeys(sorted(_sort_body(graph))))
    return found


def _order(needs: Sequence[Sequence[int]]) -> list[int]:
    """Return numbers of nodes, each behind those that it needs.  Depth first, without recursion: chains may be long."""
    found: list[int] = []
    begun = [False] * len(needs)
    for first in range(len(needs)):
        waiting = [] if begun[first] else [(first, iter(needs[first]))]
        begun[first] = True
        while waiting:
            number, rest = waiting[-1]
            other = next((n for n in rest if not begun[n]), None)
            if other is None:
                found.append(number)
                waiting.pop()
            else:
                begun[other] = True
                waiting.append((other, iter(needs[other])))
    return found
