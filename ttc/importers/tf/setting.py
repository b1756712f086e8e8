"""The variables that a model sets while it runs: these are states, all others constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ttc.importers.tf.messages import Graph, Node
from ttc.importers.tf.structure import called, source_of
from ttc.importers.tf.values import TfVariable, Value

SETTING = frozenset(["AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"])
"""Ops whose first operand is the variable that they set."""
_DECIDING = frozenset(["If", "StatelessIf", "Case", "StatelessCase"])
"""Ops whose first operand chooses the function that takes the others."""
_PASSING = frozenset(["Identity", "EnsureShape"])


class VariableSetting:
    """The bodies of a graph that set variables, and which.

    Args:
        graph: checked by `structure`: no function calls itself.
    """

    def __init__(self, graph: Graph) -> None:
        self._functions = graph.functions
        self._nodes = {name: {node.name: node for node in function.nodes} for name, function in graph.functions.items()}
        self._sets: dict[str, bool] = {}
        self._marked: set[tuple[str, tuple[int, ...]]] = set()

    def sets(self, nodes: Mapping[str, Node], roots: Sequence[str]) -> bool:
        """Return whether what runs in a body sets variables, itself or in functions that it calls."""
        return any(node.op in SETTING or any(map(self._function_sets, self._called(node))) for node in reachable(nodes, roots))

    def mark(self, nodes: Mapping[str, Node], roots: Sequence[str], values: Mapping[str, Sequence[Value]]) -> None:
        """Note in the variables that they are set.  values: of arguments and nodes, among them the variables."""
        if not self.sets(nodes, roots):
            return
        for node in reachable(nodes, roots):
            if node.op in SETTING and node.inputs:
                found = _variable(nodes, node.inputs[0], values)
                if found is not None:
                    found.is_set = True
            for name in self._called(node):
                if self._function_sets(name):
                    given = [r for r in node.inputs if not r.startswith("^")][node.op in _DECIDING :]
                    self._mark_call(name, [_variable(nodes, r, values) for r in given])

    def _mark_call(self, name: str, operands: Sequence[TfVariable | None]) -> None:
        key = name, tuple(map(id, operands))
        if key in self._marked:
            return
        self._marked.add(key)
        function = self._functions[name]
        arguments = zip((argument for argument, _ in function.inputs), operands, strict=False)
        self.mark(self._nodes[name], self._roots(name), {argument: (value,) for argument, value in arguments})

    def _called(self, node: Node) -> Iterator[str]:
        return called(node, self._functions)

    def _function_sets(self, name: str) -> bool:
        if name not in self._sets:
            self._sets[name] = self.sets(self._nodes[name], self._roots(name))
        return self._sets[name]

    def _roots(self, name: str) -> list[str]:
        function = self._functions[name]
        return [*(function.results[output] for output in function.outputs), *function.effects]


def _variable(nodes: Mapping[str, Node], reference: str, values: Mapping[str, Sequence[Value]]) -> TfVariable | None:
    """Return the variable whose handle this is."""
    name = source_of(reference)
    while name not in values and name in nodes and nodes[name].op in _PASSING and nodes[name].inputs:
        name = source_of(nodes[name].inputs[0])
    found = values.get(name, (None,))[0]
    return found if isinstance(found, TfVariable) else None


def reachable(nodes: Mapping[str, Node], roots: Sequence[str]) -> Iterator[Node]:
    """Return nodes that run when the roots do, those that only order ties to them included."""
    seen: set[str] = set()
    stack = [source_of(r) for r in roots]
    while stack:
        name = stack.pop()
        if name in seen or name not in nodes:
            continue
        seen.add(name)
        yield nodes[name]
        stack.extend(source_of(r) for r in nodes[name].inputs)
