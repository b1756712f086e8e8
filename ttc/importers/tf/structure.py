"""Checks that the graph is well formed: names, tensors that nodes read, cycles, which functions call which, and ops that reach out of the
model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.importers.common.calls import GraphBody, check_calls
from ttc.importers.tf.messages import Function, Graph, Node

CALLERS = frozenset(["PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"])
"""Ops that run the functions their attributes name.  A node whose op is a function's name runs it, too."""
REACHING: Mapping[str, str] = {
    **dict.fromkeys(["PyFunc", "PyFuncStateless", "EagerPyFunc"], "runs Python code that is not in the model"),
    **dict.fromkeys(["ReadFile", "MatchingFiles", "ImmutableConst", "WholeFileReaderV2", "TextLineReaderV2"], "reads files"),
    **dict.fromkeys(["TFRecordReaderV2", "FixedLengthRecordReaderV2", "LMDBReader", "TextLineDataset", "TFRecordDataset"], "reads files"),
    **dict.fromkeys(["WriteFile", "CreateSummaryFileWriter", "CreateSummaryDbWriter", "DatasetToTFRecord"], "writes files"),
    **dict.fromkeys(["RemoteCall", "Send", "Recv", "_Send", "_Recv"], "runs elsewhere"),
    **dict.fromkeys(["CollectiveReduceV2", "CollectiveGatherV2", "DataServiceDataset", "RpcCall"], "speaks with other machines"),
}
"""Ops that no model may hold, wherever they stand, and why."""


def source_of(reference: str) -> str:
    """Return the node or argument that a node's input names."""
    return reference.removeprefix("^").partition(":")[0]


def check_graph(graph: Graph) -> None:
    """Check the graph and all functions.  Raises E0202 for ops that reach out of the model, E0203."""
    check_body(graph.nodes, (), "the graph")
    for function in graph.functions.values():
        what = f"function '{function.name}'"
        check_body(function.nodes, [name for name, _ in function.inputs], what)
        known = {node.name for node in function.nodes} | {name for name, _ in function.inputs}
        for reference in (*function.results.values(), *function.effects):
            if source_of(reference) not in known:
                raise Error("E0203", f"{what}: nothing gives '{reference}', which it returns")
    _check_calls(graph)


def check_body(nodes: Sequence[Node], inputs: Iterable[str], what: str) -> None:
    """Check that names are unique, what nodes read exists, and nothing depends on itself. Raises E0202, E0203."""
    found: dict[str, Node | None] = {}
    for name in inputs:
        if name in found:
            raise Error("E0203", f"{what} has two arguments named '{name}'")
        found[name] = None
    for node in nodes:
        if node.op in REACHING:
            raise Error("E0202", f"{what}, node '{node.name}': {node.op} {REACHING[node.op]}", hint="remove it from the model")
        if node.name in found:
            raise Error("E0203", f"{what}: '{node.name}' is defined twice")
        found[node.name] = node
    for node in nodes:
        for reference in node.inputs:
            if source_of(reference) not in found:
                raise Error("E0203", f"{what}, node '{node.name}': nothing gives its input '{reference}'")
    _check_order(nodes, found, what)


def _check_order(nodes: Sequence[Node], found: Mapping[str, Node | None], what: str) -> None:
    """Raises E0203 for a cycle; E0202 if it is a loop of TensorFlow 1."""
    waiting = {node.name: sum(found[source_of(r)] is not None for r in node.inputs) for node in nodes}
    readers: dict[str, list[str]] = {}
    for node in nodes:
        for reference in node.inputs:
            readers.setdefault(source_of(reference), []).append(node.name)
    ready = [name for name, count in waiting.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for reader in readers.get(ready.pop(), ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    if done == len(nodes):
        return
    if any(node.op in ("NextIteration", "RefNextIteration") for node in nodes):
        raise Error("E0202", f"{what} has a loop of TensorFlow 1", hint="export the model with TensorFlow 2, whose loops are functions")
    first = next(node.name for node in nodes if waiting[node.name])
    raise Error("E0203", f"{what} has a cycle through node '{first}'")


def called(node: Node, functions: Mapping[str, Function]) -> Iterator[str]:
    """Return the functions that a node runs. Raises E0203 for one that does not exist."""
    if node.op in functions:
        yield node.op
    if node.op in CALLERS:
        for name in node.calls():
            if name not in functions:
                raise Error("E0203", f"node '{node.name}' calls function '{name}', which does not exist")
            yield name


def _check_calls(graph: Graph) -> None:
    def body(name: str, nodes: Sequence[Node]) -> GraphBody[str]:
        return GraphBody(name, len(nodes), [key for node in nodes for key in called(node, graph.functions)])

    check_calls(body("", graph.nodes), {name: body(name, function.nodes) for name, function in graph.functions.items()})
