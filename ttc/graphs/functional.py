"""Makes a graph without side effects of a tape: from what was read outside to what lies in memory that outlives the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree

from ttc.dialects.core.records import record
from ttc.dynamo.aot import graph_decompositions
from ttc.graphs.tape import Footprint, Tape, refusal


@record
class Functional:
    """A function from tensors to tensors, with the memory that both are in.

    Args:
        graph: of aten ops; takes a value for each of `inputs`, and gives one for each of `outputs`.
        inputs, outputs: the memory, which is kept alive by them.
        parameters: which of the inputs are parameters of modules that the graph does not write.
        written: how many of the outputs, the first, lie in memory that was there before.
    """

    graph: fx.GraphModule
    inputs: tuple[torch.Tensor, ...]
    outputs: tuple[torch.Tensor, ...]
    parameters: tuple[bool, ...]
    written: int


def functional(tape: Tape) -> Functional:
    """Make the function of a tape, which is then empty.  Raises E0814 for memory that is written through one tensor and read by another."""
    _check_overlaps(tape)
    bases, made = tape.bases, frozenset(tape.made)
    read = dict(tape.read)
    steps, written = list(tape.steps), frozenset(tape.written)
    alive = _alive(tape)
    parameters = tuple(parameter and place.storage not in written for place, parameter in read.items())
    shown = [_tensor(alive[place.storage], place) for place in read]
    inputs = tuple(torch.nn.Parameter(x, x.requires_grad) if p else x for x, p in zip(shown, parameters, strict=True))
    outside = [place for place in read if place.storage in written]
    kept = outside + [place for storage, place in bases.items() if storage in made and storage in alive]
    outputs = tuple(_tensor(alive[place.storage], place) for place in kept)

    def run(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        known = {p: (x.clone() if p.storage in written else x) for p, x in zip(read, values, strict=True)}
        for step in steps:
            _repeat(step.op, step.arguments, step.spec, step.results, known, bases)
        return tuple(_at(place, known, bases) for place in kept)

    with torch.no_grad():
        graph = make_fx(torch.func.functionalize(run, remove="mutations"), graph_decompositions(), "fake", _allow_non_fake_inputs=True)(
            *inputs
        )
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return Functional(graph, inputs, outputs, parameters, len(outside))


def _check_overlaps(tape: Tape) -> None:
    seen: dict[int, Footprint] = {}
    for place in tape.read:
        other = seen.setdefault(place.storage, place)
        if other is not place and place.storage in tape.written:
            raise refusal("memory from outside is written, and two tensors show it, which were there before")


def _alive(tape: Tape) -> dict[int, torch.UntypedStorage]:
    """Storages from outside, and those made on the tape that somebody else holds; the tape is empty afterwards."""
    watched = {number: StorageWeakRef(storage) for number, storage in tape.storages.items() if number in tape.made}
    outside = {number: storage for number, storage in tape.storages.items() if number not in tape.made}
    storages = list(tape.storages.items())
    tape.steps.clear()
    tape.storages.clear()
    alive: dict[int, torch.UntypedStorage] = dict(outside)
    while storages:
        number, storage = storages.pop()
        if number not in watched:
            continue
        del storage
        if not watched[number].expired():
            alive[number] = torch.UntypedStorage._new_with_weak_ptr(watched[number].cdata)  # pyright: ignore[reportAttributeAccessIssue]
    return alive


def _tensor(storage: torch.UntypedStorage, place: Footprint) -> torch.Tensor:
    """Return a tensor that shows a place."""
    with torch.no_grad():
        return torch.empty(0, dtype=place.dtype).set_(storage, place.offset, place.size, place.stride)


def _repeat(
    op: Any,
    arguments: Sequence[Any],
    spec: pytree.TreeSpec,
    results: Sequence[Footprint | None],
    known: dict[Footprint, Any],
    bases: dict[int, Footprint],
) -> None:
    """Run an op again on other tensors."""
    args, kwargs = pytree.tree_unflatten([_at(x, known, bases) if isinstance(x, Footprint) else x for x in arguments], spec)
    for place, value in zip(results, pytree.tree_leaves(op(*args, **kwargs)), strict=True):
        if place is not None:
            known[place] = value


def _at(place: Footprint, known: dict[Footprint, Any], bases: dict[int, Footprint]) -> Any:
    """Return the tensor of a place; one that no op gave, as views of autograd are, shows the memory that an op made."""
    if place not in known:
        base = bases[place.storage]
        known[place] = torch.as_strided(known[base], place.size, place.stride, place.offset - base.offset)
    return known[place]
