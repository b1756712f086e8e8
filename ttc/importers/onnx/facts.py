"""What an ONNX file says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path

from onnx import NodeProto, ValueInfoProto

from ttc.dialects.core.errors import Error
from ttc.importers.common.facts import Facts
from ttc.importers.common.module import naming
from ttc.importers.common.open_input import OpenInput
from ttc.importers.onnx.inputs import open_input
from ttc.importers.onnx.source import read
from ttc.importers.onnx.structure import domain_of
from ttc.importers.onnx.tensors import dtype_of, shape_of


def describe(path: Path) -> Facts:
    """Return opsets, ops, weights and inputs of a model. Raises E0102, E0201 to E0204."""
    with naming(path.name):
        source = read(path)
        ops: Counter[str] = Counter()
        weights = [(prod(weight.shape), weight.dtype.itemsize) for weight in source.weights.values()]
        for nodes in (source.model.graph.node, *(function.node for function in source.model.functions)):
            for node in _nodes(nodes):
                domain = domain_of(node.domain)
                ops[f"{domain}.{node.op_type}" if domain else node.op_type] += 1
                weights += _constants(node)
        return Facts(
            "ONNX",
            {domain_of(entry.domain) or "ai.onnx": entry.version for entry in source.model.opset_import},
            dict(sorted(ops.items(), key=lambda entry: (-entry[1], entry[0]))),
            len(weights),
            sum(elements for elements, _ in weights),
            sum(elements * size for elements, size in weights),
            _inputs([value for value in source.model.graph.input if value.name not in source.weights]),
        )


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes, and those of their subgraphs, which nest no deeper than the file's format lets them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                yield from _nodes(graph.node)


def _constants(node: NodeProto) -> Iterator[tuple[int, int]]:
    """Yield elements of each tensor that a Constant node holds, and bytes of one; what the import would refuse is left to it."""
    if node.op_type != "Constant" or domain_of(node.domain):
        return
    for attribute in node.attribute:
        if attribute.HasField("t"):
            tensor = attribute.t
        elif attribute.HasField("sparse_tensor"):
            tensor = attribute.sparse_tensor.values
        else:
            continue
        try:
            yield prod(shape_of(tuple(tensor.dims), "a constant")), dtype_of(tensor.data_type, "a constant").itemsize
        except Error:
            continue


def _inputs(values: Iterable[ValueInfoProto]) -> tuple[OpenInput, ...] | None:
    try:
        return tuple(open_input(value) for value in values)
    except Error:  # a sequence, a type that is not supported: the import says so
        return None
