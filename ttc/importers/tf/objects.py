"""The objects of a SavedModel: which stored tensor belongs to a variable that a function was traced with.

Where the graph's own way of restoring works on copies of variables, as with Keras models that TensorFlow saves itself, this tells.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.importers.tf.messages import Call, Node, Span, entries, packed_numbers
from ttc.importers.tf.structure import source_of

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
MAX_OBJECTS = 1_000_000
MAX_PATH_CHARACTERS = 1 << 26
"""The most characters of the paths to all objects together: each holds the names on the way to it."""


def handles(graph: Span, nodes: Sequence[Node], stored: Container[str]) -> Iterator[tuple[str, str]]:
    """Return nodes that are given to functions as handles of variables, and keys of the tensors they hold.

    Args:    graph: a SavedObjectGraph.  nodes: of the model's graph.  stored: keys of tensors.
    Raises:  E0201, E0203.
    """
    children: list[list[tuple[int, str]]] = []
    bound: dict[str, list[int]] = {}
    for item in graph:
        if item.number == 1:
            children.append(list(_children(graph.inside(item))))
        elif item.number == 2:
            name, function = entries(graph.inside(item))
            if function is not None:
                bound[name] = [id_ for f in function if f.number == 2 for id_ in packed_numbers(function, f)]
        if len(children) > MAX_OBJECTS:
            raise Error("E0203", f"the SavedModel has more than {MAX_OBJECTS} objects")
    keys = _keys(children, stored)
    for node in nodes:
        call = node.attributes.get("f") if node.op.endswith("PartitionedCall") else None
        ids = bound.get(call.name, []) if isinstance(call, Call) else []
        operands = [source_of(r) for r in node.inputs if not r.startswith("^")]
        for name, id_ in zip(operands[len(operands) - len(ids) :] if len(ids) <= len(operands) else (), ids, strict=False):
            if id_ in keys:
                yield name, keys[id_]


def _children(span: Span) -> Iterator[tuple[int, str]]:
    """Number and name of what an object holds."""
    for item in span:
        if item.number == 1:
            inner = span.inside(item)
            found = {f.number: f for f in inner}
            yield inner.number(found[1]) if 1 in found else 0, inner.inside(found[2]).text() if 2 in found else ""


def _keys(children: Sequence[Sequence[tuple[int, str]]], stored: Container[str]) -> Mapping[int, str]:
    """Return keys of stored tensors by object: the shortest path to it from the first one.  Raises E0203 for paths that take too much."""
    paths, found, left = {0: ""}, dict[int, str](), MAX_PATH_CHARACTERS
    queue = [0] if children else []
    for at in queue:
        for child, name in children[at]:
            path = f"{paths[at]}/{name.replace('.', '..').replace('/', '.S')}".lstrip("/")
            if path + SUFFIX in stored:
                found.setdefault(child, path + SUFFIX)
            if child not in paths and 0 <= child < len(children) and len(path) < 1 << 12:
                left -= len(path)
                if left < 0:
                    raise Error("E0203", f"paths to the SavedModel's objects take more than {MAX_PATH_CHARACTERS} characters")
                paths[child] = path
                queue.append(child)
    return found
