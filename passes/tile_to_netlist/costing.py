"""What a candidate costs: the cycles of a core, and those of the streams that feed it, before it is known where they come from."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.cycles import cycles
from ttc.runtime.perf.movement import Stream, stream_cycles
from ttc.runtime.perf.rates import Rates, rates_of
from ttc.runtime.perf.reads import reads_of


@record(slots=True)
class Streams:
    """The time of the streams that feed a core.  cycles: of the slowest one, or of all that enter a core together.

    held_bytes: of weights that stay in L1; streamed_bytes: of those read for each microbatch.  whole: whether results come out at the ends
    of steps alone, as all of an input goes into each.
    """

    cycles: float
    held_bytes: int
    streamed_bytes: int
    whole: bool = False


@record
class Costs:
    """Costs of candidates on one machine."""

    target: Target

    @property
    def rates(self) -> Rates:
        return rates_of(self.target)

    def core(self, view: OpView, share: Share) -> int:
        """Return cycles a microbatch of one core, its operands at hand."""
        return cycles(view, share, self.target.arch)

    def streams(
        self,
        template: CostTemplate,
        weights: frozenset[int],
        grid: tuple[int, int],
        blocking: Blocking,
        inner: tuple[int, int] | None,
        room: Mapping[str, int],
    ) -> Streams:
        """Return what the candidate of an op moves.  weights: operands that hold the same in every microbatch.  room: tiles of L1 by role.

        Activations are taken to come from two cores.
        """
        op = Op("", "", (), Grid(0, 0, *grid), blocking, template.op.work, inner=inner)
        cores, slowest, held, streamed, absorbed = grid[0] * grid[1], 0.0, 0.0, 0.0, 0.0
        reads = reads_of(op)
        for index, read in zip(template.operands, reads, strict=True):
            if read is None:
                continue
            size = self.tile_bytes(read.tensor)
            stays = room.get(f"in{index}", 0) >= read.tiles
            distinct = min(max(round(1.0 / read.part.fraction), 1), cores)
            if index in weights and stays:
                held += read.tiles * size * distinct
                continue
            core_bytes = (read.tiles if stays else read.passes) * size
            if index in weights:
                streamed += core_bytes * distinct
                stream = Stream("dram", core_bytes, core_bytes * distinct, distinct, channels=self.target.dram_channels)
            else:
                stream = Stream("core", core_bytes, core_bytes * distinct, distinct, sources=2, packet_bytes=size)
            slowest = max(slowest, stream_cycles(self.rates, stream))
            absorbed += core_bytes
        whole = any(read is not None and read.part.whole for read in reads)
        return Streams(max(slowest, absorbed / self.rates.absorb_core), int(held), int(streamed), whole)

    def sent(self, tensor: TensorType, tiles: int, readers: int) -> float:
        """Return cycles in which a core hands so many tiles of its result to each of its readers."""
        return tiles * self.tile_bytes(tensor) * readers / self.rates.inject_core

    def tile_bytes(self, tensor: TensorType) -> int:
        """Return bytes of a tile, with its header; of 1024 numbers in row layout."""
        return format_named(tensor.format).tile_bytes(32, 32, self.target.alignment_bytes)


@record
class CostTemplate:
    """A netlist op to be costed.  op: its only work is the main op, reading its operands as they are; operands: which of them each of its
    inputs is.
    """

    op: Op
    operands: tuple[int, ...]

    @staticmethod
    def of(view: OpView) -> CostTemplate:
        """Return the template of a main op."""
        present = tuple(i for i, x in enumerate(view.operands) if x is not None)
        numbers = tuple(None if x is None else present.index(i) for i, x in enumerate(view.operands))
        work = Work(f"tile.{view.op}", numbers, view.attrs, (view.result,), view.body)
        function = Function(tuple(x for x in view.operands if x is not None), (work,), (len(present),))
        return CostTemplate(Op(view.op, view.op, (), Grid(0, 0, 1, 1), None, function), present)
