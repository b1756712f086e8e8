"""The netlist of a program: as it was compiled, as an engine executes it, and what of it users call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Netlist, Program
from ttc.runtime.direct import DirectEntry, direct_entry
from ttc.runtime.joined import joined


@record
class EntryPoint:
    """A program that users call.  direct: how to run it without queues, where that can be."""

    program: Program
    direct: DirectEntry | None


class Netlists:
    """Each form is made when somebody first asks for it.

    Args:
        read: gives the netlist, checked.
        joins: whether the engine would rather have the graphs of a program as one.
        points: the entry points, if they are known.
    """

    def __init__(self, read: Callable[[], Netlist], *, joins: bool = False, points: Mapping[str, EntryPoint] | None = None) -> None:
        self._read = read
        self._joins = joins
        self._points = points

    @staticmethod
    def of(netlist: Netlist, *, joins: bool = False) -> Netlists:
        """Of a netlist at hand."""
        return Netlists(lambda: netlist, joins=joins)

    @cached_property
    def whole(self) -> Netlist:
        """As it was compiled."""
        return self._read()

    @cached_property
    def executed(self) -> Netlist:
        """As the engine has it."""
        return joined(self.whole) if self._joins else self.whole

    @cached_property
    def points(self) -> Mapping[str, EntryPoint]:
        """Entry points by name."""
        if self._points is not None:
            return self._points
        netlist = self.executed
        return {name: EntryPoint(program, direct_entry(program, netlist)) for name, program in netlist.programs.items()}
