"""The TFLite importer: maps, never optimises, and needs no TensorFlow.

The file is mapped and read by a bounded reader of flatbuffers (flatbuffer, schema, model), inputs get static shapes, and each operator is
mapped to dialect nn by its row (walk, tables, the ops_* modules); control runs graphs.  Weights stay in the file until they are read.
Integers that stand for real numbers stay integers between operators: each dequantizes its operands and quantizes its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.spec import tensor_type
from ttc.dialects.core.ir.values import ModuleOp, SSAValue
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.base import NO_SHAPES, NO_VALUES
from ttc.importers.common.facts import Facts
from ttc.importers.common.inputs import given_values, input_specs
from ttc.importers.common.mapped import map_file
from ttc.importers.common.module import finished, naming
from ttc.importers.common.open_input import OpenInput
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.model import Graph, GraphSignature, Model, parse
from ttc.importers.tflite.walk import TfliteWalker
from ttc.importers.tflite.weights import dtype_of


def import_tflite(
    path: Path,
    *,
    shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES,
    batch: int | None = None,
    values: Mapping[str, Any] = NO_VALUES,
) -> tuple[ModuleOp, WeightStore]:
    """Import a TFLite model: a module with the entry function `forward`, and its weights, which stay in the file until they are read.

    Args:
        path: of the model.
        shapes: full shapes by input name, for inputs with dynamic dimensions.
        batch: the size of dynamic batch dimensions.
        values: arrays by input name.  Where an op needs the value of an operand (a shape, axes), and that follows from integer or boolean
            inputs, these are taken; the module then holds for them alone, and its attribute `fixed_inputs` names them.
    Raises: E0102, E0201 to E0206, and E04xx where a node's operands do not fit; all name the file, and the node if there is one.
    """
    with naming(path.name), np.errstate(all="ignore"):
        return _import(parse(map_file(path, "a TFLite model")), path.stem, shapes, batch, values)


def describe(path: Path) -> Facts:
    """Return operators of all graphs, tensors that the file holds, and inputs of a model. Raises E0102, E0201 to E0203."""
    with naming(path.name):
        model = parse(map_file(path, "a TFLite model"))
        graph = model.graphs[0]
        signature = next((s for s in model.signatures if s.graph == 0), GraphSignature("", 0, {}, {}))
        ops = Counter(o.custom or o.op for g in model.graphs for o in g.operators)
        held = {t.data: prod(t.shape) for g in model.graphs for t in g.tensors if t.data is not None}
        names = _names(graph, graph.inputs, signature.inputs, "inputs")
        return Facts(
            "TensorFlow Lite",
            {},
            dict(sorted(ops.items(), key=lambda entry: (-entry[1], entry[0]))),
            len(held),
            sum(held.values()),
            sum(span.size for span in held),
            tuple(_open_input(graph, index, name) for index, name in zip(graph.inputs, names, strict=True)),
        )


def _import(
    model: Model, name: str, shapes: Mapping[str, tuple[int, ...]], batch: int | None, values: Mapping[str, Any]
) -> tuple[ModuleOp, WeightStore]:
    graph = model.graphs[0]
    signature = next((s for s in model.signatures if s.graph == 0), GraphSignature("", 0, {}, {}))
    names = _names(graph, graph.inputs, signature.inputs, "inputs")
    specs = input_specs([_open_input(graph, i, n) for i, n in zip(graph.inputs, names, strict=True)], shapes, batch)
    function = make_function("forward", [(Port(n), tensor_type(spec)) for n, spec in specs.items()])
    arguments = dict(zip(specs, function.body.block.args, strict=True))
    builder = TfliteBuilder(frozenset(t.name for g in model.graphs for t in g.tensors), given_values(arguments, values))
    walker = TfliteWalker(model, builder)
    found = walker.walk(0, list(arguments.values()))
    results: list[tuple[Port, SSAValue]] = []
    if not builder.misses.rows:
        ports = _names(graph, graph.outputs, signature.outputs, "outputs")
        results = [(Port(n), _tensor(v, n)) for n, v in zip(ports, found, strict=True)]
        results += walker.variables.updates(ports)
    return finished(name, function, builder, results)


def _names(graph: Graph, indices: tuple[int, ...], given: Mapping[int, Sequence[str]], what: str) -> list[str]:
    """Return names of inputs or outputs: the signature's, else the tensors'.  Raises E0203 for one that two have."""
    left = {i: list(names) for i, names in given.items()}
    names = [(left[i].pop(0) if left.get(i) else "") or graph.tensors[i].name for i in indices]
    if len(set(names)) != len(names) and what == "outputs":
        names = [graph.tensors[i].name if names.count(n) > 1 else n for i, n in zip(indices, names, strict=True)]
    if len(set(names)) != len(names):
        raise Error("E0203", f"two {what} of the model have one name")
    return names


def _open_input(graph: Graph, index: int, name: str) -> OpenInput:
    tensor = graph.tensors[index]
    try:
        return OpenInput(name, tuple("" if d < 0 else d for d in tensor.shape), dtype_of(tensor))
    except Unsupported as reason:
        raise Error("E0202", f"input '{name}': {reason} are not supported") from None


def _tensor(value: object, name: str) -> SSAValue:
    if not isinstance(value, SSAValue):
        raise Error("E0202", f"output '{name}' is no tensor")
    return value
