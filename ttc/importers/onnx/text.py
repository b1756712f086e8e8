"""Checks that the names of a model are text: the parser hands out bytes where a string of the file is not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from ttc.dialects.core.errors import Error


def check_text(model: ModelProto) -> None:
    """Check that every string that the importer reads is text. Raises E0201."""
    for text in _model_strings(model):
        if not isinstance(text, str):
            raise Error("E0201", f"not an ONNX model, or a damaged one: the name {bytes(text)[:40]!r} is not UTF-8")


def _model_strings(model: ModelProto) -> Iterator[str]:
    for opset in model.opset_import:
        yield opset.domain
    yield from _graph_strings(model.graph)
    for function in model.functions:
        yield from _function_strings(function)


def _graph_strings(graph: GraphProto) -> Iterator[str]:
    for value in graph.input:
        yield value.name
        for dim in value.type.tensor_type.shape.dim:
            yield dim.dim_param
    for value in graph.output:
        yield value.name
    for tensor in graph.initializer:
        yield tensor.name
        for entry in tensor.external_data:
            yield entry.key
            yield entry.value
    for node in graph.node:
        yield from _node_strings(node)


def _function_strings(function: FunctionProto) -> Iterator[str]:
    yield from (function.name, function.domain, function.overload)
    yield from (*function.input, *function.output, *function.attribute)
    for opset in function.opset_import:
        yield opset.domain
    for attribute in function.attribute_proto:
        yield from _attribute_strings(attribute)
    for node in function.node:
        yield from _node_strings(node)


def _node_strings(node: NodeProto) -> Iterator[str]:
    yield from (node.name, node.op_type, node.domain, node.overload)
    yield from node.input
    yield from node.output
    for attribute in node.attribute:
        yield from _attribute_strings(attribute)


def _attribute_strings(attribute: AttributeProto) -> Iterator[str]:
    yield from (attribute.name, attribute.ref_attr_name)
    for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
        yield from _graph_strings(graph)
    for entry in attribute.t.external_data:
        yield from (entry.key, entry.value)
