"""The import of one graph: what its placeholders are, and what its outputs are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import fx

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.ir.values import ModuleOp, SSAValue
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.importers.base import NO_VALUES
from ttc.importers.common.inputs import given_values
from ttc.importers.common.module import finished
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.complexes import ComplexTensor
from ttc.importers.torch.decompositions import overload_name
from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.values import DataNumber, Value, flat
from ttc.importers.torch.walk import TorchWalker
from ttc.importers.torch.weights import identity, weight_of

MARK, MARKED_LOSS = "ttc.mark_loss.default", "marked_loss"
"""The op that marks losses, and the output that is their sum."""


@record
class Input:
    """A placeholder that is an argument of the program."""

    name: str
    spec: Spec


@record
class ModelTensor:
    """A placeholder that is a tensor of the model.

    Args:
        name: its path in the model.
        tensor: what it holds; the program shares its memory.
        kind: `parameter`, `constant`, or `state` for one that the program updates.
    """

    name: str
    tensor: torch.Tensor
    kind: str = "parameter"


@record
class Fixed:
    """A placeholder that is a plain value, the same in every run: a number, None or text."""

    value: Any


Binding: TypeAlias = Input | ModelTensor | Fixed


@record
class GraphOutput:
    """An output of the graph, and what becomes of it.

    Args:
        name: of the result.
        updates: the state whose new value it is.
        parts: whether complex numbers are given as real and imaginary parts along a last dimension, as torch.view_as_real does;
            else they are refused.
    """

    name: str
    updates: str | None = None
    parts: bool = False


def import_graph(
    graph: fx.GraphModule,
    name: str,
    bindings: Sequence[Binding],
    results: Sequence[GraphOutput | None],
    values: Mapping[str, Any] = NO_VALUES,
) -> tuple[ModuleOp, WeightStore]:
    """Return the module of a functional graph of aten ops (of torch.export after decompositions, or of AOTAutograd).

    Args:
        graph: its nodes carry `meta["val"]`.
        name: of the model.
        bindings: for each placeholder in order.  The same memory under two names becomes one leaf.
        results: for each output in order, lists flattened; None: it is not wanted.  Outputs that are None are left out.
        values: arrays by input name, as in `import_exported`.
    Raises: E0202 with the table of what was refused, E0203, E04xx at the node.
    """
    inputs = [b for b in bindings if isinstance(b, Input)]
    function = make_function("forward", [(Port(i.name), tensor_type(i.spec)) for i in inputs])
    arguments = iter(function.body.block.args)
    given = given_values(dict(zip((i.name for i in inputs), function.body.block.args, strict=True)), values)
    builder = TorchBuilder(frozenset(b.name for b in bindings if isinstance(b, ModelTensor)), given)
    leaves: dict[tuple[object, ...], SSAValue] = {}
    operands = [next(arguments) if isinstance(b, Input) else _leaf(builder, leaves, b) for b in bindings]
    with np.errstate(all="ignore"):
        found = TorchWalker(builder).walk(graph, operands)
    outputs = flat(found)
    if len(outputs) != len(results):
        raise Error("E0203", f"the graph has {len(outputs)} outputs, not {len(results)}")
    ports = [] if builder.misses.rows else [*_ports(builder, outputs, results), *builder.moved(), *_marked_loss(builder, graph)]
    return finished(name, function, builder, ports)


def _marked_loss(b: TorchBuilder, graph: fx.GraphModule) -> list[tuple[Port, SSAValue]]:
    """Return the sum of the marked losses that no other marked loss follows from.  Raises E0401 for one that is not reduced to a number."""
    nodes = [node for node in graph.graph.nodes if node.op == "call_function" and overload_name(node.target) == MARK]
    behind: set[fx.Node] = set()
    inner: set[fx.Node] = set()
    for node in reversed(list(graph.graph.nodes)):
        if any(user in behind or user in nodes for user in node.users):
            behind.add(node)
            inner.update([node] if node in nodes else [])
    total: SSAValue | None = None
    for node, value in zip(nodes, b.marked, strict=False):
        if node in inner:
            continue
        if b.spec(value).shape:
            hint = "ttc.mark_loss(x, 'mean')"
            raise Error("E0401", f"a marked loss has shape {list(b.spec(value).shape)}, and is no number", where=node.name, hint=hint)
        total = value if total is None else b.nn("add", total, value)
    if total is None:
        return []
    b.enter(MARKED_LOSS)
    return [(Port(MARKED_LOSS), b.nn("identity", total))]


def graph_inputs(graph: fx.GraphModule) -> list[Input | Fixed]:
    """Return all placeholders of a graph with static shapes as arguments of the program; sizes that tracing gave symbols by their hints."""
    return [_input(node) for node in graph.graph.nodes if node.op == "placeholder"]


def _input(node: fx.Node) -> Input | Fixed:
    value = node.meta.get("val", node.meta.get("example_value"))
    if not isinstance(value, torch.Tensor):
        hint = getattr(getattr(value, "node", None), "hint", value)
        return Fixed(hint)
    return Input(node.name, spec_of_tensor(value, node.name))


def spec_of_tensor(tensor: torch.Tensor, name: str) -> Spec:
    """Return shape and dtype of a tensor, fake ones included; symbolic sizes by their hints. Raises E0202."""
    try:
        return Spec(tuple(int(d) for d in tensor.shape), dtype_of(tensor.dtype))
    except Unsupported as reason:
        raise Error("E0202", f"'{name}': {reason} are not supported") from None


def _leaf(builder: TorchBuilder, leaves: dict[tuple[object, ...], SSAValue], binding: ModelTensor | Fixed) -> Value:
    if isinstance(binding, Fixed):
        return binding.value
    key = (binding.name,) if binding.tensor.numel() == 0 or binding.kind == "state" else (binding.kind, *identity(binding.tensor))
    if key not in leaves:
        weight = weight_of(binding.tensor, binding.name)
        state = binding.kind == "state"
        leaves[key] = (
            builder.state(binding.name, weight)
            if state
            else builder.initializer(binding.name, weight, trainable=binding.kind == "parameter")
        )
    return leaves[key]


def _ports(b: TorchBuilder, outputs: Sequence[Value], results: Sequence[GraphOutput | None]) -> list[tuple[Port, SSAValue]]:
    """Return the results, with names of the user's outputs as they are unless they are the same, and of updates that yield to these."""
    wanted = [(value, result) for value, result in zip(outputs, results, strict=True) if result is not None and value is not None]
    names: dict[int, str] = {}
    for index, (_, result) in sorted(enumerate(wanted), key=lambda item: item[1][1].updates is not None):
        name, number = result.name, 0
        while name in names.values():
            number += 1
            name = f"{result.name}_{number}"
        names[index] = name
    found: list[tuple[Port, SSAValue]] = []
    for index, (value, result) in enumerate(wanted):
        b.enter(names[index])
        found.append((Port(names[index], updates=result.updates), _tensor(b, value, names[index], parts=result.parts)))
    return found


def _tensor(b: TorchBuilder, value: Value, name: str, *, parts: bool) -> SSAValue:
    """Return an output as a tensor: numbers as int64, float64 or bool of rank 0."""
    if isinstance(value, SSAValue):
        return value
    if isinstance(value, ComplexTensor) and parts:
        return stacked(b, [value.real, value.imaginary], -1)
    if isinstance(value, bool | int | float):
        return b.constant(value)
    what = "number that depends on data" if isinstance(value, DataNumber) else type(value).__name__
    raise Error("E0202", f"output '{name}' is a {what}; only tensors and known numbers are supported")
