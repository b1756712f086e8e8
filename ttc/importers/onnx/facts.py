"""What an ONNX file says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod
from pathlib import Path

from onnx import NodeProto, ValueInfoProto

from ttc.dialects.core.errors import Error
from ttc.importers.common.facts import Facts
from ttc.importers.common.inputs import OpenInput
from ttc.importers.common.module import naming
from ttc.importers.onnx.inputs import open_input
from ttc.importers.onnx.source import read
from ttc.importers.onnx.structure import domain_of


def describe(path: Path) -> Facts:
    """Opsets, ops, weights and inputs of a model.  Raises E0102, E0201 to E0204."""
    with naming(path.name):
        source = read(path)
        ops: Counter[str] = Counter()
        _count(source.model.graph.node, ops)
        for function in source.model.functions:
            _count(function.node, ops)
        weights = source.weights.values()
        return Facts(
            "ONNX",
            {domain_of(entry.domain) or "ai.onnx": entry.version for entry in source.model.opset_import},
            dict(sorted(ops.items(), key=lambda entry: (-entry[1], entry[0]))),
            len(weights),
            sum(prod(weight.shape) for weight in weights),
            sum(prod(weight.shape) * weight.dtype.itemsize for weight in weights),
            _inputs([value for value in source.model.graph.input if value.name not in source.weights]),
        )


def _count(nodes: Iterable[NodeProto], ops: Counter[str]) -> None:
    """Add how often each op occurs; subgraphs nest no deeper than the file's format lets them."""
    for node in nodes:
        domain = domain_of(node.domain)
        ops[f"{domain}.{node.op_type}" if domain else node.op_type] += 1
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                _count(graph.node, ops)


def _inputs(values: Iterable[ValueInfoProto]) -> tuple[OpenInput, ...] | None:
    try:
        return tuple(open_input(value) for value in values)
    except Error:  # a sequence, a type that is not supported: the import says so
        return None
