"""Models that are at hand: Keras models and functions of TensorFlow, traced in this process.  Their weights are read when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.importers.common.open_input import OpenInput
from ttc.importers.tf.messages import Span, graph_of
from ttc.importers.tf.structure import check_graph
from ttc.importers.tf.tensors import dtype_of
from ttc.importers.tf.values import Model, Stored


def model_of(model: Any, examples: Any = None) -> Model:
    """Trace a live model, as `trace` does, without its serialized graph."""
    return trace(model, examples)[0]


def trace(model: Any, examples: Any = None) -> tuple[Model, bytes]:
    """Return the graph of a Keras model, a function of TensorFlow or a loaded SavedModel, and its serialized form.

    Args:
        model: a `keras.Model`, a `tf.function`, a concrete function of one, or what `tf.saved_model.load` gave.
        examples: arrays that it is traced with, where it has no shapes of its own: a sequence, or a mapping by name.
    Raises: E0101, E0201 to E0203.
    """
    import keras

    if isinstance(model, keras.Model):
        return _keras_model(model, examples)
    return _concrete_model(_concrete(model, examples))


def _concrete(model: Any, examples: Any) -> Any:
    """Return the concrete function.  Raises E0201."""
    if hasattr(model, "signatures") and not hasattr(model, "get_concrete_function"):
        found = dict(model.signatures)
        if "serving_default" in found or len(found) == 1:
            return found.get("serving_default") or next(iter(found.values()))
        raise Error("E0201", "the model has no signature 'serving_default'", hint=f"it has: {', '.join(found) or 'none'}")
    if hasattr(model, "captured_inputs"):
        return model
    if not hasattr(model, "get_concrete_function"):
        raise Error("E0201", f"cannot compile a {type(model).__name__}", hint="give a Keras model, or a tf.function")
    try:
        if isinstance(examples, Mapping):
            return model.get_concrete_function(**{name: _spec(x, name) for name, x in examples.items()})
        return model.get_concrete_function(*(_spec(x) for x in examples or ()))
    except (TypeError, ValueError) as error:
        line = str(error).strip().partition("\n")[0]
        raise Error("E0101", f"the function cannot be traced: {line}", hint="give example_inputs, or an input_signature") from error


def _spec(example: Any, name: str | None = None) -> tf.TensorSpec:
    array = np.asarray(example)
    return tf.TensorSpec(array.shape, array.dtype, name=name)


# ---- Keras -----------------------------------------------------------------------------------------------------------------------------


def _keras_model(model: Any, examples: Any) -> tuple[Model, bytes]:
    """Inputs and outputs have the names of their layers."""
    structure = _inputs_of(model, examples)
    names = [spec.name for spec in tf.nest.flatten(structure)]

    def forward(inputs: Any) -> Any:
        return model(inputs, training=False)

    forward.__name__ = "".join(c if c.isidentifier() else "_" for c in model.name) or "forward"
    try:
        concrete = tf.function(forward, autograph=False).get_concrete_function(structure)  # which Keras does without, too
    except (TypeError, ValueError, NotImplementedError) as error:
        raise Error("E0201", f"the model cannot be traced: {str(error).strip().partition(chr(10))[0]}") from error
    outputs = tf.nest.flatten(concrete.structured_outputs)
    labels = list(getattr(model, "output_names", None) or ())
    paths = {id(v.value): v.path for v in model.variables}
    if isinstance(concrete.structured_outputs, Mapping):
        labels = sorted(concrete.structured_outputs)
    return _model(concrete, names, _apart(labels) if len(labels) == len(outputs) else [f"output_{i}" for i in range(len(outputs))], paths)


def _apart(labels: Sequence[str]) -> list[str]:
    """Names told apart: the further outputs of a layer that has several get numbers, as its state does: `lstm`, `lstm_1`, `lstm_2`."""
    found: list[str] = []
    taken = set(labels)
    for label in labels:
        name, number = label, 0
        while name in found or (number and name in taken):
            number += 1
            name = f"{label}_{number}"
        found.append(name)
    return found


def _inputs_of(model: Any, examples: Any) -> Any:
    """Return the model's inputs as specs, in the structure it takes them in.  Raises E0101 if they cannot be told."""
    structure = getattr(model, "_inputs_struct", None)
    if structure is None and model.built:
        structure = getattr(model, "inputs", None) or None
    if structure is None:
        if examples is None:
            raise Error("E0101", f"{type(model).__name__} does not say what it takes", hint="give example_inputs")
        items = examples if isinstance(examples, Mapping) else list(examples) if isinstance(examples, Sequence) else [examples]
        structure = items if isinstance(items, Mapping) or len(items) > 1 else items[0]
        names = iter(sorted(items) if isinstance(items, Mapping) else [f"input_{i}" for i in range(len(items))])
        return tf.nest.map_structure(lambda x: _spec(x, next(names)), structure)
    if isinstance(structure, list) and len(structure) == 1:
        structure = structure[0]
    return tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype, name=_layer_name(x)), structure)


def _layer_name(tensor: Any) -> str:
    history = getattr(tensor, "_keras_history", None)
    return history.operation.name if history is not None else tensor.name


# ---- functions -------------------------------------------------------------------------------------------------------------------------


def _concrete_model(concrete: Any) -> tuple[Model, bytes]:
    """Inputs have the names of the function's arguments, outputs those of its results, or `output_0`, ... if they have none."""
    count = len(concrete.inputs) - len(concrete.captured_inputs)
    names = [_argument_name(tensor) for tensor in concrete.inputs[:count]]
    outputs = concrete.structured_outputs
    flat = tf.nest.flatten(outputs)
    labels = sorted(outputs) if isinstance(outputs, Mapping) and len(outputs) == len(flat) else [f"output_{i}" for i in range(len(flat))]
    return _model(concrete, names, labels, {})


def _argument_name(tensor: Any) -> str:
    try:
        return tensor.op.get_attr("_user_specified_name").decode()
    except ValueError:
        return tensor.op.name


def _model(concrete: Any, names: Sequence[str], labels: Sequence[str], paths: Mapping[int, str]) -> tuple[Model, bytes]:
    """names, labels: of inputs and outputs; paths: of variables by id.  Raises E0203 for names that are used twice."""
    count = len(concrete.inputs) - len(concrete.captured_inputs)
    repeated = len(set(names)) < len(names) or len(set(labels)) < len(labels)
    if repeated or len(names) != count:
        raise Error("E0203", f"inputs {list(names)} or outputs {list(labels)} of the function are not told apart by their names")
    data = concrete.graph.as_graph_def().SerializeToString()
    graph = graph_of(Span(data, 0, len(data)))
    check_graph(graph)
    inputs = tuple(_open_input(name, tensor) for name, tensor in zip(names, concrete.inputs[:count], strict=True))
    places = {name: tensor.op.name for name, tensor in zip(names, concrete.inputs[:count], strict=True)}
    results = [tensor for tensor in tf.nest.flatten(concrete.structured_outputs) if tensor is not None]
    if len(results) != len(labels) or not all(hasattr(r, "op") for r in results):
        results = list(concrete.outputs)
    outputs = tuple(zip(labels, (tensor.name for tensor in results), strict=True))
    return Model(graph, inputs, places, outputs, _captured(concrete, paths)), data


def _open_input(name: str, tensor: Any) -> OpenInput:
    if tensor.shape.rank is None:
        raise Error("E0205", f"input '{name}' has no shape, not even a rank", hint="give example_inputs")
    dims = tuple("" if d is None else int(d) for d in tensor.shape.as_list())
    return OpenInput(name, dims, dtype_of(tensor.dtype.as_datatype_enum, f"input '{name}'"))


def _captured(concrete: Any, paths: Mapping[int, str]) -> dict[str, Stored]:
    """Variables and tensors that the function reads beside its arguments, by the graph's node."""
    handles = {id(v.handle): v for v in concrete.graph.variables}
    used: set[str] = set()
    found: dict[str, Stored] = {}
    for outer, inner in concrete.graph.captures:
        variable = handles.get(id(outer))
        if variable is None and outer.dtype == tf.resource:
            continue
        source = outer if variable is None else variable
        name = inner.op.name if variable is None else paths.get(id(variable), variable.name.partition(":")[0])
        while name in used:
            name += "_"
        used.add(name)
        dtype = dtype_of(source.dtype.as_datatype_enum, f"variable '{name}'")
        found[inner.op.name] = Stored(name, Weight(tuple(source.shape), dtype, lambda s=source: _array(s)), variable is not None)
    return found


def _array(tensor: Any) -> NDArray:
    return np.asarray(tensor.numpy())
