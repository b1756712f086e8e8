"""SavedModel folders, read without TensorFlow: the graph of `saved_model.pb`, and where its variables lie in the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.common.beneath import map_beneath
from ttc.importers.common.open_input import OpenInput
from ttc.importers.tf.checkpoint import TfCheckpoint
from ttc.importers.tf.messages import Call, Dims, Function, Graph, Node, Span, Tensor, entries, graph_of, repeated, shape_of
from ttc.importers.tf.objects import handles
from ttc.importers.tf.structure import check_graph, source_of
from ttc.importers.tf.tensors import dtype_of, texts_of
from ttc.importers.tf.values import Model, Stored

FILE = "saved_model.pb"
DEFAULT = "serving_default"
MAX_GRAPHS = 64
HANDLES = frozenset(["VarHandleOp", "VariableV2", "Variable"])
"""Ops that give a variable: its handle, or, in TensorFlow 1, its value."""


@record
class TensorInfo:
    """A tensor of a signature."""

    name: str
    dtype: int
    dims: Dims


@record
class NamedTensors:
    """The inputs and outputs of a signature by name, sorted."""

    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]


@record
class MetaGraph:
    """A graph with its signatures.  restore: the op that gives variables their values, or empty; objects: a SavedObjectGraph."""

    tags: frozenset[str]
    graph: Span | None
    signatures: Mapping[str, NamedTensors]
    restore: str
    objects: Span | None


def read_saved_model(folder: Path, signature: str | None = None) -> Model:
    """Return the model of a folder.

    Args:    folder: with `saved_model.pb` and `variables/`.
             signature: its name; None: `serving_default`, else the only one.
    Raises:  E0102, E0201 to E0204.
    """
    try:
        data = map_beneath(folder, (FILE,), FILE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Error("E0102", f"the folder is no SavedModel: {FILE} cannot be read: {reason}") from error
    meta = _chosen(list(islice(repeated(Span(data, 0, len(data)), 2, _meta_graph), MAX_GRAPHS + 1)))
    chosen = _signature(meta, signature)
    if meta.graph is None:
        raise Error("E0201", "the SavedModel has no graph")
    graph = graph_of(meta.graph)
    check_graph(graph)
    nodes = {node.name: node for node in graph.nodes}
    variables = _variables(folder, graph, nodes, meta)
    inputs = {name: _input(name, info) for name, info in chosen.inputs.items()}
    places = {name: _place(info.name, nodes, f"input '{name}'") for name, info in chosen.inputs.items()}
    for name, info in chosen.outputs.items():
        _place(info.name, nodes, f"output '{name}'")
    outputs = tuple((name, info.name) for name, info in chosen.outputs.items())
    return Model(graph, tuple(inputs.values()), places, outputs, variables)


# ---- signatures ------------------------------------------------------------------------------------------------------------------------


def _meta_graph(span: Span) -> MetaGraph:
    tags: frozenset[str] = frozenset()
    graph, objects, restore = None, None, ""
    signatures: dict[str, NamedTensors] = {}
    for item in span:
        if item.number not in (1, 2, 3, 5, 7):
            continue
        inner = span.inside(item)
        if item.number == 1:
            tags = frozenset(repeated(inner, 4, Span.text))
        elif item.number == 2:
            graph = inner
        elif item.number == 3:
            restore = next(repeated(inner, 3, Span.text), "")
        elif item.number == 7:
            objects = inner
        else:
            name, value = entries(inner)
            if value is not None:
                signatures[name] = _signature_of(value)
    return MetaGraph(tags, graph, signatures, restore, objects)


def _signature_of(span: Span) -> NamedTensors:
    sides: dict[int, dict[str, TensorInfo]] = {1: {}, 2: {}}
    for item in span:
        if item.number in sides:
            name, value = entries(span.inside(item))
            sides[item.number][name] = _tensor_info(value, name)
    return NamedTensors(dict(sorted(sides[1].items())), dict(sorted(sides[2].items())))


def _tensor_info(span: Span | None, what: str) -> TensorInfo:
    name, dtype, dims = "", 0, ()
    for item in span or ():
        assert span is not None
        if item.number == 1:
            name = span.inside(item).text()
        elif item.number == 2:
            dtype = span.number(item)
        elif item.number == 3:
            dims = shape_of(span.inside(item))
    if not name:
        raise Error("E0202", f"'{what}' of a signature is no dense tensor, which is not supported")
    return TensorInfo(name, dtype, dims)


def _chosen(found: Sequence[MetaGraph]) -> MetaGraph:
    """Return the graph for serving, else the only one.  Raises E0201, E0203."""
    if len(found) > MAX_GRAPHS:
        raise Error("E0203", f"the SavedModel has more than {MAX_GRAPHS} graphs")
    serving = [meta for meta in found if "serve" in meta.tags] or found
    if len(serving) != 1:
        listed = "; ".join(", ".join(sorted(meta.tags)) or "no tags" for meta in found[:8])
        raise Error("E0201", f"not a SavedModel, or one without a graph for serving: {len(found)} graphs{f' ({listed})' if listed else ''}")
    return serving[0]


def _signature(meta: MetaGraph, name: str | None) -> NamedTensors:
    """Raises E0201 if there is none of that name, or none that is chosen by rule."""
    usable = {key: s for key, s in meta.signatures.items() if not key.startswith("__")}
    if name is None and DEFAULT not in usable and len(usable) == 1:
        return next(iter(usable.values()))
    found = usable.get(name or DEFAULT)
    if found is not None:
        return found
    listed = ", ".join(sorted(usable)[:20])
    hint = (
        f"it has: {listed}; ttc.compile takes one that TensorFlow loaded"
        if usable
        else "save it with tf.saved_model.save(..., signatures=...), or model.export"
    )
    raise Error("E0201", f"the SavedModel has no signature '{name or DEFAULT}'", hint=hint)


def _input(name: str, info: TensorInfo) -> OpenInput:
    what = f"input '{name}'"
    if info.dims is None:
        raise Error("E0205", f"{what} has no shape, not even a rank", hint="export the model with shapes of its inputs")
    return OpenInput(name, tuple(d if d >= 0 else "" for d in info.dims), dtype_of(info.dtype, what))


def _place(reference: str, nodes: Mapping[str, Node], what: str) -> str:
    name = source_of(reference)
    if name not in nodes:
        raise Error("E0203", f"{what} of the signature is '{reference}', which the graph does not have")
    return name


# ---- variables -------------------------------------------------------------------------------------------------------------------------


def _variables(folder: Path, graph: Graph, nodes: Mapping[str, Node], meta: MetaGraph) -> dict[str, Stored]:
    """Return values by the node that gives the variable, as the graph's own way of restoring them says, or its objects.

    Raises E0203, E0204.
    """
    if not any(node.op in HANDLES for node in graph.nodes):
        return {}
    stored = TfCheckpoint(folder)
    found: dict[str, Stored] = {}
    for body, arguments in _restoring(graph, nodes, meta.restore):
        for target, key in _assigned(body):
            handle = nodes.get(arguments.get(target, target))
            if handle is not None and handle.op in HANDLES and key in stored:
                found[handle.name] = Stored(handle.name, stored[key], handle.op == "VarHandleOp")
    for name, key in handles(meta.objects, graph.nodes, stored) if meta.objects is not None else ():
        if name in nodes and nodes[name].op in HANDLES:
            found.setdefault(name, Stored(name, stored[key], nodes[name].op == "VarHandleOp"))
    return found


def _restoring(graph: Graph, nodes: Mapping[str, Node], restore: str) -> Iterator[tuple[Sequence[Node], Mapping[str, str]]]:
    """Bodies that restore variables: nodes, and the graph's nodes that the body's arguments stand for."""
    yield graph.nodes, {}
    node = nodes.get(source_of(restore))
    call = node.attributes.get("f") if node is not None else None
    function: Function | None = graph.functions.get(call.name) if isinstance(call, Call) else None
    if node is not None and function is not None:
        operands = [source_of(r) for r in node.inputs if not r.startswith("^")]
        yield function.nodes, dict(zip((name for name, _ in function.inputs), operands, strict=False))


def _assigned(body: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """Yield what is assigned in a body, and the key of the stored tensor it gets."""
    nodes = {node.name: node for node in body}
    keys: dict[str, list[str]] = {}
    for node in body:
        if node.op not in ("AssignVariableOp", "Assign") or len(node.inputs) < 2:
            continue
        reference = node.inputs[1]
        for _ in range(4):  # identities on the way
            source = nodes.get(source_of(reference))
            if source is None or source.op not in ("Identity", "Cast") or not source.inputs:
                break
            reference = source.inputs[0]
        source = nodes.get(source_of(reference))
        if source is not None and source.op == "RestoreV2":
            if source.name not in keys:
                keys[source.name] = _keys(nodes, source)
            index = reference.rpartition(":")[2] if ":" in reference else "0"
            if index.isdecimal() and len(index) < 8 and int(index) < len(keys[source.name]):
                yield source_of(node.inputs[0]), keys[source.name][int(index)]


def _keys(nodes: Mapping[str, Node], restore: Node) -> list[str]:
    """Return names that a node restores, which are a constant."""
    names = nodes.get(source_of(restore.inputs[1])) if len(restore.inputs) > 1 else None
    value = names.attributes.get("value") if names is not None and names.op == "Const" else None
    return texts_of(value) if isinstance(value, Tensor) else []
