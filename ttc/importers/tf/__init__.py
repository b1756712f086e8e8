"""The TensorFlow importer: maps, never optimises.

A SavedModel is read by this importer's own bounded readers (messages, tensors, sstable, checkpoint), its graph checked (structure), its
inputs given static shapes, and each node that the outputs need mapped to dialect nn (walk, tables, control, the ops_* modules), functions
inlined and variables frozen.  TensorFlow is not needed for that, and never sees the file.  Keras files are traced by TensorFlow itself, in
a child process, once they were checked (keras); models that are at hand are traced where they are (live).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.spec import spec_of, tensor_type
from ttc.dialects.core.ir.values import ModuleOp, SSAValue
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.base import NO_SHAPES, NO_VALUES
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex
from ttc.importers.common.inputs import given_values, input_specs
from ttc.importers.common.module import finished, naming
from ttc.importers.common.unsupported import Refused
from ttc.importers.tf.facts import describe
from ttc.importers.tf.saved_model import read_saved_model
from ttc.importers.tf.values import Model, Stored, TfVariable, Value
from ttc.importers.tf.walk import TfWalker

__all__ = ["describe", "import_object", "import_saved_model", "mapped"]


def import_saved_model(
    path: Path, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None, values: Mapping[str, Any] = NO_VALUES
) -> tuple[ModuleOp, WeightStore]:
    """Import a SavedModel: a module with the entry function `forward`, and its weights, which stay in the folder until they are read.

    Args:
        path: of the folder.
        shapes: full shapes by input name, for inputs with dynamic dimensions.
        batch: the size of dynamic batch dimensions.
        values: arrays by name of integer or boolean inputs, which are taken where an op needs to know the value of an operand.
    Raises: E0102, E0201 to E0206, and E04xx where a node's operands do not fit; all name the folder, and the node if there is one.
    """
    with naming(path.name):
        return mapped(read_saved_model(path), path.stem, shapes, batch, values)


def import_object(
    model: Any, examples: Any = None, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None
) -> tuple[ModuleOp, WeightStore]:
    """Import a model that is at hand: its weights are read from it when they are asked for.

    Args:
        model: a `keras.Model`, a `tf.function`, a concrete function of one, or what `tf.saved_model.load` gave.
        examples: arrays, in order or by input name: they fix dynamic dimensions, and what integer and boolean inputs hold where an op needs
            to know it.
        shapes: full shapes by input name, before those of examples.
        batch: the size of dynamic batch dimensions.
    Raises: E0101, E0201 to E0206, and E04xx where a node's operands do not fit.
    """
    from ttc.importers.tf.live import model_of

    traced = model_of(model, examples)
    names = [item.name for item in traced.inputs]
    given = examples if isinstance(examples, Mapping) else dict(zip(names, examples or (), strict=False))
    values = {name: np.asarray(value) for name, value in given.items()}
    found = {**{name: value.shape for name, value in values.items()}, **shapes}
    return mapped(traced, _name_of(model), found, batch, values)


def _name_of(model: Any) -> str:
    """Return the name that a model's maker gave it, without what TensorFlow puts around names of functions, which counts them."""
    name = getattr(model, "__name__", None) or getattr(model, "name", None) or type(model).__name__
    text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    return re.sub(r"^__inference_|_\d+$", "", text) or "model"


def mapped(
    model: Model, name: str, shapes: Mapping[str, tuple[int, ...]], batch: int | None, values: Mapping[str, Any]
) -> tuple[ModuleOp, WeightStore]:
    """Return the module of a model whose graph was checked, and its weights."""
    specs = input_specs(model.inputs, shapes, batch)
    function = make_function("forward", [(Port(item), tensor_type(spec)) for item, spec in specs.items()])
    arguments = dict(zip(specs, function.body.block.args, strict=True))
    builder = Builder(frozenset(item.name for item in model.stored.values()), given_values(arguments, values))
    seeds: dict[str, Value] = {node: _seed(builder, item) for node, item in model.stored.items()}
    seeds.update({model.places[item]: argument for item, argument in arguments.items()})
    walker = TfWalker(builder, model.graph, seeds)
    with np.errstate(all="ignore"):
        results = walker.outputs([reference for _, reference in model.outputs])
    ports: list[tuple[Port, SSAValue]] = []
    if not builder.misses.rows:
        ports = [(Port(item), _tensor(item, x)) for (item, _), x in zip(model.outputs, results, strict=True)]
        ports += _updates([x for x in seeds.values() if isinstance(x, TfVariable)], {item for item, _ in model.outputs})
    return finished(name, function, builder, ports)


def _seed(b: Builder, stored: Stored) -> Value:
    return TfVariable(stored.name, stored.weight) if stored.is_handle else b.initializer(stored.name, stored.weight, trainable=False)


def _updates(variables: Iterable[TfVariable], taken: set[str]) -> Iterator[tuple[Port, SSAValue]]:
    """Yield results for the variables that have new values.  taken: names of other results."""
    for variable in variables:
        if variable.current is not None and variable.current is not variable.leaf:
            port = f"{variable.name}/next"
            while port in taken:
                port += "'"
            taken.add(port)
            yield Port(port, updates=variable.name), variable.current


def _tensor(name: str, value: Value) -> SSAValue:
    if isinstance(value, Complex):
        kind = "complex64" if str(spec_of(value.real.type).dtype) == "float32" else "complex128"
        hint = "give its parts: tf.math.real and tf.math.imag"
        raise Error("E0202", f"output '{name}' has elements of type {kind}, which is not supported", hint=hint)
    if not isinstance(value, SSAValue):
        kind = "refused" if isinstance(value, Refused) else "no tensor"
        raise Error("E0202", f"output '{name}' is {kind}")
    return value
