"""The host of a golden run: it pushes what a file gives, and draws what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import Rounding
from ttc.dialects.netlist.buda.roles import host_owned
from ttc.dialects.netlist.model import Netlist, Queue
from ttc.dialects.netlist.sizes import tile_shape
from ttc.stimulus.encodings import Fitting, draw_codes, fitting
from ttc.stimulus.rules import TILE, Rules, StimulusRule, draw, generator_of, stored

UNFITTING = Fitting({}, frozenset(), {})


@dataclass(frozen=True)
class HostSource:
    """A source of entries for a `Session`.

    Args:
        given: values of queues by name, [entries, t, rows, columns].
        rules: for the others; None: uniform ones in [-1, 1), see `_natural`.
        seed: of all that is drawn.
        rounding: of what is pushed.
        constants: queues whose entry all microbatches read, and whether an op multiplies matrices with it.
        fit: queues that cannot hold just anything; the rules decide only how sparse codes are, and what tiles with rules of their own
            hold.
    """

    rules: Rules | None = None
    seed: int = 0
    given: Mapping[str, NDArray] = field(default_factory=dict)
    fit: Fitting = UNFITTING
    constants: Mapping[str, bool] = field(default_factory=dict)
    rounding: Rounding = "truncate"

    def __call__(self, queue: Queue, entry: int) -> NDArray:
        """Entry number `entry` as the queue's format holds it.  Raises E0801 if fewer are given."""
        values = self.given.get(queue.name)
        if values is None:
            return stored(self._drawn(queue, entry), queue, self.rounding)
        if entry >= len(values):
            hint = "give as many as the programs read, or lower the loop counts: --param"
            raise Error("E0801", f"queue '{queue.name}' needs more than the {len(values)} entries that are given", hint=hint)
        return stored(values[entry], queue, self.rounding)

    def _drawn(self, queue: Queue, entry: int) -> NDArray:
        name, shape = queue.name, queue.tensor.shape
        rules = self.rules or Rules(self._natural(queue))
        own = rules.own(name)
        if name in self.fit.codes:
            return draw_codes(self.fit.codes[name], own, shape, generator_of(name, entry, self.seed))
        if name in self.fit.indices and rules.of(name).kind in ("uniform", "normal"):
            return generator_of(name, entry, self.seed).integers(0, self.fit.indices[name], shape)
        if name in self.fit.tiles and own is None:
            return draw(StimulusRule("sparse"), queue, entry, self.seed)
        return draw(rules.of(name), queue, entry, self.seed)

    def _natural(self, queue: Queue) -> StimulusRule:
        """Return a rule under which values of a network keep their size.

        A constant that is a factor of products, and more than a tile, is a weight: its variance is one by its rows.  Others scale, average
        or keep a root from zero, and are positive.
        """
        if queue.name not in self.constants:
            return StimulusRule("uniform")
        rows, columns = queue.tensor.shape[-2:]
        height, width = tile_shape(queue.tensor.layout) or TILE
        if not self.constants[queue.name] or (rows <= height and columns <= width):
            return StimulusRule("uniform", {"low": 2.0**-10, "high": 1.0})
        bound = min(sqrt(3 / rows), 1.0)
        return StimulusRule("uniform", {"low": -bound, "high": bound})


def host_of(netlist: Netlist, rules: Rules | None, seed: int, given: Mapping[str, NDArray], rounding: Rounding = "truncate") -> HostSource:
    """Return the host of a netlist."""
    return HostSource(rules, seed, given, fitting(netlist), _constants(netlist), rounding)


def _constants(netlist: Netlist) -> dict[str, bool]:
    """Rams that the host fills, and queues that no program streams; whether each is a factor of products."""
    settings = [s for program in netlist.programs.values() for step in program.instructions for s in step.settings]
    streamed = {s.queue for s in settings if s.prologue is False and s.rd_ptr_autoinc != 0}
    factors = {name for graph in netlist.graphs.values() for op in graph.ops if op.inner is not None for name in op.inputs}
    return {q.name: q.name in factors for q in host_owned(netlist) if q.type == "ram" or q.name not in streamed}
