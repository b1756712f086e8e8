"""Compiled graphs by what determines them: two graphs that compute the same of tensors of the same forms are compiled once a process.

Layers of one form, a model that is compiled again, and graphs that are captured and compiled by torch.compile share them so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import fx

from ttc.dynamo.session import CompiledGraph, GraphJob
from ttc.dynamo.settings import Settings

_COMPILED: WeakValueDictionary[object, CompiledGraph] = WeakValueDictionary()


def compiled_graph(job: GraphJob, given: Sequence[Any], settings: Settings) -> CompiledGraph:
    """Return the compiled form of a graph, made if there is none.  Raises as compiling does.

    given: values of the placeholders, drawn ones included.
    """
    key = _signature(job, given, settings)
    found = _COMPILED.get(key) if key is not None else None
    if found is None:
        found = CompiledGraph(job, given, settings)
        if key is not None and found.is_general:
            _COMPILED[key] = found
    return found


def _signature(job: GraphJob, given: Sequence[Any], settings: Settings) -> object | None:
    """What determines the compiled form; None for a graph with constants of its own, or that holds tensors which nothing tells apart."""
    if settings.debug.dump is not None:  # which asks for files of this graph
        return None
    numbers = {node: number for number, node in enumerate(job.graph.graph.nodes)}
    nodes: list[object] = []
    for node in job.graph.graph.nodes:
        if node.op == "get_attr":
            return None
        target = None if node.op == "placeholder" else str(node.target)
        nodes.append((node.op, target, _plain(node.args, numbers), _plain(node.kwargs, numbers)))
    inputs: list[object] = []
    for placeholder, value in zip(job.placeholders, given, strict=True):
        if placeholder.held and not isinstance(value, torch.nn.Parameter):
            return None
        inputs.append((placeholder.held, _form(value)))
    return repr(nodes), repr(inputs), repr(settings), torch.get_num_threads()


def _plain(value: Any, numbers: Mapping[fx.Node, int]) -> object:
    """Return an argument with numbers for nodes."""
    if isinstance(value, fx.Node):
        return f"%{numbers[value]}"
    if isinstance(value, Mapping):
        return {key: _plain(item, numbers) for key, item in value.items()}
    return [_plain(item, numbers) for item in value] if isinstance(value, list | tuple) else value


def _form(value: Any) -> object:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), value.dtype, value.layout, value.device
    return type(value), value
