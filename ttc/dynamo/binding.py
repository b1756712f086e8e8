"""Parameters of a compiled graph: they share the memory of the model's tensors, and what is derived from them follows their versions."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import torch
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.weights import array_of
from ttc.runtime.derive import Derivation
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description
from ttc.runtime.program import Program
from ttc.runtime.tensors import TensorSource

Build: TypeAlias = Callable[[Mapping[str, TensorSource]], Program]
MAX_MODELS = 64
"""Models that one graph is kept bound to: modules of one class share what is compiled for it."""


class Parameter(NamedTuple):
    """A tensor of the model: its name in the program, and the position of the placeholder that gives it."""

    name: str
    position: int


class Outdated(Exception):
    """A tensor changed whose value the compiled program holds for good."""


@record
class _Bound:
    """A session, and the memory it reads, which others cannot take while it is held.

    Args:
        stamps: of the tensors that it holds the values of.
        watches: end the session with the model.
    """

    executor: Executor
    stamps: list[object]
    memory: list[torch.Tensor]
    watches: list[weakref.ref[torch.Tensor]]


class Binding:
    """Gives the session for a model's tensors as they are now.  Thread-safe.

    A tensor counts as changed when it lies elsewhere or PyTorch's version of it is another: `p.add_(1)` and `optimizer.step()` are seen,
    writing through `p.data` or an array of its memory is not.  Tensors made in inference mode have no versions: they change at each call.

    Args:
        build: makes the program of stored tensors.
        sources: of them, with the values of `given`.
        parameters: of the program.
        given: values of the placeholders.
        baked: names of those whose values went into the program itself.
    """

    def __init__(
        self,
        build: Build,
        sources: Mapping[str, TensorSource],
        description: Description,
        parameters: Sequence[Parameter],
        given: Sequence[Any],
        baked: frozenset[str],
    ) -> None:
        known = {*description.parameters, *baked}
        held = [p for p in parameters if p.name in known]
        held.sort(key=lambda p: not isinstance(given[p.position], torch.nn.Parameter))
        self._names = [p.name for p in held]
        self._positions = [p.position for p in held]
        self._owned = sum(isinstance(given[i], torch.nn.Parameter) for i in self._positions)
        self._peers = _peers(description)
        self._lock = Lock()
        self._bounds: dict[tuple[int, ...], _Bound] = {}
        values = {p.name: given[p.position] for p in held}
        self._baked = {name: values[name].detach().clone() for name in baked}
        self.unbound = _without_values(build, sources, values)

    def executor(self, given: Sequence[Any]) -> Executor:
        """The session for these values of the placeholders.  Raises Outdated if the graph has to be compiled again."""
        tensors = [given[i] for i in self._positions]
        stamps = _stamps(tensors)
        model = tuple([id(t) for t in tensors[: self._owned]])
        bound = self._bounds.get(model)
        return bound.executor if bound is not None and bound.stamps == stamps else self._rebound(model, tensors, stamps)

    def _rebound(self, model: tuple[int, ...], tensors: list[torch.Tensor], stamps: list[object]) -> Executor:
        with self._lock:
            bound = self._bounds.get(model)
            old = [None] * len(stamps) if bound is None else bound.stamps
            changed = [name for name, was, now in zip(self._names, old, stamps, strict=True) if was != now]
            values = dict(zip(self._names, tensors, strict=True))
            if any(name in self._baked and not torch.equal(values[name], self._baked[name]) for name in changed):
                raise Outdated
            needed = set(changed).union(*(self._peers[name] for name in changed if name in self._peers))
            program = self.unbound if bound is None else bound.executor.program
            executor = Executor(_with_values(program, {name: values[name] for name in sorted(needed)}))
            while len(self._bounds) >= MAX_MODELS:
                self._bounds.pop(next(iter(self._bounds)), None)
            bounds = self._bounds
            watches = [weakref.ref(t, lambda _: bounds.pop(model, None)) for t in tensors[: self._owned]]
            bounds[model] = _Bound(executor, stamps, [t.detach() for t in tensors], watches)
            return executor


def _stamps(tensors: Sequence[torch.Tensor]) -> list[object]:
    """Equal for tensors that lie at the same place and were not written to."""
    try:
        return [(t.data_ptr(), t._version) for t in tensors]
    except RuntimeError:  # tensors of inference mode have no version
        return [object() if t.is_inference() else (t.data_ptr(), t._version) for t in tensors]


def _peers(description: Description) -> Mapping[str, frozenset[str]]:
    """For each parameter those that are needed to compute anew what it goes into: parameters of one expression, of the next, and so on."""
    functions = {derived.key: derived.function for derived in description.derived}
    owners = {variable.key: name for name, variable in description.parameters.items()}

    def leaves(key: str, path: tuple[str, ...]) -> set[str]:
        found: set[str] = set()
        for work in functions[key].works:
            leaf = str(work.attrs.get("key", ""))
            if work.op == "ttc.param":
                found.add(str(work.attrs["sym"]))
            elif leaf in owners:
                found.add(owners[leaf])
            elif leaf in functions and leaf not in path:
                found |= leaves(leaf, (*path, leaf))
        return found

    peers = {name: frozenset((name,)) for name in description.parameters}
    for key in functions:
        names = leaves(key, (key,))
        joined = frozenset(names).union(*(peers[name] for name in names if name in peers))
        peers.update(dict.fromkeys(joined, joined))
    return peers


def _with_values(program: Program, tensors: Mapping[str, torch.Tensor]) -> Program:
    """As `Program.with_parameters`, but the values stay the tensors' own memory, and what depends on none of them is kept."""
    changes = _changes(program, tensors)
    constants = program.constants.replaced(changes)
    return replace(program, constants=constants, plans=program.plans.with_constants(constants, changes))


def _changes(program: Program, tensors: Mapping[str, torch.Tensor]) -> dict[str, TensorSource]:
    values = {name: array_of(tensor, dtype_of(tensor.dtype)) for name, tensor in tensors.items() if name in program.description.parameters}
    return Derivation(program.description, program.constants, values).changes()


def _without_values(build: Build, sources: Mapping[str, TensorSource], tensors: Mapping[str, torch.Tensor]) -> Program:
    """The program without the tensors of the model that it was compiled for, and all that depends on them."""
    dependent = _changes(build(sources), tensors)
    kept = {key: TensorSource.of_array(source.load(), source.format) for key, source in sources.items() if key not in dependent}
    return build(kept | {key: TensorSource(sources[key].shape, sources[key].format, _absent) for key in dependent})


def _absent() -> NDArray:
    raise Error("E0901", "a tensor is read before the program is bound to a model")
