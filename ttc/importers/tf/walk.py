"""From nodes to dialect nn: what the outputs need, each node by its row, calls by the body of what they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import VerifyException
from ttc.dialects.core.records import record
from ttc.importers.common.builder import Builder
from ttc.importers.common.calls import MAX_DEPTH
from ttc.importers.common.complexes import Complex
from ttc.importers.common.unsupported import REFUSED, Refused, Unsupported
from ttc.importers.tf.control import CONTROL, ControlNode, TooMany
from ttc.importers.tf.messages import Function, Graph, Node
from ttc.importers.tf.setting import VariableSetting, reachable
from ttc.importers.tf.structure import source_of
from ttc.importers.tf.tables import OUTPUTS, complex_rows, rows
from ttc.importers.tf.values import Value

MAX_UNROLLED = 1 << 15
"""The most nodes in functions that loops and branches run, each counted as often as it is mapped."""
MAX_NAME_CHARACTERS = 1 << 26
"""The most characters of the names of nodes, each of which holds those of the calls around it, as often as they are mapped."""
CHANGING = frozenset(
    [
        *("Assign", "AssignAdd", "AssignSub"),
        *("ResourceScatterUpdate", "ResourceScatterAdd", "ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ScatterUpdate", "ScatterAdd"),
        *("LookupTableInsertV2", "LookupTableImportV2", "StatefulUniformFullInt"),
    ]
)
"""Ops that change what the next call gives, and are refused."""


@record(frozen=False)
class CallScope:
    """A body that is being mapped.

    Args:
        nodes: by name.
        values: of arguments and of nodes that are mapped, by name: one entry an output.
        caller: put before the nodes' names, or empty.
        depth: calls around it.
        repeated: whether a loop or branch is around it, so that its nodes count.
    """

    nodes: Mapping[str, Node]
    values: dict[str, tuple[Value, ...]]
    caller: str = ""
    depth: int = 0
    repeated: bool = False

    def named(self, node: Node) -> str:
        """Return the node's name in locations and messages."""
        return f"{self.caller}/{node.name}" if self.caller else node.name


class TfWalker:
    """Maps the nodes that outputs need; refused ones go to the misses of the builder.

    Args:
        builder: of the function.
        graph: checked by `structure`.
        seeds: values of nodes of the graph that are not computed: inputs and variables.

    `unrolled` counts the nodes in functions that loops and branches run.
    """

    def __init__(self, builder: Builder, graph: Graph, seeds: Mapping[str, Value]) -> None:
        self.builder = builder
        self.functions: Mapping[str, Function] = graph.functions
        self._main = CallScope({node.name: node for node in graph.nodes}, {name: (value,) for name, value in seeds.items()})
        self._constants: dict[int, tuple[Value, ...]] = {}
        self._bodies: dict[str, dict[str, Node]] = {}
        self.unrolled = 0
        self._characters = MAX_NAME_CHARACTERS
        self._setting = VariableSetting(graph)

    def outputs(self, references: Sequence[str]) -> list[Value]:
        """Return tensors of the graph. Raises E0203, E04xx at the node."""
        self._setting.mark(self._main.nodes, references, self._main.values)
        return self._run(self._main, references, references)

    def call(self, name: str, operands: Sequence[Value], caller: str, depth: int, *, repeated: bool) -> list[Value]:
        """Return the results of a function on these operands.  Raises E0203, Unsupported for too many nodes in loops."""
        function = self.functions.get(name)
        if function is None:
            raise Error("E0203", f"there is no function '{name}'", where=caller)
        if depth > MAX_DEPTH:
            raise Error("E0203", f"functions call each other more than {MAX_DEPTH} deep, at '{name}'")
        if len(operands) != len(function.inputs):
            raise Error("E0203", f"function '{name}' takes {len(function.inputs)} inputs, not {len(operands)}", where=caller)
        if repeated:
            self._spend()
        if name not in self._bodies:
            self._bodies[name] = {node.name: node for node in function.nodes}
        values: dict[str, tuple[Value, ...]] = {key: (x,) for (key, _), x in zip(function.inputs, operands, strict=True)}
        scope = CallScope(self._bodies[name], values, caller, depth, repeated)
        references = [function.results[output] for output in function.outputs]
        return self._run(scope, references, (*references, *function.effects))

    def _spend(self) -> None:
        """Count a node, or a call, that loops repeat.  Raises TooMany."""
        self.unrolled += 1
        if self.unrolled > MAX_UNROLLED:
            raise TooMany(f"more than {MAX_UNROLLED} nodes once loops are unrolled")

    def _run(self, scope: CallScope, references: Sequence[str], roots: Sequence[str]) -> list[Value]:
        """Map what the references need, in an order that follows from them; an explicit stack, as chains of nodes may be long.

        In a body that sets variables everything that runs is mapped, in an order that the graph allows.
        """
        self._refuse_changes(scope, roots)
        ordered = self._setting.sets(scope.nodes, roots)
        stack = [source_of(r) for r in reversed(roots if ordered else references)]
        while stack:
            name = stack[-1]
            if name in scope.values:
                stack.pop()
                continue
            node = scope.nodes[name]
            waiting = [source_of(r) for r in node.inputs if (ordered or r[:1] != "^") and source_of(r) not in scope.values]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            scope.values[name] = self._node(node, scope)
            stack.pop()
        return [self._value(reference, scope, "the outputs") for reference in references]

    def _refuse_changes(self, scope: CallScope, roots: Sequence[str]) -> None:
        """A node that changes a variable runs whether or not an output needs it."""
        for node in reachable(scope.nodes, roots):
            if node.op in CHANGING:
                self.builder.misses.add(node.op, "TensorFlow", "changes a variable", scope.named(node))

    def _value(self, reference: str, scope: CallScope, what: str) -> Value:
        """Return the tensor `node`, `node:index` or, in a function, `node:output:index`.  Raises E0203."""
        name, *place = reference.split(":")
        found = scope.values[name]
        index = 0
        if place:
            if not place[-1].isdecimal() or len(place) > 2 or len(place[-1]) > 9:
                raise Error("E0203", f"'{reference}' is no tensor", where=what)
            index = int(place[-1])
        if len(place) == 2:
            names = self._outputs(scope.nodes[name]) if name in scope.nodes else ()
            index += names.index(place[0]) if place[0] in names else 0
        if index < len(found):
            return found[index]
        return self._extra(scope.nodes.get(name), index, scope)

    def _outputs(self, node: Node) -> Sequence[str]:
        """Return names of the outputs of a node that has several, each a single tensor."""
        called = self.functions.get(node.op)
        return OUTPUTS.get(node.op, ()) if called is None else called.outputs

    def _extra(self, node: Node | None, index: int, scope: CallScope) -> Value:
        """An output that the row does not give."""
        if node is None:
            raise Error("E0203", f"an argument has no output {index}")
        if REFUSED not in scope.values[node.name]:
            self._miss(node, scope, f"its output {index} is not supported")
        return REFUSED

    def _miss(self, node: Node, scope: CallScope, why: str) -> tuple[Value, ...]:
        self.builder.misses.add(node.op, "TensorFlow", why, scope.named(node))
        return (REFUSED,)

    def _node(self, node: Node, scope: CallScope) -> tuple[Value, ...]:
        name = scope.named(node)
        self._characters -= len(name)
        if self._characters < 0:
            raise Error("E0203", f"names of nodes take more than {MAX_NAME_CHARACTERS} characters once calls are written out")
        if scope.repeated:
            self._spend()
        operands = [self._value(r, scope, name) for r in node.inputs if not r.startswith("^")]
        try:
            return self._mapped(node, operands, scope, name)
        except Unsupported as reason:
            return self._miss(node, scope, str(reason))
        except Error as error:
            raise error.at(name) from None
        except (VerifyException, OverflowError) as error:
            raise Error("E0203", f"a number of {node.op} is out of range: {error}", where=name) from error

    def _mapped(self, node: Node, operands: list[Value], scope: CallScope, name: str) -> tuple[Value, ...]:
        control = CONTROL.get(node.op)
        if node.op in self.functions:
            return tuple(self.call(node.op, operands, name, scope.depth + 1, repeated=scope.repeated))
        if control is not None:
            return tuple(control(ControlNode(self, node, operands, name, scope.caller, scope.depth, scope.repeated)))
        row = rows().get(node.op)
        if any(isinstance(x, Complex) for x in operands):
            row = complex_rows().get(node.op, row)
        if row is None:
            raise Unsupported("no mapping")
        if any(isinstance(x, Refused) for x in operands):
            return (REFUSED,)
        if node.op == "Const":
            return self._constant(node, name)
        self.builder.enter(name, (node.name,))
        return row(self.builder, node, operands)

    def _constant(self, node: Node, name: str) -> tuple[Value, ...]:
        """A constant, made once however often its body is mapped."""
        key = id(node)
        if key not in self._constants:
            self.builder.enter(name, (node.name,))
            self._constants[key] = rows()["Const"](self.builder, node, ())
        return self._constants[key]
