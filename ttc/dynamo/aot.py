"""From a graph of TorchDynamo to forward and backward graphs of aten ops, by AOTAutograd."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config
from torch._functorch._aot_autograd.descriptors import BufferAOTInput, InputMutationAOTOutput, ParamAOTInput, PlainAOTInput
from torch._guards import CompileContext

from ttc.dialects.core.records import record
from ttc.dynamo.draws import REWRITTEN
from ttc.dynamo.graph import AtenGraph
from ttc.dynamo.pools import WITHOUT_PLACES
from ttc.dynamo.saved import partition
from ttc.dynamo.session import Placeholder
from ttc.dynamo.settings import Settings
from ttc.importers.torch.decompositions import decompositions

_LIFTED = frozenset((torch.ops.aten.lift_fresh.default, torch.ops.aten.lift_fresh_copy.default, torch.ops.aten.lift.default))
"""Ops by which tracing knows constants of the program."""
_INFERENCE = "inference"
"""Kind of a graph that computes nothing for gradients; the others are `forward` and `backward`."""
_ARGUMENT = re.compile(r"L\['(\w+)'\]")
_MEMBER = re.compile(r"\._(?:modules|parameters|buffers)\['([^']*)'\]")


@record(frozen=False)
class _Names:
    """What the placeholders of a graph of TorchDynamo are, and those of the aten graphs made of it.

    Args:
        sources: by the position of TorchDynamo's placeholders.
        forward: by the name of the forward graph's placeholders, which a backward graph has from it.
    """

    sources: tuple[Placeholder, ...]
    forward: dict[str, Placeholder] = field(default_factory=dict)


def compile_graph(graph: fx.GraphModule, example_inputs: Sequence[Any], settings: Settings) -> Callable[..., Any]:
    """Return what runs in the place of a graph of TorchDynamo."""
    names = _Names(_sources(graph, example_inputs))
    label = str(CompileContext.current_compile_id() or "graph").replace("/", "_")

    def compiler(kind: str) -> Callable[..., Any]:
        def compile_aten(aten: fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
            del examples  # the placeholders have them
            return _boxed(AtenGraph(aten, f"{kind}_{label}", _placeholders(aten, names, kind), settings))

        return compile_aten

    made = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler(_INFERENCE),
        decompositions=graph_decompositions(),
        partition_fn=partition,
    )
    # a backward graph may run again: nothing here reuses what it was given; recurrent layers are steps, not calls of another library
    with config.patch(donated_buffer=False), torch.backends.mkldnn.flags(enabled=False):
        return made(graph, example_inputs)


def _boxed(graph: AtenGraph) -> Callable[[list[Any]], list[Any]]:
    """Return the graph as a function that PyTorch gives the values in a list, for it to empty."""

    def run(values: list[Any]) -> list[Any]:
        return graph(values)

    vars(run)["_boxed_call"] = True
    return run


def graph_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return what ops become on their way into a graph of aten ops."""
    table = {op: how for op, how in decompositions().items() if op not in REWRITTEN | _LIFTED} | WITHOUT_PLACES
    fused = getattr(torch.ops.prims, "fma", None)  # TorchDynamo makes these of addcmul and addcdiv, and defines the op then
    return table if fused is None else {**table, fused.default: lambda x, y, z: x * y + z}


def _sources(graph: fx.GraphModule, example_inputs: Sequence[Any]) -> tuple[Placeholder, ...]:
    """The parameters and buffers of the model among the placeholders by their paths, all others by the names that the program has."""
    found: list[Placeholder] = []
    for node, value in zip(graph.graph.find_nodes(op="placeholder"), example_inputs, strict=False):
        held = isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None
        source = _ARGUMENT.sub(r"\1", str(getattr(getattr(node, "_dynamo_source", None), "name", "")))
        path = _MEMBER.sub(r".\1", source).partition(".")[2] if held else source
        trained = held and isinstance(value, torch.Tensor) and value.requires_grad
        found.append(Placeholder(path or source or str(node.target), held, trained))
    return _distinct(found)


def _placeholders(aten: fx.GraphModule, names: _Names, kind: str) -> tuple[Placeholder, ...]:
    """Return what the placeholders of an aten graph are.

    A tensor that the graph gives a new value is an input, however the model keeps it; and so is, where gradients are computed, one that has
    a gradient: it changes before the next run, and preparing it takes longer than reading it.
    """
    changed = changed_by(aten)
    found: list[Placeholder] = []
    for node in aten.graph.find_nodes(op="placeholder"):
        what = names.forward.get(node.name) or _placeholder(node.meta.get("desc"), node.name, names.sources)
        if node.name in changed or (what.trained and kind != _INFERENCE):
            what = Placeholder(what.name, held=False)
        if kind == "forward":
            names.forward[node.name] = what
        found.append(what)
    return _distinct(found)


def _distinct(placeholders: Sequence[Placeholder]) -> tuple[Placeholder, ...]:
    """Return the placeholders under names that none of them shares."""
    found: dict[str, Placeholder] = {}
    for placeholder in placeholders:
        name, number = placeholder.name, 1
        while name in found:
            number += 1
            name = f"{placeholder.name}.{number}"
        found[name] = replace(placeholder, name=name)
    return tuple(found.values())


def _placeholder(origin: Any, name: str, sources: Sequence[Placeholder]) -> Placeholder:
    if isinstance(origin, ParamAOTInput | BufferAOTInput):
        return Placeholder(origin.target, held=True, trained=isinstance(origin, ParamAOTInput))
    if isinstance(origin, PlainAOTInput) and origin.idx < len(sources):
        return sources[origin.idx]
    return Placeholder(name, held=False)


def changed_by(aten: fx.GraphModule) -> set[str]:
    """Return the placeholders whose new value is an output."""
    (output,) = aten.graph.find_nodes(op="output")
    origins = [o.mutated_input for o in output.meta.get("desc") or () if isinstance(o, InputMutationAOTOutput)]
    return {node.name for node in aten.graph.find_nodes(op="placeholder") if node.meta.get("desc") in origins}
