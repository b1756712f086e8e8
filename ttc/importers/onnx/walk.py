"""From nodes to dialect nn: each node by its mapping, calls by the body of what they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias, cast

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue, VerifyException
from ttc.dialects.core.records import record
from ttc.importers.common.builder import Builder
from ttc.importers.common.calls import MAX_DEPTH
from ttc.importers.common.unsupported import REFUSED, Refused, Unsupported
from ttc.importers.onnx import ops_sequence
from ttc.importers.onnx.calls import CallBudget, NodeCall
from ttc.importers.onnx.control import CONTROL
from ttc.importers.onnx.inputs import type_proto
from ttc.importers.onnx.opsets import Schema, bind, check_node, opsets, schema_function, schema_of
from ttc.importers.onnx.signatures import check_signature
from ttc.importers.onnx.structure import FunctionKey, domain_of, key_of, node_name
from ttc.importers.onnx.tables import SIGNED_DOMAINS, is_signed, mapping
from ttc.importers.onnx.tensors import CODES, array_of
from ttc.importers.onnx.values import Listed, Packed, RefusedInside, Value

_HINTS = ("consumed_inputs",)
"""Attributes without a meaning: which operands' memory an op up to opset 5 might reuse."""
Mapped: TypeAlias = Callable[..., Any]


@record(frozen=False)
class BodyScope:
    """The values of one body.

    Args:
        values: by name.
        opsets: versions by domain.
        read: names that nodes or the body's outputs use.
        outputs: of the body, if it is a function's.
        leaf: makes the value of a name that is not there yet: an initializer, or one of the graph around this one.
        attributes: what the body's references to attributes mean.
        caller: names of the calling nodes, before the body's own, or empty.
        depth: calls and subgraphs around it.
        repeated: whether a loop may be around it, so that its nodes count.
        declared: static shapes that the model says values have, by name.
    """

    values: dict[str, Value]
    opsets: Mapping[str, int]
    read: frozenset[str]
    outputs: tuple[str, ...] = ()
    leaf: Callable[[str], Value] | None = None
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    caller: str = ""
    depth: int = 0
    repeated: bool = False
    declared: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def get(self, name: str) -> Value:
        if not name:
            return None
        if name not in self.values and self.leaf is not None:
            self.values[name] = self.leaf(name)
        if name not in self.values:
            raise Error("E0203", f"nothing defines the value '{name}'")
        return self.values[name]


def names_read(nodes: Iterable[NodeProto], outputs: Iterable[str]) -> frozenset[str]:
    """Return names that nodes take as inputs, in subgraphs too, or that leave the body."""
    found = set(outputs)
    for node in nodes:
        found.update(node.input)
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                found |= names_read(graph.node, [o.name for o in graph.output])
    return frozenset(found)


class OnnxWalker:
    """Maps nodes in order; refused ones go to the misses of the builder."""

    def __init__(self, builder: Builder, functions: Mapping[FunctionKey, FunctionProto]) -> None:
        self.builder = builder
        self.functions = functions
        self.budget = CallBudget()

    def walk(self, nodes: Iterable[NodeProto], scope: BodyScope) -> None:
        """Map all nodes of a body.  Raises E0203, E0204, E04xx at the node, Unsupported for too many nodes in loops."""
        for node in nodes:
            if scope.repeated:
                self.budget.spend()
            name = f"{scope.caller}/{node_name(node)}" if scope.caller else node_name(node)
            try:
                results = self._node(bind(node, scope.attributes), scope, name)
            except Error as error:
                raise error.at(name) from None
            except (VerifyException, OverflowError) as error:
                raise Error("E0203", f"a number of {node.op_type} is out of range: {error}", where=name) from error
            for index, output in enumerate(node.output):
                if output:
                    scope.values[output] = results[index] if index < len(results) else self._extra(node, index, scope, name)

    def _extra(self, node: NodeProto, index: int, scope: BodyScope, name: str) -> Value:
        """An output that the mapping does not give: refused, which matters only if something reads it."""
        if node.output[index] in scope.read:
            self._miss(node, scope, f"its output {index} is not supported", name)
        return REFUSED

    def _miss(self, node: NodeProto, scope: BodyScope, why: str, name: str) -> tuple[Value, ...]:
        domain = domain_of(node.domain)
        self.builder.misses.add(node.op_type, f"{domain or 'ai.onnx'} {scope.opsets.get(domain, '?')}", why, name)
        return (REFUSED,) * len(node.output)

    def _node(self, node: NodeProto, scope: BodyScope, name: str) -> Sequence[Value]:
        operands = [scope.get(x) for x in node.input]
        function = self.functions.get(key_of(node))
        if function is not None:
            return self._call(function, node, operands, scope, name)
        domain = domain_of(node.domain)
        opset = scope.opsets.get(domain, 1 if domain in SIGNED_DOMAINS else None)
        if opset is None:
            return self._miss(node, scope, "its domain is not imported", name)
        apply = mapping(node.op_type, opset, domain)
        control = CONTROL.get(node.op_type) if not domain else None
        if apply is not None and is_signed(node.op_type, domain):
            check_signature(node, apply)
        else:
            schema = schema_of(node.op_type, opset, domain)
            if schema is None:
                return self._miss(node, scope, _unknown(domain), name)
            check_node(node, schema)
            if apply is None and control is None:
                return self._by_definition(node, schema, operands, scope, name)
        if any(isinstance(x, Refused) for x in operands):
            return (REFUSED,) * len(node.output)
        try:
            if control is not None:
                body = partial(self._subgraph, scope=scope, name=name)
                return control(NodeCall(self.builder, self.budget, body, node, operands, name, opset))
            return self._mapped(cast("Mapped", apply), node, operands, opset, name, scope)
        except RefusedInside:
            return (REFUSED,) * len(node.output)
        except Unsupported as reason:
            return self._miss(node, scope, str(reason), name)

    def _mapped(
        self, apply: Mapped, node: NodeProto, operands: Sequence[Value], opset: int, name: str, scope: BodyScope
    ) -> Sequence[Value]:
        if any(isinstance(x, Listed | Packed) for x in operands) and apply.__module__ != ops_sequence.__name__:
            raise Unsupported("takes no sequences")
        self.builder.enter(name, tuple(node.output), opset, declared=scope.declared)
        results = apply(self.builder, *operands, **_attributes(node))
        return results if isinstance(results, tuple) else (results,)

    def _subgraph(self, graph: GraphProto, inputs: Sequence[Value], label: str, *, scope: BodyScope, name: str) -> list[Value]:
        """Return the outputs of a subgraph, which sees the values around it."""
        if scope.depth >= MAX_DEPTH:
            raise Error("E0203", f"graphs and functions are nested more than {MAX_DEPTH} deep")
        constants = {tensor.name: tensor for tensor in graph.initializer}

        def leaf(name: str) -> Value:
            if name not in constants:
                return scope.get(name)
            return self.builder.constant(array_of(constants[name], f"initializer '{name}' of a subgraph"))

        outputs = tuple(o.name for o in graph.output)
        inner = BodyScope(
            dict(zip((i.name for i in graph.input), inputs, strict=True)),
            scope.opsets,
            names_read(graph.node, outputs),
            outputs=outputs,
            leaf=leaf,
            attributes=scope.attributes,
            caller=f"{name}[{label}]" if label else name,
            depth=scope.depth + 1,
            repeated=True,
        )
        self.walk(graph.node, inner)
        return [inner.get(output) for output in outputs]

    def _by_definition(self, node: NodeProto, schema: Schema, operands: Sequence[Value], scope: BodyScope, name: str) -> Sequence[Value]:
        """Return an op without a mapping, by ONNX's own definition of it if there is one."""
        if any(isinstance(x, Refused) for x in operands):
            defined = schema.has_function or schema.has_context_dependent_function
            return (REFUSED,) * len(node.output) if defined else self._miss(node, scope, "no mapping", name)
        types = [self._type(x) for x in operands]
        function = schema_function(node, schema, scope.opsets[domain_of(node.domain)], types)
        if function is None:
            return self._miss(node, scope, "no mapping", name)
        given = {a.name: a for a in node.attribute}
        defaults = {k: a.default_value for k, a in schema.attributes.items() if k not in given and a.default_value.name}
        return self._call(function, node, operands, scope, name, defaults)

    def _type(self, value: Value) -> TypeProto:
        if isinstance(value, Listed) and value.items:
            found = TypeProto()
            found.sequence_type.elem_type.CopyFrom(self._type(value.items[0]))
            return found
        if not isinstance(value, SSAValue):
            return TypeProto()
        spec = self.builder.spec(value)
        return type_proto(spec, CODES[spec.dtype])

    def _call(
        self,
        function: FunctionProto,
        node: NodeProto,
        operands: Sequence[Value],
        scope: BodyScope,
        name: str,
        defaults: Mapping[str, AttributeProto] | None = None,
    ) -> Sequence[Value]:
        """Return the results of a function's body on these operands."""
        if scope.depth >= MAX_DEPTH:
            raise Error("E0203", f"functions call each other more than {MAX_DEPTH} deep, at '{function.name}'")
        if len(operands) > len(function.input) or len(node.output) > len(function.output):
            raise Error("E0203", f"the node has more inputs or outputs than function '{function.name}'")
        values: dict[str, Value] = dict.fromkeys(function.input)
        values.update(zip(function.input, operands, strict=False))
        inner = BodyScope(
            values,
            {**scope.opsets, **opsets(function.opset_import, f"function '{function.name}'", needed=False)},
            names_read(function.node, function.output),
            outputs=tuple(function.output),
            attributes={**{a.name: a for a in function.attribute_proto}, **(defaults or {}), **{a.name: a for a in node.attribute}},
            caller=name,
            depth=scope.depth + 1,
            repeated=scope.repeated,
        )
        self.walk(function.node, inner)
        return [self._output(node, index, inner, scope, name) for index in range(len(node.output))]

    def _output(self, node: NodeProto, index: int, inner: BodyScope, scope: BodyScope, name: str) -> Value:
        """Return a result of a call.  ONNX's own definitions leave out outputs that a node does not ask for, and some that it does."""
        output = inner.outputs[index]
        return inner.values[output] if output in inner.values else self._extra(node, index, scope, name)


def _unknown(domain: str) -> str:
    """Why an op that neither ONNX nor a mapping knows is refused."""
    if domain == "com.microsoft.nchwc":
        return "laid out for one CPU by onnxruntime: save the model with ORT_ENABLE_EXTENDED"
    return "no mapping" if domain in SIGNED_DOMAINS else "no such op in this opset"


def _attributes(node: NodeProto) -> dict[str, Any]:
    given = [a for a in node.attribute if a.name not in _HINTS]
    return {a.name: attribute_value(a, f"attribute '{a.name}' of {node.op_type}") for a in given}


def attribute_value(attribute: AttributeProto, what: str) -> Any:
    """Return the plain value of an attribute; arrays for tensors.  Raises Unsupported, E0202, E0203."""
    match attribute.type:
        case AttributeProto.FLOAT:
            return attribute.f
        case AttributeProto.INT:
            return attribute.i
        case AttributeProto.STRING:
            return attribute.s.decode()
        case AttributeProto.TENSOR:
            return array_of(attribute.t, what)
        case AttributeProto.FLOATS:
            return tuple(attribute.floats)
        case AttributeProto.INTS:
            return tuple(attribute.ints)
        case AttributeProto.STRINGS:
            return tuple(s.decode() for s in attribute.strings)
        case AttributeProto.TYPE_PROTO:
            return attribute.tp
        case _:
            raise Unsupported(f"{attribute.name} is not a number, text or tensor")
