"""The ONNX importer: maps, never optimises.

The file is mapped and scanned for its weights (wire, source, external), its graph checked (structure, opsets), its inputs given static
shapes (inputs), and each node mapped to dialect nn (walk, tables, the ops_* modules).  What cannot be mapped is reported in one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.spec import tensor_type
from ttc.dialects.core.ir.values import ModuleOp, SSAValue
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.base import NO_SHAPES, NO_VALUES
from ttc.importers.common.builder import Builder
from ttc.importers.common.inputs import given_values, input_specs
from ttc.importers.common.module import finished, naming
from ttc.importers.onnx.containers import arguments_of, items_of, ports_of, tensors_of
from ttc.importers.onnx.facts import describe
from ttc.importers.onnx.inputs import declared_shapes, open_input
from ttc.importers.onnx.opsets import opsets
from ttc.importers.onnx.order import sort_nodes
from ttc.importers.onnx.source import OnnxSource, read
from ttc.importers.onnx.structure import check_model, domain_of
from ttc.importers.onnx.walk import BodyScope, OnnxWalker, names_read

__all__ = ["describe", "import_onnx"]


def import_onnx(
    path: Path,
    *,
    shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES,
    batch: int | None = None,
    values: Mapping[str, Any] = NO_VALUES,
) -> tuple[ModuleOp, WeightStore]:
    """Import an ONNX model: a module with the entry function `forward`, and its weights, which stay in the file until they are read.

    Args:
        path: of the model; external data lies in its folder.
        shapes: full shapes by input name, for inputs with dynamic dimensions.
        batch: the size of dynamic batch dimensions.
        values: arrays by input name.  Where an op needs the value of an operand (a shape, axes), and that follows from integer or boolean
            inputs, these are taken; the module then holds for them alone, and its attribute `fixed_inputs` records them.  A list stands
            for a sequence, as do arrays `x[0]`, `x[1]`, ..., which its tensors are called in the module; None for an optional without an
            element, or an empty sequence.
    Raises: E0102, E0201 to E0206, and E04xx where a node's operands do not fit; all name the file, and the node if there is one.
    """
    with naming(path.name):
        try:
            return _import(read(path), path.stem, shapes, batch, values)
        except UnicodeDecodeError as error:
            raise Error("E0201", "not an ONNX model, or a damaged one: a text attribute is not UTF-8") from error


def _import(
    source: OnnxSource, name: str, shapes: Mapping[str, tuple[int, ...]], batch: int | None, values: Mapping[str, Any]
) -> tuple[ModuleOp, WeightStore]:
    graph = source.model.graph
    versions = opsets(source.model.opset_import, "the model", needed=not _has_others(source.model))
    sort_nodes(source.model)
    functions = check_model(source.model, source.weights)
    if graph.sparse_initializer:
        raise Error("E0202", "the model has sparse initializers, which are not supported")
    inputs, parts = tensors_of([i for i in graph.input if i.name not in source.weights], values)
    specs = input_specs([open_input(i) for i in inputs], shapes, batch)
    function = make_function("forward", [(Port(name), tensor_type(spec)) for name, spec in specs.items()])
    arguments = dict(zip(specs, function.body.block.args, strict=True))
    builder = Builder(frozenset(source.weights), given_values(arguments, values))
    outputs = [o.name for o in graph.output]
    scope = BodyScope(
        arguments_of(parts, arguments),
        versions,
        names_read(graph.node, outputs),
        leaf=lambda name: _initializer(builder, source, name),
        declared=declared_shapes((*graph.value_info, *graph.output)),
    )
    walker = OnnxWalker(builder, functions)
    with np.errstate(all="ignore"):
        walker.walk(graph.node, scope)
    ports = [] if builder.misses.rows else ports_of(outputs, scope.get)
    return finished(name, function, builder, ports, *items_of(graph.input, parts, values))


def _has_others(model: ModelProto) -> bool:
    """Return whether the model gets by without ONNX's own domain: it imports others, and no node is of that one."""
    return len(model.opset_import) > 0 and all(domain_of(node.domain) for node in model.graph.node)


def _initializer(builder: Builder, source: OnnxSource, name: str) -> SSAValue:
    if name not in source.weights:
        raise Error("E0203", f"nothing defines the value '{name}'")
    return builder.initializer(name, source.weights[name])
