"""Grids and blocks an op can take: rectangles of cores that cover its result, each with the largest blocks that fit L1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Blocking, Buffer
from ttc.dialects.netlist.sizes import WIDE_ACCUMULATE
from ttc.passes.tile_to_netlist.buffers import (
    JOINED,
    MAX_INNER,
    REREADING,
    WHOLE_ROWS,
    WITH_INNER,
    WITH_WEIGHTS,
    Need,
    fill,
    tile_dims,
)
from ttc.passes.tile_to_netlist.costing import Costs, CostTemplate
from ttc.passes.tile_to_netlist.layouts import GridLayout, chosen_layouts, divisors, largest_divisor
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.passes.tile_to_netlist.refusals import TooLarge, refused_inner, refused_rule, too_large
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.epoch import GRANULES

DEEP_SHARE = 0.6
"""The share of L1 that deep K blocks may take: the rest is for what waits where paths join."""
SELECTION_SHARE = 0.9
"""The share of L1 that the source of a selection of rows may take."""
DEEP, SHALLOW = (512, 256, 128, 32, 16), (4, 2, 1)
"""Tiles of K that a product takes at a time: more than usual, where L1 has room, and fewer, where it has not."""


@record
class BlockingSubject:
    """An op, as far as its candidates depend on it.

    Args:
        view: its main tile op.
        weights: operands that hold the same in every microbatch.
        accumulate: format in which results are accumulated.
        readers: ops that read its result.
        limits: what the user asks of its candidates.
    """

    view: OpView
    weights: frozenset[int] = frozenset()
    accumulate: str = "Float32"
    readers: int = 1
    limits: PlacementLimits = PlacementLimits()


@record(slots=True)
class Candidate:
    """One way to run an op.

    Args:
        rows, cols: of the grid.
        blocking: of the result on one core.
        buffers: in L1, by operands of the main op.
        inner: K blocks of a product.
        cycles: of one core for a microbatch, its operands at hand.
        busy: the same, or those of the slowest stream into it if these are more.
        held_bytes: of weights that are brought into L1 once, before the first microbatch.
        streamed_bytes: of weights that are read from DRAM for every microbatch.
        parts: of a microbatch, in which results come out one after another.
    """

    rows: int
    cols: int
    blocking: Blocking
    buffers: tuple[Buffer, ...]
    inner: tuple[int, int] | None
    cycles: int
    busy: int
    held_bytes: int = 0
    streamed_bytes: int = 0
    parts: int = 1

    @property
    def first(self) -> float:
        """Cycles until the first part of the results comes out."""
        return self.busy / self.parts

    @property
    def cores(self) -> int:
        return self.rows * self.cols

    @property
    def l1_bytes(self) -> int:
        return sum(b.size_bytes for b in self.buffers)

    @property
    def text(self) -> str:
        """The candidate as text: `4 x 2`, and how the cores take it."""
        steps = f", {self.blocking.t} steps" if self.blocking.t > 1 else ""
        return f"{self.rows} x {self.cols}{steps}{', weights held' if self.held_bytes else ''}"


@record
class Blockings:
    """What was found for an op: its candidates, or what keeps it from having any.

    Args:
        all: candidates by growing core count and time.
        front: those of them that are faster than all with fewer cores.
        held: the same of candidates that read no weights during the run; empty if there are none, or none that do.
        refused: grids on which the op fits no L1.
    """

    all: tuple[Candidate, ...]
    front: tuple[Candidate, ...]
    held: tuple[Candidate, ...]
    refused: tuple[TooLarge, ...]


def candidates(view: OpView, target: Target) -> list[Candidate]:
    """Return candidates by growing core count, each faster than all smaller ones. Raises E0502 if not even one core suffices."""
    return list(find(BlockingSubject(view), target).front)


def find(subject: BlockingSubject, target: Target) -> Blockings:
    """Return the candidates of an op.  Raises E0502 if it fits no core however it is cut, E0503 for a target without cores."""
    if target.grid is None:
        raise Error("E0503", f"target {target.name} has no grid of cores")
    found: list[Candidate] = []
    refused: list[TooLarge] = []
    fitter = Fitter(subject, target, Costs(target), CostTemplate.of(subject.view))
    fitter.check_inner()
    wide, joined = subject.view.op in WITH_WEIGHTS, subject.view.op in JOINED
    for layout in chosen_layouts(tile_dims(subject.view.result), target, subject.limits, wide=wide, joined=joined):
        fits = fitter.fit(layout)
        if isinstance(fits, TooLarge):
            refused.append(fits)
        else:
            found.extend(fits)
    if not found:
        if not subject.limits.text and refused:
            raise too_large(subject.view, refused, target)
        raise refused_rule(subject.view, subject.limits, refused, target, possible_grids(subject, target))
    found.sort(key=lambda c: (c.cores, c.busy, c.streamed_bytes, c.cycles, c.rows))
    if subject.limits.policy in ("fastest", "smallest"):
        found = [_front(found)[-1 if subject.limits.policy == "fastest" else 0]]
    streaming = any(c.streamed_bytes for c in found)
    held = _front([c for c in found if not c.streamed_bytes]) if streaming else []
    return Blockings(tuple(found), tuple(_front(found)), tuple(held), tuple(refused))


def possible_grids(subject: BlockingSubject, target: Target) -> list[tuple[int, int]]:
    """Return the grids that the op could have with all that is asked but the grid itself, or else with nothing asked."""
    limits = subject.limits
    for asked in (replace(limits, grid=None), PlacementLimits(layouts=limits.layouts, thorough=limits.thorough)):
        if asked == limits:
            continue
        try:
            return [(c.rows, c.cols) for c in find(replace(subject, limits=replace(asked, text="")), target).all]
        except Error:
            continue
    return []


def _front(found: Sequence[Candidate]) -> list[Candidate]:
    front: list[Candidate] = []
    for candidate in found:
        if not front or candidate.busy < front[-1].busy:
            front.append(candidate)
    return front


# ---- blocks ------------------------------------------------------------------------------------------------------------------------------


@record(slots=True)
class Way:
    """A way to compute a step: its rows and columns in tiles, and how operands are had: read several times, held over microbatches, kept
    over columns.
    """

    rows: int
    cols: int
    reread: bool = False
    held: bool = False
    kept: bool = False


def _families(subject: BlockingSubject, rows: int, cols: int) -> Iterator[Sequence[Way]]:
    """Ways by what they have in common, each family best first: of each the first that fits is taken.

    Weights held; all in one step, or the left operand kept while the columns pass; cut along rows, then columns; operands read again.
    """
    op, stream = subject.view.op, subject.limits.stream
    rows_cut = [step for step in divisors(rows) if stream in (None, "r") or step == rows]
    thin = [step for step in divisors(cols)[1:] if stream in (None, "c")]
    whole = op in WHOLE_ROWS
    if op in WITH_WEIGHTS:
        if 1 in subject.weights:
            yield [Way(step, cols, held=True) for step in rows_cut]
        yield [Way(rows, cols), *(Way(rows, step, kept=True) for step in thin)]
    yield [*(Way(step, cols) for step in rows_cut), *(Way(rows_cut[-1], step) for step in thin if not whole)]
    if op in REREADING:
        yield [*(Way(step, cols, reread=True) for step in rows_cut), *(Way(rows_cut[-1], step, reread=True) for step in thin)]


Triple = tuple[int, int, int]


@record
class Fitter:
    """Finds the candidates of one op on one grid after another."""

    subject: BlockingSubject
    target: Target
    costs: Costs
    template: CostTemplate

    def fit(self, layout: GridLayout) -> Sequence[Candidate] | TooLarge:
        """Return candidates in which a core's share fits L1, at most one of each family of ways; the least need if there are none.

        As few steps as fit: rows are cut first, then columns where the op allows it.  An op whose window or whole rows fit in no step
        reads its input several times.
        """
        share = layout.share
        found: list[Candidate] = []
        least: TooLarge | None = None
        for family in _families(self.subject, share[1], share[2]):
            if found and (family[0].reread or not self.subject.limits.thorough or found[-1].blocking.t == share[0]):
                break
            for inner, way in self.tries(family):
                made = self.candidate(layout, way, inner)
                if isinstance(made, Candidate):
                    found.append(self.sooner(layout, way, inner, made) if way.held else made)
                    break
                if least is None or made.need_bytes < least.need_bytes:
                    least = made
        if found:
            return found
        if least is None:
            raise Error("E0901", f"{self.subject.view.op}: no step to try")
        return least

    def sooner(self, layout: GridLayout, way: Way, inner: int, made: Candidate) -> Candidate:
        """Return a candidate whose results come out in more parts and that takes no longer, if there is one.

        A product sums over all of a row before it hands on anything: the fewer rows in a step, the sooner the next op begins.
        """
        if self.subject.limits.stream not in (None, "r"):
            return made
        for step in divisors(way.rows)[:0:-1]:
            found = self.candidate(layout, replace(way, rows=step), inner)
            if isinstance(found, Candidate) and found.first < made.first and found.busy <= made.busy:
                return found
        return made

    def tries(self, family: Sequence[Way]) -> Iterator[tuple[int, Way]]:
        """Yield ways with the tiles of K at a time: all ways with as many as usual, and if none fits, products with fewer and fewer."""
        asked = self.subject.limits.inner
        yield from ((asked or MAX_INNER, way) for way in family)
        if asked is None and self.subject.view.op in WITH_INNER:
            yield from ((inner, way) for inner in SHALLOW for way in family)

    def candidate(self, layout: GridLayout, way: Way, inner: int) -> Candidate | TooLarge:
        """Return the candidate of a way with that much of K at a time, or with more where L1 has room; its need if it does not fit."""
        rows, cols, share = layout.rows, layout.cols, layout.share
        need = self.buffers(share, way, inner)
        if not self.fits(need):
            return TooLarge(rows, cols, sum(b.size_bytes for b in need.buffers), (way.rows, way.cols))
        if inner == MAX_INNER and self.subject.limits.inner is None:
            need = self.deeper(share, way, need)
        ublock = ublock_of(way.rows, way.cols, dst_tiles(self.subject.accumulate, self.target))
        steps = -(-share[1] // way.rows) * -(-share[2] // way.cols)
        blocking = Blocking(share[0] * steps, (way.rows // ublock[0], way.cols // ublock[1]), ublock, spread=layout.spread)
        core = self.costs.core(self.subject.view, Share(*share, ublock, way.reread, need.inner))
        room = {b.role: b.tiles * b.copies for b in need.buffers}
        moved = self.costs.streams(self.template, self.subject.weights, (rows, cols), blocking, need.inner, room)
        sent = self.costs.sent(self.subject.view.result, blocking.tiles, self.subject.readers)
        busy = max(core, int(moved.cycles), int(sent))
        parts = min(blocking.t, GRANULES) if moved.whole else GRANULES
        return Candidate(rows, cols, blocking, tuple(need.buffers), need.inner, core, busy, moved.held_bytes, moved.streamed_bytes, parts)

    def check_inner(self) -> None:
        """Raises E0504 if the tiles of K asked for do not divide K."""
        asked = self.subject.limits.inner
        if asked is None:
            return
        deepest = self.buffers((1, 1, 1), Way(1, 1), 1).inner
        if (
            deepest is None
            or deepest[0] * deepest[1] % asked
            or self.buffers((1, 1, 1), Way(1, 1), asked).inner != (deepest[0] // asked, asked)
        ):
            depth = 0 if deepest is None else deepest[0]
            raise refused_inner(self.subject.view, self.subject.limits, depth)

    def deeper(self, share: Triple, way: Way, usual: Need) -> Need:
        """Return the need with deeper K blocks, if L1 has room for them; a selection that holds all of its source need not read it
        again.
        """
        share_of_l1 = SELECTION_SHARE if self.subject.view.op == "sparse_matmul" else DEEP_SHARE
        for inner in DEEP if usual.inner is not None and usual.inner[0] > 1 else ():
            found = self.buffers(share, way, inner)
            if found.inner == usual.inner:
                break
            if sum(b.size_bytes for b in found.buffers) <= self.target.l1_usable_bytes * share_of_l1:
                return found
        return usual

    def fits(self, need: Need) -> bool:
        return sum(b.size_bytes for b in need.buffers) <= self.target.l1_usable_bytes

    def buffers(self, share: Triple, way: Way, inner: int) -> Need:
        """Return the buffers of a way with at most so many tiles of K at a time."""
        held = frozenset({1}) if way.held else frozenset[int]()
        alignment, columns = self.target.alignment_bytes, (share[0], share[2])
        return fill(Need(self.subject.view, way.rows, way.cols, alignment, way.reread, held, columns, way.kept, inner))


def dst_tiles(accumulate: str, target: Target) -> int:
    """Return tiles of a result that a core accumulates at a time: 32-bit values take the place of two."""
    wide = accumulate in WIDE_ACCUMULATE and target.wide_accumulation
    return max(target.dst_tiles // 2 if wide else target.dst_tiles, 1)


@lru_cache(maxsize=4096)
def ublock_of(rows: int, cols: int, limit: int) -> tuple[int, int]:
    """Return rows and columns of the largest micro block that divides a step and has at most `limit` tiles; the widest of equal ones."""
    wide = ((largest_divisor(rows, limit // cols_), cols_) for cols_ in range(min(cols, limit), 0, -1) if cols % cols_ == 0)
    return max(wide, key=lambda block: (block[0] * block[1], block[1]))
