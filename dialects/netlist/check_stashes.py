"""Rules for stashes: queues that some programs fill and others read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Netlist, Program
from ttc.dialects.netlist.violations import Findings


@record(frozen=False)
class Stashes:
    """What the programs of a netlist do to its stashes.

    written: entries that a run of a program writes, by stash and program; read: entries that a graph reads in a run, by stash, program and
    graph.  Loops whose counts the text does not tell are taken to run once.
    """

    netlist: Netlist
    found: Findings
    written: dict[str, Counter[str]] = field(default_factory=dict)
    read: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)

    def note(self, program: Program, graph: Graph, count: int, reads: Sequence[str]) -> None:
        """Note that a program runs so many microbatches of a graph.  reads: queues that the graph reads."""
        for name in reads:
            if self._is_stash(name):
                self.read.setdefault(name, Counter())[program.name, graph.name] += count
        for _, name in graph.writes:
            if self._is_stash(name):
                self.written.setdefault(name, Counter())[program.name] += count

    def check(self) -> None:
        """A program fills each stash, another one reads it, none does both, and a run has room in it."""
        for queue in self.netlist.queues.values():
            if queue.kind != "stash":
                continue
            where = f"queue '{queue.name}'"
            written, read = self.written.get(queue.name, Counter()), self.read.get(queue.name, Counter())
            readers = {program for program, _ in read}
            self.found.require(bool(written), "E0608", where, "no program fills this stash")
            self.found.require(bool(read), "E0608", where, "no program reads this stash")
            for program in sorted(written.keys() & readers):
                message = f"program '{program}' both fills and reads this stash"
                self.found.add("E0608", where, message, "what passes within a program is an edge")
            for count, what in ((max(written.values(), default=0), "writes"), (max(read.values(), default=0), "reads")):
                message = f"a run {what} {count} entries of this stash, which holds {queue.entries}"
                self.found.require(count <= queue.entries, "E0602", where, message)

    def _is_stash(self, name: str) -> bool:
        queue = self.netlist.queues.get(name)
        return queue is not None and queue.kind == "stash"
