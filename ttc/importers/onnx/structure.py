"""Checks that the graph is well formed: value names, order of nodes, and which functions call which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from onnx import FunctionProto, ModelProto, NodeProto

from ttc.dialects.core.errors import Error
from ttc.importers.common.calls import GraphBody, check_calls

FunctionKey: TypeAlias = tuple[str, str, str]
"""The key of a model's function: its domain, name and overload."""


def domain_of(name: str) -> str:
    """Return the one spelling of a domain; ONNX's own has two."""
    return "" if name == "ai.onnx" else name


def key_of(node: NodeProto) -> FunctionKey:
    """Return the function that the node would call."""
    return domain_of(node.domain), node.op_type, node.overload


def node_name(node: NodeProto) -> str:
    """Return the node's name, or one made of its op and first output."""
    return node.name or "_".join([node.op_type, *islice(filter(None, node.output), 1)])


def check_model(model: ModelProto, weights: Iterable[str]) -> dict[FunctionKey, FunctionProto]:
    """Check the graph and all functions; gives the functions by key.  Raises E0203."""
    graph = model.graph
    names = list(weights)
    own = set(names)
    check_body(graph.node, names + [i.name for i in graph.input if i.name not in own], [o.name for o in graph.output], "the graph")
    repeated = _first_repeated([i.name for i in graph.input])
    if repeated is not None:
        raise Error("E0203", f"the graph has two inputs named '{repeated}'")
    functions: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        key = domain_of(function.domain), function.name, function.overload
        what = f"function '{function.domain}.{function.name}'"
        if key in functions:
            raise Error("E0203", f"{what} is defined twice")
        functions[key] = function
        check_body(function.node, function.input, function.output, what)
    _check_calls(graph.node, functions)
    return functions


def check_body(nodes: Sequence[NodeProto], inputs: Iterable[str], outputs: Iterable[str], what: str) -> None:
    """Check that every value is defined once and before its uses, and that every output exists. Raises E0203."""
    defined: set[str] = set()
    for name in inputs:
        _define(name, defined, what)
    for node in nodes:
        for name in node.input:
            if name and name not in defined:
                _undefined(name, node, nodes, what)
        for name in node.output:
            if name:
                _define(name, defined, f"{what}, node '{node_name(node)}'")
    missing = [name for name in outputs if name not in defined]
    if missing:
        raise Error("E0203", f"{what}: nothing defines the output '{missing[0]}'")


def _check_calls(nodes: Sequence[NodeProto], functions: Mapping[FunctionKey, FunctionProto]) -> None:
    def body(name: str, nodes: Sequence[NodeProto]) -> GraphBody[FunctionKey]:
        return GraphBody(name, len(nodes), [key for key in map(key_of, nodes) if key in functions])

    check_calls(body("", nodes), {key: body(key[1], function.node) for key, function in functions.items()})


def _define(name: str, defined: set[str], what: str) -> None:
    if not name:
        raise Error("E0203", f"{what}: an input has no name")
    if name in defined:
        raise Error("E0203", f"{what}: value '{name}' is defined twice")
    defined.add(name)


def _undefined(name: str, node: NodeProto, nodes: Sequence[NodeProto], what: str) -> None:
    later = next((other for other in nodes if name in other.output), None)
    if later is None:
        raise Error("E0203", f"{what}, node '{node_name(node)}': nothing defines its input '{name}'")
    message = f"{what}, node '{node_name(node)}': its input '{name}' is computed only later, by node '{node_name(later)}'"
    raise Error("E0203", message, hint="the graph has a cycle")


def _first_repeated(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
