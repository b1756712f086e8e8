"""Matrix products and convolutions in tiles of AMX: rows of a times packed panels of b, an elementwise region, rows of c.

As `gemm`, but for the inner loops: a block of 32 x 32 sums is four tiles; for each 32 channels, two tiles of rows and two of the panel are
loaded, once for each pair of parts that differs from the one before (see `amx_parts`), and multiplied into the four.  Tiles of rows are
loaded from where the rows lie, if these are rows of parts at one stride, rows of bfloat16 with whole tiles of channels, or in frames of
images (see `amx_frames`); else they are gathered into scratch memory first, tap by tap: other windows, and the last rows where there is no
memory behind them.  Rows of floats that one task meets alone are brought into parts there (`FloatRows`).  The sums go to the first-level
cache, and from there through the region.

Several blocks of rows, a group, stay near while the panels come by, each of which is read once a group; the next one is fetched into the
second-level cache meanwhile.  Where a group's rows are too long for that cache, their channels come in runs: all panels of a span for one
run, then for the next, while the sums wait in scratch memory.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.kernels.amx_exact import ExactOperands, emit_exact
from ttc.runtime.engines.native.kernels.amx_float_rows import FloatRows
from ttc.runtime.engines.native.kernels.amx_frames import CELL_BYTES, CellRows, FrameRows, PlacedRows, Planes
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, row_bytes, step_bytes
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES
from ttc.runtime.engines.native.kernels.amx_sums import LEFT, RIGHT, TileSums
from ttc.runtime.engines.native.kernels.gemm_finish import Finish, Row, emit_fetch, emit_rows
from ttc.runtime.engines.native.kernels.gemm_rows import POINTER_BYTES, AddressTable, DenseRows, GemmRows
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, GROUP, USUAL_GROUP, ProductTask, TileProduct
from ttc.runtime.engines.native.kernels.words import Words, bases_at

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_SUMS_BYTES = BLOCK * PANEL * 4
_RECORD_BYTES, _RECORD_WORDS = 64, ("start", "row", "chunk", "part", "mark")
"""Size and words of the record of a block of a group, in scratch memory: address of its rows' first parts, bytes from row to row, from tile
to tile of the channels and from part to part, and whether it holds numbers that are no sums of parts.
"""


@dataclass(frozen=True)
class AmxGemm(TileProduct):
    """c = region(a b, others...), for every element of a batch of matrices.

    Args:
        parts: of operands; 1: a is bfloat16, its channels side by side; else its rows are those of `amx_pack.SplitRows`, but for
            `FloatRows`, and if they are dense there is memory for BLOCK - 1 more, which is read, too.
        rows: how rows are found.
        region, spread, batch: as `gemm.Gemm`.
        in_runs: whether channels come in runs; of `DenseRows` alone.
        has_room: of dense rows of bfloat16: whether these have whole tiles of channels, and memory for BLOCK - 1 more, which is read, too.

    Tasks: as `TileProduct` has them; in runs always `by_rows`, those at a time that share their rows.  Words: `names`; strides are in
    bytes; `depth`: channels of a tap; `run`: tiles of channels of a run; `span`: panels whose sums wait; b is packed by
    `amx_pack.PackTiles`.  Scratch: `scratch_bytes`.
    """

    parts: int
    rows: GemmRows
    region: Region
    spread: tuple[bool, ...] = ()
    batch: int = 0
    in_runs: bool = False
    has_room: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, *(("run", "span") if self.in_runs else ()))

    def scratch_bytes(self, depth: int, taps: int, gathered: int, waiting: int = 0) -> int:
        """Return the bytes of scratch memory that one thread needs.

        gathered: rows of channels that are copied, or brought into parts, for a group: as many as it has, for each tap, or cells of all
            phases.
        waiting: rows of a panel whose sums wait for the next run of channels.
        """
        pointers = GROUP * POINTER_BYTES * (1 + len(self.spread) + taps)
        copied = gathered * row_bytes(depth, self.parts)
        sums = _SUMS_BYTES + waiting * PANEL * 4
        return sums + GROUP // BLOCK * _RECORD_BYTES + row_bytes(depth, self.parts) + pointers + copied

    def emit_job(self, f: Writer, words: Words) -> None:
        from ttc.runtime.engines.native.ir.tiles import Tiles

        tiles = Tiles(f)
        tiles.configure(self.rows.channels(f, words) if isinstance(self.rows, PlacedRows) else None, LEFT, RIGHT)
        work = _Work(f, words, self, tiles)
        if self.rows.has_borders:
            with f.loop(0, work.row_bytes) as i:
                f.store(f.constant(0, "u8"), f.at(work.table.zeros, i, "u8"))
        if isinstance(self.rows, CellRows):
            self.rows.emit_offsets(f, words, work.table.taps)
        if self.in_runs:
            work.emit_tasks_in_runs()
        else:
            with f.loop(f.begin, f.end) as task:
                work.emit_task(self.task(f, words, task))
        tiles.release()


@dataclass(frozen=True)
class _Run:
    """A run of tiles of channels, and the first panel of the span that it meets."""

    first: Value
    count: Value
    panel: Value


@dataclass(frozen=True)
class _Cells:
    """Cells of a frame in scratch memory: the window of the first one, bytes of a plane, and whether any is marked."""

    first: Value
    plane_bytes: Value
    mark: Value


class _Work:
    """The code of one kernel: what all its tasks know."""

    def __init__(self, f: Writer, words: Words, kernel: AmxGemm, tiles: Tiles) -> None:
        self.f, self.words, self.kernel, self.tiles = f, words, kernel, tiles
        self.parts = kernel.parts
        self.depth, self.taps = words["depth"], words["taps"]
        self.chunks = (self.depth + (DEPTH - 1)) // DEPTH
        self.width_bytes = self.chunks * (DEPTH * 2)
        self.row_bytes = self.width_bytes * self.parts + HEADER_BYTES
        self.header = HEADER_BYTES if self.parts > 1 else 0
        self.step_bytes = step_bytes(self.parts)
        self.panel_bytes = self.taps * self.chunks * self.step_bytes + HEADER_BYTES
        self.ahead = f.variable(f.scratch)
        self.sums = f.scratch
        waiting = words["span"] * words["height"] * (PANEL * 4) if kernel.in_runs else 0
        self.records = f.at(self.sums, waiting + _SUMS_BYTES, "i8")
        zeros = f.at(self.records, GROUP // BLOCK * _RECORD_BYTES, "i8")
        pointers = f.at(zeros, self.row_bytes, "i8")
        places = {name: f.at(pointers, i * GROUP, "ptr") for i, name in enumerate(("c", *kernel.others))}
        taps = f.at(pointers, len(places) * GROUP, "ptr")
        self.table = AddressTable(places, taps, zeros, GROUP)
        self.gathered = f.at(taps, self.taps * GROUP, "ptr")

    def emit_tasks_in_runs(self) -> None:
        """Compute all tasks of the call, those of the same rows together."""
        f, words, panel_chunks = self.f, self.words, self.words["panel_chunks"]
        panels = shares_of(words["panels"], panel_chunks)
        groups = shares_of(words["groups"], words["row_chunks"])
        with f.loop(f.begin // panel_chunks, (f.end + panel_chunks - 1) // panel_chunks) as rows:
            before = rows * panel_chunks
            begin, end = f.larger(f.begin - before, 0), f.smaller(f.end - before, panel_chunks)
            bases = bases_at(f, words, self.kernel.tensors, self.kernel.batch, rows // words["row_chunks"])
            tensors = dict(zip(self.kernel.tensors, bases, strict=True))
            span = (panels.span(begin)[0], panels.span(end)[0])
            with f.loop(*groups.span(rows % words["row_chunks"])) as group:
                self._group(ProductTask(tensors, (group, group + 1), span), group, None)

    def emit_task(self, work: ProductTask) -> None:
        f, words = self.f, self.words
        first_group, last_group = work.groups
        rows = self.kernel.rows
        if not isinstance(rows, FrameRows):
            with f.loop(first_group, last_group) as group:
                self._group(work, group, None)
            return
        with f.loop(first_group, last_group, words["frame_groups"]) as begin:
            end = f.smaller(begin + words["frame_groups"], last_group)
            frame = self._frame(rows, work.bases["a"], begin, end)
            with f.loop(begin, end) as group:
                self._group(work, group, frame)

    def _group(self, task: ProductTask, group: Value, frame: _Cells | None) -> None:
        """A group of rows: where they lie, then panel by panel its blocks.  frame: the cells of the group and its neighbours."""
        f, height = self.f, self.words["height"]
        first = group * height
        count = f.smaller(self.words["rows"] - first, height)
        rows = self.kernel.rows
        rows.emit(f, self.words, task.bases, (first, count), self.table)
        if isinstance(rows, FloatRows):
            rows.emit_parts(f, self.words, task.bases["a"], (first, count), self.parts, (self.gathered, self.row_bytes))
        with f.loop(0, count, BLOCK) as start:
            if frame is None:
                self._prepare(task.bases["a"], first, start, f.smaller(count - start, BLOCK))
            else:
                self._find(frame, first, start)
        if not self.kernel.in_runs:
            with f.loop(*task.panels) as panel:
                self._panel(task, (first, count), panel, (panel + 1) * self.panel_bytes)
            return
        first_panel, last_panel = task.panels
        with f.loop(first_panel, last_panel, self.words["span"]) as begin:
            end = f.smaller(begin + self.words["span"], last_panel)
            with f.loop(0, self.chunks, self.words["run"]) as tile:
                run = _Run(tile, f.smaller(self.chunks - tile, self.words["run"]), begin)
                with f.loop(begin, end) as panel:
                    next_panel = (panel + 1) * self.panel_bytes + tile * self.step_bytes
                    next_run = begin * self.panel_bytes + (tile + run.count) * self.step_bytes
                    self._panel(task, (first, count), panel, f.select(panel + 1 < end, next_panel, next_run), run)

    def _panel(self, task: ProductTask, rows: tuple[Value, Value], panel: Value, ahead: Value, run: _Run | None = None) -> None:
        """The blocks of a group, so many rows from a first one on, by a panel.  ahead: bytes of the panels before what is needed next."""
        f, (first, count) = self.f, rows
        self.ahead.set(f.at(task.bases["b"], ahead, "i8"))
        with f.loop(0, count, BLOCK) as start:
            with f.when(start.equals(USUAL_GROUP)):  # what is needed next has been fetched
                self.ahead.set(f.at(task.bases["b"], panel * self.panel_bytes, "i8"))
            self._block(task.bases, first, (start, f.smaller(count - start, BLOCK)), panel, run)

    def _left(self, base: Value, first: Value, tap: Value, r: Value) -> Value:
        """Address of row r of the group at a tap."""
        if isinstance(self.kernel.rows, FloatRows):
            return self.f.at(self.gathered, r * self.row_bytes, "i8")
        return self.kernel.rows.left_row(self.f, self.words, base, first, self.table, tap, r)

    # ---- blocks of rows ------------------------------------------------------------------------------------------------------------------

    def _frame(self, rows: FrameRows, base: Value, begin: Value, end: Value) -> _Cells:
        """Copy the cells of groups [begin, end)."""
        f, words = self.f, self.words
        first = begin * words["height"]
        count = f.smaller(words["rows"], end * words["height"]) - first
        plane_bytes = words["y_phases"] * words["x_phases"] * words["cells"] * CELL_BYTES
        planes = Planes(self.gathered, plane_bytes, self.parts)
        return _Cells(first, plane_bytes, f.converted(rows.emit_frame(f, words, base, (first, count), planes), "i64"))

    def _find(self, frame: _Cells, first: Value, start: Value) -> None:
        """Note where the tiles of a block of rows are among cells."""
        f = self.f
        record = f.at(self.records, start * (_RECORD_BYTES // BLOCK), "i8")
        cells = f.at(self.gathered, (first + start - frame.first) * CELL_BYTES, "i8")
        step = frame.plane_bytes * self.parts
        self._note(record, (cells, f.constant(CELL_BYTES, "i64"), step, frame.plane_bytes), frame.mark)

    def _prepare(self, base: Value, first: Value, start: Value, count: Value) -> None:
        """Find or make the tiles of a block of rows, and note where they are."""
        f = self.f
        record = f.at(self.records, start * (_RECORD_BYTES // BLOCK), "i8")
        tiles = f.at(self.gathered, start * self.taps * (self.width_bytes * self.parts), "i8")
        mark = self._mark(base, first, start, count) if self.parts > 1 else f.constant(0, "i64")
        gathered = (tiles, f.constant(64, "i64"), f.constant(self.parts * BLOCK * 64, "i64"), f.constant(BLOCK * 64, "i64"))
        if isinstance(self.kernel.rows, PlacedRows):
            cells = self._left(base, first, f.constant(0, "i64"), start)
            self._note(record, (cells, self.words["a_x"], f.constant(CELL_BYTES, "i64"), self.width_bytes), mark)
            return
        if not isinstance(self.kernel.rows, DenseRows):
            self._gather(base, first, (start, count), tiles)
            self._note(record, gathered, mark)
            return
        rows = f.at(self._left(base, first, f.constant(0, "i64"), start), self.header, "i8")
        step = self.row_bytes if isinstance(self.kernel.rows, FloatRows) else self.words["a_row"]
        there = (rows, step, f.constant(64, "i64"), self.width_bytes)
        if self.parts > 1 or self.kernel.has_room:
            self._note(record, there, mark)
            return
        with f.choice(count.equals(BLOCK) & (self.depth % DEPTH).equals(0)) as (direct, elsewhere):
            with direct:
                self._note(record, there, mark)
            with elsewhere:
                self._gather(base, first, (start, count), tiles)
                self._note(record, gathered, mark)

    def _note(self, record: Value, places: tuple[Value, Value, Value, Value], mark: Value) -> None:
        for i, value in enumerate((*places, mark)):
            self.f.store(value, self.f.at(record, i, "i64"))

    def _mark(self, base: Value, first: Value, start: Value, count: Value) -> Value:
        """Return whether any row of a block is marked, at any tap."""
        f = self.f
        found = f.variable(f.constant(0, "u32"))
        with f.loop(0, self.taps) as tap, f.loop(0, count) as r:
            found.set(found.get() | f.load(self._left(base, first, tap, start + r), "u32"))
        return f.converted(found.get(), "i64")

    def _gather(self, base: Value, first: Value, span: tuple[Value, Value], tiles: Value) -> None:
        """Copy the rows of a block into tiles: for each tap, each 32 channels and each part, 32 rows of 64 bytes."""
        f, (start, count) = self.f, span
        with f.loop(0, self.taps) as tap, f.loop(0, self.chunks) as chunk:
            target = f.at(tiles, (tap * self.chunks + chunk) * (self.parts * BLOCK * 64), "i8")
            mask = f.mask(self.depth - chunk * DEPTH, DEPTH) if self.parts == 1 else None
            with f.loop(0, count) as r:
                row = f.at(self._left(base, first, tap, start + r), chunk * 64 + self.header, "i8")
                for p in range(self.parts):
                    found = f.load(f.at(row, self.width_bytes * p, "i8"), "u16", DEPTH, mask)
                    f.store(found, f.at(target, r * 64 + p * BLOCK * 64, "i8"))
            with f.loop(count, BLOCK) as r:
                for p in range(self.parts):
                    f.store(f.constant(0, "u16", DEPTH), f.at(target, r * 64 + p * BLOCK * 64, "i8"))

    # ---- blocks of sums ------------------------------------------------------------------------------------------------------------------

    def _block(self, bases: dict[str, Value], first: Value, span: tuple[Value, Value], panel: Value, run: _Run | None) -> None:
        """One block of c: sums, then, after the last channel, the region."""
        f, (start, count) = self.f, span
        record = f.at(self.records, start * (_RECORD_BYTES // BLOCK), "i8")
        right = f.at(bases["b"], panel * self.panel_bytes, "i8")
        finish = Finish(self.kernel.region, self.kernel.spread, PANEL, min(f.lanes, PANEL))
        sums = self.sums if run is None else f.at(self.sums, ((panel - run.panel) * self.words["height"] + start) * PANEL, "f32")
        columns = self.words["columns"] - panel * PANEL
        with self._after_all(run), f.loop(0, count) as r:
            emit_fetch(f, finish, self._places(start + r), panel * PANEL, 3)
        if self.parts == 1:
            self._multiply(record, right, (count, columns), sums, run)
        else:
            mark = f.load(f.at(record, _RECORD_WORDS.index("mark"), "i64"), "i64") | f.converted(f.load(right, "u32"), "i64")
            with f.choice(mark.equals(0)) as (usual, wild):
                with usual:
                    self._multiply(record, right, (count, columns), sums, run)
                with wild, self._after_all(run):
                    left = ExactOperands(
                        lambda tap, r: self._left(bases["a"], first, tap, start + r), right, self.taps, self.depth, self.parts
                    )
                    emit_exact(f, left, count, sums)
        with self._after_all(run):
            emit_rows(f, finish, sums, lambda r: self._row(start + r), count, (panel * PANEL, self.words["columns"]))

    def _after_all(self, run: _Run | None) -> AbstractContextManager[object]:
        """Return the place of what is done once for a block: with its last run of channels."""
        return nullcontext() if run is None else self.f.when((run.first + run.count).equals(self.chunks))

    def _places(self, r: Value) -> dict[str, Value]:
        """Addresses of row r of the group in the result and in the region's further tensors."""
        f = self.f
        return {name: f.load(f.at(address, r, "ptr"), "ptr") for name, address in self.table.tensors.items()}

    def _row(self, r: Value) -> Row:
        """Where row r of the group goes."""
        places = self._places(r)
        return Row(places, self.f.as_integer(places["c"]).differs(0) if isinstance(self.kernel.rows, CellRows) else None)

    def _multiply(self, record: Value, panel: Value, size: tuple[Value, Value], sums: Value, run: _Run | None) -> None:
        """The sums of a block of so many rows and columns in tiles, and from there to memory."""
        f, (count, columns) = self.f, size
        with f.choice(columns > PANEL // 2) as (wide, narrow):
            for width, across in ((wide, 2), (narrow, 1)):
                with width, f.choice(count > BLOCK // 2) as (both, upper):
                    for height, down in ((both, 2), (upper, 1)):
                        with height:
                            self._sum(record, panel, TileSums(self.tiles, self.parts, sums, (down, across)), run)

    def _sum(self, record: Value, panel: Value, sums: TileSums, run: _Run | None) -> None:
        """The sums of a block of so many tiles."""
        f = self.f
        row, chunk, part = (f.load(f.at(record, _RECORD_WORDS.index(name), "i64"), "i64") for name in ("row", "chunk", "part"))
        start, right = f.load(record, "ptr"), f.at(panel, HEADER_BYTES, "i8")
        if run is None:
            sums.clear()
        else:
            start, right = f.at(start, run.first * chunk, "i8"), f.at(right, run.first * self.step_bytes, "i8")
            with f.choice(run.first.equals(0)) as (new, waiting):
                with new:
                    sums.clear()
                with waiting:
                    sums.load(f)
        a, b = f.variable(start), f.variable(right)

        def emit_steps(count: Value) -> None:
            with f.loop(0, count):
                self.ahead.set(sums.emit_step(f, (a.get(), b.get()), (row, part), self.ahead.get()))
                a.set(f.at(a.get(), chunk, "i8"))
                b.set(f.at(b.get(), self.step_bytes, "i8"))

        if isinstance(self.kernel.rows, CellRows):
            with f.loop(0, self.taps) as tap:
                a.set(f.at(start, f.load(f.at(self.table.taps, tap, "i64"), "i64"), "i8"))
                emit_steps(self.chunks)
        else:
            emit_steps(self.taps * self.chunks if run is None else run.count)
        sums.store(f)
