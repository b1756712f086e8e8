"""Scaled dot-product attention, by blocks of keys: scores are never held for more than a few rows and one block.

A task is a range of query rows of one head.  For each block of keys it packs the keys, transposed, and the values into panels, and then
takes a group of rows at a time: scores, their largest, their exponentials, and these times the values.  What earlier blocks summed up is
scaled to the largest score so far, as in Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), and Dao et al.,
"FlashAttention" (2022).  The division by the sum of a row comes last, once a row.

Keys behind the last vector of those that the mask leaves to any row of a task are not looked at: of a cache, the filled part alone is.

Special values come out as from the formula, but for those of such keys: a score that is NaN or +inf makes its row NaN, through the sum of
exponentials; a row whose scores are all -inf has the sum 0, and is NaN or, with `zero_masked`, 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.amx_block import SIZE, emit_tile_block
from ttc.runtime.engines.native.kernels.gemm_block import Block, Multiplier, Operands, emit_block
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.optional_tiles import optional_tiles
from ttc.runtime.engines.native.kernels.packing import ROWS, PackColumns, PackRows
from ttc.runtime.engines.native.kernels.vectors import vectors_of
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_GROUP = 24
"""Query rows whose scores are held at a time, at least: their scores and one panel of keys lie in the first-level cache."""
_LEAST_EXPONENT = -87.0
"""A number whose exponential is not denormal; those of lower ones are taken for 0."""
_SIZES = ("rows", "keys", "depth", "columns", "chunks", "key_block", "scale")
_PLACES = ("values", "queries", "scores", "sums", "tile", "top", "total", "factor", "share")
"""Parts of the scratch memory, behind the packed keys."""


@dataclass(frozen=True)
class Attention(JobKernel):
    """The kernel of attention: y = softmax(q k^T * scale + mask) v for every element of a batch.

    Args:
        scores, sums: blocks of both products: of rows by keys, and of rows by columns of v.
        q, k, v, y: element types.
        mask: that of the mask, if there is one.
        zero_masked: rows whose scores are all -inf give 0 instead of NaN.
        batch: dimensions of the batch.
        multiplier: how elements are multiplied; bf16 needs an even depth, but for tiles.
        tiles: whether products are those of AMX; blocks have `amx_block.SIZE` rows and columns, and the multiplier is bf16.
        gives_sums: whether ln sum exp(scores) of each row is written, too, as float32 [..., rows, 1]; with `zero_masked`, 0 where all
            scores are -inf.

    Tasks: (element of the batch, chunk of rows), the latter faster.  Words: `names`; strides in bytes, the last dimension of each tensor
    is dense, `key_block` a multiple of the columns of `scores`, `at_*` offsets into scratch memory (`places`).
    """

    scores: Block
    sums: Block
    q: Storage
    k: Storage
    v: Storage
    y: Storage
    mask: Storage | None = None
    zero_masked: bool = False
    batch: int = 0
    multiplier: Multiplier = "f32"
    tiles: bool = False
    gives_sums: bool = False

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of what a job reads and writes."""
        return ("q", "k", "v", "y", *(["mask"] if self.mask is not None else []), *(["log_sums"] if self.gives_sums else []))

    @property
    def names(self) -> tuple[str, ...]:
        rows, places = (f"{name}_row" for name in self.tensors), (f"at_{name}" for name in _PLACES)
        return (*_SIZES, *self.tensors, *rows, *places, *batch_names(self.tensors, self.batch))

    @property
    def group(self) -> int:
        """The rows that are computed at a time."""
        return -(-_GROUP // self.scores.rows) * self.scores.rows

    @property
    def unit(self) -> int:
        """The number of whose multiples channels are multiplied: zeros stand for those that are missing."""
        if self.tiles:
            return SIZE
        return 1 if self.multiplier == "f32" else 2

    def places(self, depth: int, columns: int, key_block: int, rows: int) -> tuple[dict[str, int], int]:
        """Return offsets in scratch memory by the words' names, and its size in bytes.  rows: the most of a task."""
        width = self.sums.panels(columns) * self.sums.columns
        floats = {
            "keys": key_block * -(-depth // self.unit) * self.unit,
            "values": key_block * width,
            "queries": self.group * _query_stride(depth),
            "scores": (self.group + self.sums.rows) * _score_stride(key_block),
            "sums": rows * width,
            "tile": self.sums.rows * self.sums.columns,
            **dict.fromkeys(("top", "total", "factor", "share"), rows),
        }
        found: dict[str, int] = {}
        end = 0
        for name, count in floats.items():
            found[f"at_{name}"] = end
            end += -(-count * 4 // ALIGNMENT) * ALIGNMENT
        return {name: place for name, place in found.items() if name != "at_keys"}, end

    def emit_job(self, f: Writer, words: Words) -> None:
        with optional_tiles(f, self.tiles) as tiles:
            _Attend(f, words, self, tiles).tasks()


def _query_stride(depth: int) -> int:
    """Float32 from one row of queries to the next."""
    return -(-depth // 16) * 16


def _score_stride(key_block: int) -> int:
    """Float32 from one row of scores to the next: no power of two, whose rows would meet in few sets of the cache."""
    return key_block + 16


class _Attend:
    """The code of one kernel."""

    def __init__(self, f: Writer, words: Words, spec: Attention, tiles: Tiles | None) -> None:
        self.f, self.words, self.spec, self.tiles = f, words, spec, tiles
        self.rows, self.keys, self.depth, self.columns = (words[name] for name in _SIZES[:4])
        self.lanes = spec.scores.lanes
        self.packed_keys = f.scratch
        self.values, self.queries, self.scores, self.sums, self.tile, self.top, self.total, self.factor, self.share = (
            f.at(f.scratch, words[f"at_{name}"], "i8") for name in _PLACES
        )
        self.key_block = words["key_block"]
        self.query_stride = (self.depth + 15) // 16 * 16
        self.score_stride = self.key_block + 16
        self.width = (self.columns + (spec.sums.columns - 1)) // spec.sums.columns * spec.sums.columns

    def tasks(self) -> None:
        f, words = self.f, self.words
        with f.loop(f.begin, f.end) as task:
            chunks = words["chunks"]
            tensors = self.spec.tensors
            bases = dict(zip(tensors, bases_at(f, words, tensors, self.spec.batch, task // chunks), strict=True))
            chunk = task % chunks
            first, last = chunk * self.rows // chunks, (chunk + 1) * self.rows // chunks
            if self.spec.mask is not None:
                self.keys = self._seen(bases["mask"], first, last)
            with f.loop(0, self.keys, self.key_block) as key:
                count = f.smaller(self.keys - key, self.key_block)
                self._pack(bases, key, count)
                with f.loop(first, last, self.spec.group) as row:
                    self._group(bases, (first, row, f.smaller(last - row, self.spec.group)), key, count)
            if self.spec.gives_sums:
                self._give_sums(bases["log_sums"], first, last)

    def _seen(self, mask: Value, first: Value, last: Value) -> Value:
        """Return how many keys there are up to the last vector that the mask does not keep from all rows of a task; at least one."""
        f, storage = self.f, self.spec.mask or "f32"
        all_keys, low = self.words["keys"], f.constant(-inf, "f32", self.lanes)
        seen, zero, one = f.variable(f.constant(1, "i64")), f.constant(0.0, "f32", self.lanes), f.constant(1.0, "f32", self.lanes)
        with f.loop(first, last) as row:
            line = f.at(mask, row * self.words["mask_row"], "i8")
            for key, inside in vectors_of(f, all_keys, self.lanes):
                found = f.read(f.at(line, key, storage), storage, self.lanes, inside)
                count = f.select(found.equals(low), zero, one)
                count = count if inside is None else f.select(inside, count, zero)
                end = f.select(f.folded("larger", count).equals(0.0), seen.get(), key + self.lanes)
                seen.set(f.larger(seen.get(), end))
        return f.smaller(seen.get(), all_keys)

    # ---- operands of the products --------------------------------------------------------------------------------------------------------

    def _pack(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        """A block of keys and values in panels."""
        f, words, spec = self.f, self.words, self.spec
        keys = PackColumns(spec.scores.columns, spec.scores.lanes, spec.k, spec.multiplier)
        sizes = {"depth": self._padded(self.depth), "columns": count, "line": words["k_row"]}
        with f.loop(0, (count + (spec.scores.columns - 1)) // spec.scores.columns) as panel:
            keys.emit_task(f, sizes, panel, f.at(bases["k"], key * words["k_row"], "i8"), self.packed_keys, self.depth)
        values = PackRows(spec.sums.columns, spec.sums.lanes, spec.v, spec.multiplier)
        sizes = {"depth": self._padded(count), "columns": self.columns, "line": words["v_row"]}
        with f.loop(0, (count + (ROWS - 1)) // ROWS) as part:
            values.emit_task(f, sizes, part, f.at(bases["v"], key * words["v_row"], "i8"), self.values, count)

    def _group(self, bases: dict[str, Value], span: tuple[Value, Value, Value], key: Value, keys: Value) -> None:
        """Some rows of a task, at `row`, against one block of keys.  span: first row of the task, row, rows."""
        f = self.f
        first, row, count = span
        self._queries(f.at(bases["q"], row * self.words["q_row"], "i8"), count)
        self._scores(count, keys)
        state = row - first
        with f.loop(0, count) as r:
            mask = None
            if self.spec.mask is not None:
                mask = f.at(f.at(bases["mask"], (row + r) * self.words["mask_row"], "i8"), key, self.spec.mask)
            self._largest(f.at(self.scores, r * self.score_stride, "f32"), mask, keys, state + r, key)
        with f.loop(0, count) as r:
            self._exponentials(f.at(self.scores, r * self.score_stride, "f32"), keys, state + r)
        self._sums(f.at(bases["y"], row * self.words["y_row"], "i8"), (state, count), key, keys)

    def _queries(self, source: Value, count: Value) -> None:
        """Rows of queries as the product reads them; in float32 they are scaled now."""
        f, spec = self.f, self.spec
        scale = f.spread(f.load(f.at(f.words, spec.names.index("scale"), "i64"), "f32"), self.lanes)
        with f.loop(0, count) as r:
            x, target = f.at(source, r * self.words["q_row"], "i8"), f.at(self.queries, r * self.query_stride, "f32")
            for i, inside in vectors_of(f, self.depth, self.lanes):
                found = f.read(f.at(x, i, spec.q), spec.q, self.lanes, inside)
                if spec.multiplier == "f32":
                    f.store(found * scale, f.at(target, i, "f32"))
                else:
                    f.write(found, f.at(target, i, "bf16"), "bf16")
            self._fill(target, self.depth)

    def _fill(self, row: Value, count: Value) -> None:
        """Fill a row of bfloat16, of so many elements and zeros up to a whole vector, with zeros up to whole tiles."""
        if not self.spec.tiles:
            return
        f = self.f
        with f.loop((count + (self.lanes - 1)) // self.lanes * self.lanes, self._padded(count), self.lanes) as i:
            f.store(f.constant(0, "u16", self.lanes), f.at(row, i, "u16"))

    # ---- both products -------------------------------------------------------------------------------------------------------------------

    def _scores(self, count: Value, keys: Value) -> None:
        """Products of queries and keys; more rows and keys than there are, up to whole blocks, are computed and never looked at."""
        f, block = self.f, self.spec.scores
        depth = self._channels(self.depth)
        with f.loop(0, keys, block.columns) as column, f.loop(0, count, block.rows) as row:
            left = f.at(self.queries, row * self.query_stride, "f32")
            target = f.at(f.at(self.scores, row * self.score_stride, "f32"), column, "f32")
            panel = f.at(self.packed_keys, column * depth, "f32")
            self._block(block, (left, self.query_stride), (panel, depth), (target, self.score_stride))

    def _sums(self, y: Value, span: tuple[Value, Value], key: Value, keys: Value) -> None:
        """Products of exponentials and values, added to those of earlier blocks of keys."""
        f, block = self.f, self.spec.sums
        state, count = span
        depth = self._channels(keys)
        with f.loop(0, self.columns, block.columns) as column, f.loop(0, count, block.rows) as row:
            left = f.at(self.scores, row * self.score_stride, "f32")
            panel = f.at(self.values, column * depth, "f32")
            self._block(block, (left, self.score_stride), (panel, depth), (self.tile, f.constant(block.columns, "i64")))
            with f.loop(0, f.smaller(count - row, block.rows)) as r:
                self._add(
                    f.at(self.tile, r * block.columns, "f32"), f.at(y, (row + r) * self.words["y_row"], "i8"), state + row + r, column, key
                )

    def _add(self, sums: Value, y: Value, state: Value, column: Value, key: Value) -> None:
        """A row of sums in the tile: with what earlier blocks of keys summed up, the row of the result, or for the next block to go on."""
        f, block, spec = self.f, self.spec.sums, self.spec
        kept = f.at(f.at(self.sums, state * self.width, "f32"), column, "f32")
        with f.when(key.differs(0)):
            factor = f.load(f.at(self.factor, state, "f32"), "f32")
            for v in range(0, block.columns, block.lanes):
                place = f.at(sums, v, "f32")
                f.store(f.fma(f.load(f.at(kept, v, "f32"), "f32", block.lanes), factor, f.load(place, "f32", block.lanes)), place)
        with f.choice(key + self.key_block >= self.keys) as (last, more):
            with last:
                share = f.spread(f.load(f.at(self.share, state, "f32"), "f32"), block.lanes)
                for v, inside in vectors_of(f, f.smaller(self.columns - column, block.columns), self.lanes):
                    found = f.load(f.at(sums, v, "f32"), "f32", block.lanes) * share
                    f.write(found, f.at(y, column + v, spec.y), spec.y, inside)
            with more:
                for v in range(0, block.columns, block.lanes):
                    f.store(f.load(f.at(sums, v, "f32"), "f32", block.lanes), f.at(kept, v, "f32"))

    def _channels(self, count: Value) -> Value:
        """Return steps of a product over so many channels; where they come in pairs, a last one without another has a zero beside it."""
        return count if self.spec.multiplier == "f32" else self._padded(count) // 2

    def _padded(self, count: Value) -> Value:
        unit = self.spec.unit
        return count if unit == 1 else (count + (unit - 1)) // unit * unit

    def _block(self, block: Block, left: tuple[Value, Value], right: tuple[Value, Value], target: tuple[Value, Value]) -> None:
        """Products of one block, stored.  left, target: first row, and float32 from row to row.  right: a panel, and its rows."""
        f = self.f
        (start, stride), (panel, depth), (place, place_stride) = left, right, target
        if self.tiles is not None:
            emit_tile_block(f, self.tiles, (start, stride * 4), panel, depth * 2, (place, place_stride * 4))
            return
        rows = [f.at(start, stride * r, "f32") for r in range(block.rows)]
        operands = Operands(lambda _: rows, panel, f.constant(1, "i64"), depth)
        for r, sums in enumerate(emit_block(f, block, block.rows, operands, self.spec.multiplier)):
            for v, total in enumerate(sums):
                f.store(total, f.at(f.at(place, place_stride * r, "f32"), v * block.lanes, "f32"))

    # ---- softmax -------------------------------------------------------------------------------------------------------------------------

    def _largest(self, row: Value, mask: Value | None, keys: Value, state: Value, key: Value) -> None:
        """Mask a row of scores, fill it up with -inf, and take the largest one into account; NaN does not count."""
        f = self.f
        low = f.constant(-inf, "f32", self.lanes)
        best = f.variable(low)
        for i, inside in vectors_of(f, keys, self.lanes):
            place = f.at(row, i, "f32")
            found = self._masked(place, mask, i, inside)
            found = found if inside is None else f.select(inside, found, low)
            if inside is not None or mask is not None or self.spec.multiplier == "bf16":
                f.store(found, place)
            best.set(f.larger(found, best.get()))
        top = f.variable(f.folded("larger", best.get()))
        places = [f.at(x, state, "f32") for x in (self.top, self.factor, self.total)]
        with f.choice(key.equals(0)) as (first, later):
            with first:
                f.store(f.constant(0.0, "f32"), places[2])
            with later:
                before = f.load(places[0], "f32")
                top.set(f.larger(top.get(), before))
                factor = f.exp(before - self._base(top.get()))
                f.store(factor, places[1])
                f.store(f.load(places[2], "f32") * factor, places[2])
        f.store(top.get(), places[0])

    def _masked(self, place: Value, mask: Value | None, column: Value, inside: Value | None) -> Value:
        """Return a vector of scores, scaled, plus the mask."""
        f, spec = self.f, self.spec
        found = f.load(place, "f32", self.lanes)
        if spec.multiplier == "bf16":
            found = found * f.load(f.at(f.words, spec.names.index("scale"), "i64"), "f32")
        if mask is None or spec.mask is None:
            return found
        return found + f.read(f.at(mask, column, spec.mask), spec.mask, self.lanes, inside)

    def _base(self, top: Value) -> Value:
        """Return what is subtracted from scores: where all are -inf, nothing."""
        return self.f.select(top.equals(-inf), 0.0, top)

    def _share_of(self, x: Value) -> Value:
        """Return e^x for x <= 0, and 0 instead of denormals: they add nothing to a sum of at least 1, and some CPUs take ten times as long
        for them.
        """
        f = self.f
        tiny = x < _LEAST_EXPONENT
        return f.select(tiny, 0.0, f.exp(f.select(tiny, 0.0, x)))

    def _exponentials(self, row: Value, keys: Value, state: Value) -> None:
        """exp(scores - the largest one) in place of the scores, and their sum."""
        f = self.f
        base = f.spread(self._base(f.load(f.at(self.top, state, "f32"), "f32")), self.lanes)
        total = f.variable(f.constant(0.0, "f32", self.lanes))
        storage = self.spec.multiplier
        with f.loop(0, keys, self.lanes) as i:
            found = self._share_of(f.load(f.at(row, i, "f32"), "f32", self.lanes) - base)
            f.write(found, f.at(row, i, storage), storage)
            total.set(total.get() + found)
        self._fill(row, keys)
        place = f.at(self.total, state, "f32")
        whole = f.load(place, "f32") + f.folded("add", total.get())
        f.store(whole, place)
        safe = f.select(whole.equals(0.0), 1.0, whole) if self.spec.zero_masked else whole
        f.store(1.0 / safe, f.at(self.share, state, "f32"))

    def _give_sums(self, target: Value, first: Value, last: Value) -> None:
        """Write ln sum exp of the scores of all rows of a task."""
        f = self.f
        with f.loop(0, last - first) as state:
            top, total = (f.load(f.at(place, state, "f32"), "f32") for place in (self.top, self.total))
            found = f.select(total.equals(0.0), 0.0 if self.spec.zero_masked else nan, top + f.log(total))
            f.store(found, f.at(target, (first + state) * self.words["log_sums_row"], "i8"))
