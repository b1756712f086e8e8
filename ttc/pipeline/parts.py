"""Parts of a program that run apart, a session each, and what passes between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from queue import Empty, Full, Queue

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist import model
from ttc.dialects.netlist.split import Joint, split
from ttc.runtime.engines.base import Engine, held_keys
from ttc.runtime.manifest import Derived, Description
from ttc.runtime.program import Program, build_program


def parts_of(program: Program, engine: Engine) -> tuple[dict[int, Program], tuple[Joint, ...]]:
    """Return a program for each chip, with the tensors that it reads, and the joints of these programs.

    Args:    engine: that computes them.
    Raises:  E0503 for what cannot be split; see `dialects.netlist.split`.
    """
    description, sources = program.description, program.constants.sources
    variables = {**description.parameters, **description.states}
    changed = dict.fromkeys(description.states) | dict.fromkeys(_updates(program.netlist))
    tensors = {name: _holding(name, variables[name].key, description) for name in changed}
    found = split(program.netlist, tensors)
    parts: dict[int, Program] = {}
    for chip, netlist in found.parts.items():
        keys = {queue.key for queue in netlist.queues.values()} | {key for name in _updates(netlist) for key in tensors[name]}
        keys |= {key for graph in netlist.graphs.values() for key in held_keys(graph, netlist)}
        while more := {key for item in description.derived if item.key in keys for key in _leaves(item, "key")} - keys:
            keys |= more
        states = {name: state for name, state in description.states.items() if state.key in keys}
        own = replace(description, states=states, derived=tuple(item for item in description.derived if item.key in keys))
        parts[chip] = build_program(netlist, own, {key: sources[key] for key in sources if key in keys}, engine=engine)
    return parts, found.joints


def _updates(netlist: model.Netlist) -> list[str]:
    """States and parameters that programs update."""
    results = [result for entry in netlist.programs.values() for result in entry.results]
    return [result.updates for result in results if result.updates is not None]


def _holding(name: str, key: str | None, description: Description) -> set[str]:
    """Return keys of the tensors that hold a parameter or state, or derive from it."""
    keys = {key} if key is not None else set[str]()
    while more := {d.key for d in description.derived if name in _leaves(d, "sym") or keys & _leaves(d, "key")} - keys:
        keys |= more
    return keys


def _leaves(derived: Derived, field: str) -> set[str]:
    """Return names (`sym`) or keys (`key`) of the tensors that an expression reads."""
    return {str(work.attrs[field]) for work in derived.function.works if field in work.attrs}


class Joints:
    """Carries results of parts to the parts that read them, in order.  Thread-safe.

    Args:
        joints: of the parts.
        room: runs whose results may wait in each joint.
    """

    def __init__(self, joints: Iterable[Joint], room: int = 2) -> None:
        self._waiting: dict[Joint, Queue[NDArray]] = {joint: Queue(room) for joint in joints}

    def give(self, chip: int, outputs: Mapping[str, NDArray], *, timeout: float) -> dict[str, NDArray]:
        """Send what a run of a chip's part has popped; gives the outputs that are the user's.

        Raises: E0804 if a joint is full for `timeout` seconds.
        """
        passed = {joint: queue for joint, queue in self._waiting.items() if joint.source == chip and joint.name in outputs}
        for joint, queue in passed.items():
            try:
                queue.put(outputs[joint.name], timeout=timeout)
            except Full:
                raise Error("E0804", f"chip {joint.target} has not taken '{joint.name}', still after {timeout:g} s") from None
        names = {joint.name for joint in passed}
        return {name: value for name, value in outputs.items() if name not in names}

    def take(self, chip: int, entry: model.Program, *, timeout: float) -> dict[str, NDArray]:
        """Return the inputs of a program of a chip's part that other parts give. Raises E0804 if one does not come within `timeout`
        seconds.
        """
        names = {argument.name for argument in entry.arguments}
        found: dict[str, NDArray] = {}
        for joint, queue in self._waiting.items():
            if joint.target == chip and joint.name in names:
                try:
                    found[joint.name] = queue.get(timeout=timeout)
                except Empty:
                    raise Error("E0804", f"chip {joint.source} has not given '{joint.name}', still after {timeout:g} s") from None
        return found
