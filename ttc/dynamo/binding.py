"""Parameters of a compiled graph: they share the memory of the model's tensors, and what is derived from them follows their versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NamedTuple

import torch

from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.weights import array_of
from ttc.runtime.derive import Derivation
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description
from ttc.runtime.program import Program


class Parameter(NamedTuple):
    """A tensor of the model: its name in the program, and the position of the placeholder that gives it."""

    name: str
    position: int


class Outdated(Exception):
    """A tensor changed whose value the compiled program holds for good."""


@dataclass(frozen=True)
class _Bound:
    """A session, and the tensors it holds the values of.  That they are held keeps other tensors from taking their addresses."""

    executor: Executor
    stamps: list[object]
    tensors: list[torch.Tensor]


class Binding:
    """Gives the session for the parameters as they are now.  Thread-safe.

    A tensor counts as changed when it lies elsewhere or PyTorch's version of it is another: `p.add_(1)` and `optimizer.step()` are seen,
    writing through `p.data` or an array of its memory is not.  Tensors made in inference mode have no versions: they change at each call.

    Args:
        program: compiled with the values of `given`.
        parameters: of the program.
        given: values of the placeholders.
        baked: names of those whose values went into the program itself.
    """

    def __init__(self, program: Program, parameters: Sequence[Parameter], given: Sequence[Any], baked: frozenset[str]) -> None:
        known = {*program.description.parameters, *baked}
        self._parameters = [p for p in parameters if p.name in known]
        self._positions = [p.position for p in self._parameters]
        self._baked = baked
        self._peers = _peers(program.description)
        self._lock = Lock()
        tensors = [given[i] for i in self._positions]
        self._bound = _Bound(Executor(program), _stamps(tensors), tensors)

    def executor(self, given: Sequence[Any]) -> Executor:
        """The session for these values of the placeholders.  Raises Outdated if the graph has to be compiled again."""
        tensors = [given[i] for i in self._positions]
        stamps = _stamps(tensors)
        bound = self._bound
        return bound.executor if bound.stamps == stamps else self._rebound(tensors, stamps)

    def _rebound(self, tensors: list[torch.Tensor], stamps: list[object]) -> Executor:
        with self._lock:
            bound = self._bound
            changed = [p.name for p, old, new in zip(self._parameters, bound.stamps, stamps, strict=True) if old != new]
            if not self._baked.isdisjoint(changed):
                raise Outdated
            values = {p.name: tensor for p, tensor in zip(self._parameters, tensors, strict=True)}
            needed = {name for each in changed for name in self._peers.get(each, (each,))}
            executor = Executor(_with_values(bound.executor.program, {name: values[name] for name in sorted(needed)}))
            self._bound = _Bound(executor, stamps, tensors)
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
    values = {name: array_of(tensor, dtype_of(tensor.dtype)) for name, tensor in tensors.items()}
    changes = Derivation(program.description, program.constants, values).changes()
    constants = program.constants.replaced(changes)
    return replace(program, constants=constants, plans=program.plans.with_constants(constants, changes))
