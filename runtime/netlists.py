"""The netlist of a program: as it was compiled, as an engine executes it, and what of it users call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.replicas import merged
from ttc.runtime.direct import DirectEntry, direct_entry
from ttc.runtime.engines.joined import joined
from ttc.runtime.engines.together import together
from ttc.runtime.machine.surface import Surface, surface_of
from ttc.runtime.manifest import Description, updated_keys


class Netlists:
    """The forms of a program's netlist, each made when somebody first asks for it.

    Args:
        read: gives the netlist, checked.
        description: of the model.
        joins: whether the engine would rather have the graphs of a program as one.
        surface: of the netlist as the engine has it, if it is known.
    """

    def __init__(
        self, read: Callable[[], Netlist], description: Description, *, joins: bool = False, surface: Surface | None = None
    ) -> None:
        self._read = read
        self._description = description
        self._joins = joins
        self._surface = surface

    @cached_property
    def whole(self) -> Netlist:
        """The netlist as it was compiled."""
        return self._read()

    @cached_property
    def updated(self) -> frozenset[str]:
        """The keys of parameters that programs update, and that need not be prepared to be read."""
        programs = self.whole.programs if self._surface is None else self._surface.programs
        results = [result for program in programs.values() for result in program.results]
        return updated_keys(self._description, {result.updates for result in results if result.updates is not None})

    @cached_property
    def executed(self) -> Netlist:
        """The netlist as the engine has it: parameters that programs update are read at each run, as states are."""
        netlist = self.whole
        changing = {name: queue for name, queue in netlist.queues.items() if queue.kind == "parameter" and queue.key in self.updated}
        if changing:
            queues = {name: replace(queue, kind="state") if name in changing else queue for name, queue in netlist.queues.items()}
            netlist = replace(netlist, queues=queues)
        netlist = together(netlist)
        return joined(merged(netlist)) if self._joins else netlist

    @cached_property
    def surface(self) -> Surface:
        """What a session needs to know of the netlist."""
        return surface_of(self.executed) if self._surface is None else self._surface

    @cached_property
    def direct(self) -> Mapping[str, DirectEntry]:
        """Return how programs without queues run, by name, as far as they can run so."""
        found = {name: direct_entry(program, self.surface) for name, program in self.surface.programs.items()}
        return {name: entry for name, entry in found.items() if entry is not None}
