"""Gradient of attention, by blocks of keys and groups of queries: scores are computed again, and never held for more than one such part.

A task is a range of keys of one head.  For each block of keys it packs keys and values into panels, and then goes through the queries, a
group of rows at a time: scores and their probabilities p, by the logarithms of the sums that the forward part kept; their cotangents
r = p (dy v^T - sum(dy y)); and what both give to the cotangents of values, p^T dy, of keys, r^T q, and of queries, r k.  Those of a block's
keys and values lie in scratch memory until all queries were seen.  Those of queries are summed up in memory of the task's own, and by
`QuerySums` over tasks in their order, so that each run gives the same bits.  See Dao, "FlashAttention-2" (2023).

A group of queries whose scores the mask sets to -inf for a whole block of keys is passed over: special values among these keys do not
matter to it, unless the sums of its rows are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.attention_gradient_base import LEAST_EXPONENT, GradientCode, GradientKernel
from ttc.runtime.engines.native.kernels.gemm_block import Block, Operands, emit_block
from ttc.runtime.engines.native.kernels.packing import ROWS, PackColumns, PackRows
from ttc.runtime.engines.native.kernels.vectors import vectors_of
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_SPARE = 16
"""Rows and columns behind those of a block or group, which blocks of other heights reach into."""


@dataclass(frozen=True, kw_only=True)
class AttentionGradient(GradientKernel):
    """The kernel of attention's gradient in float32.

    Args:
        scores: block of the products that give scores and their cotangents: rows by keys.
        by_depth, by_columns: blocks of the products that give cotangents of queries and keys, and of values.

    `key_block` is a multiple of the columns of `scores`.  partial[padded rows, width] of a chunk has whole groups of rows and whole panels
    of `by_depth`.
    """

    GROUP: ClassVar = 48
    PLACES: ClassVar = (
        *("packed_keys", "packed_values", "key_rows", "queries", "query_rows", "cotangents", "cotangent_rows"),
        *("scores", "of_scores", "of_keys", "of_values", "sums", "common"),
    )

    scores: Block
    by_depth: Block
    by_columns: Block

    def partial_shape(self, rows: int, depth: int) -> tuple[int, int]:
        return -(-rows // self.GROUP) * self.GROUP, self.by_depth.panels(depth) * self.by_depth.columns

    def parts(self, rows: int, depth: int, columns: int, key_block: int) -> dict[str, int]:
        group, held = self.GROUP, key_block + _SPARE
        wide, broad = self.partial_shape(rows, depth)[1], self.by_columns.panels(columns) * self.by_columns.columns
        return {
            "packed_keys": key_block * depth,
            "packed_values": key_block * columns,
            "key_rows": key_block * wide,
            "queries": group * (-(-depth // 16) * 16),
            "query_rows": group * wide,
            "cotangents": group * (-(-columns // 16) * 16),
            "cotangent_rows": group * broad,
            "scores": group * held,
            "of_scores": group * held,
            "of_keys": held * wide,
            "of_values": held * broad,
            "sums": group,
            "common": group,
        }

    def emit_job(self, f: Writer, words: Words) -> None:
        _Differentiate(f, words, self).tasks()


class _Differentiate(GradientCode):
    """The code of one kernel."""

    def __init__(self, f: Writer, words: Words, spec: AttentionGradient) -> None:
        super().__init__(f, words, spec, spec.scores.lanes)
        self.spec = spec
        places = self.places
        self.packed_keys, self.packed_values, self.key_rows = (places[name] for name in ("packed_keys", "packed_values", "key_rows"))
        self.queries, self.query_rows = places["queries"], places["query_rows"]
        self.cotangents, self.cotangent_rows = places["cotangents"], places["cotangent_rows"]
        self.scores, self.of_scores = places["scores"], places["of_scores"]
        self.of_keys, self.of_values = places["of_keys"], places["of_values"]
        self.sums, self.common = places["sums"], places["common"]
        self.held = self.key_block + _SPARE
        self.wide, self.broad = self.whole(self.depth, spec.by_depth.columns), self.whole(self.columns, spec.by_columns.columns)
        self.query_stride, self.cotangent_stride = self.whole(self.depth, 16), self.whole(self.columns, 16)

    def partial_floats(self) -> Value:
        return self.whole(self.rows, self.spec.GROUP) * self.wide

    def prepare(self, bases: dict[str, Value]) -> None:
        """Do nothing: queries are loaded group by group."""

    def begin(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        self._pack(bases, key, count)
        self.clear(self.of_keys, self.held * self.wide)
        self.clear(self.of_values, self.held * self.broad)

    def end(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        self.give("dk", bases, (key, count), (self.of_keys, self.wide, self.depth))
        self.give("dv", bases, (key, count), (self.of_values, self.broad, self.columns))

    def group(self, bases: dict[str, Value], rows: tuple[Value, Value], keys: tuple[Value, Value]) -> None:
        f, spec, words = self.f, self.spec, self.words
        (row, count), (key, width) = rows, keys
        self._load(bases, row, count)
        self._products((self.queries, self.query_stride), (self.packed_keys, self.depth), self.scores, (count, width))
        left = self.cotangents, self.cotangent_stride
        self._products(left, (self.packed_values, self.columns), self.of_scores, (count, width))
        with f.loop(0, count) as r:
            mask = None
            if spec.mask is not None:
                mask = f.at(f.at(bases["mask"], (row + r) * words["mask_row"], "i8"), key, spec.mask)
            self._probabilities(r, mask, width)
        self._add(spec.by_columns, (self.scores, None, self.held), (self.cotangent_rows, count), (self.of_values, self.broad), width)
        self._add(spec.by_depth, (self.of_scores, None, self.held), (self.query_rows, count), (self.of_keys, self.wide), width)
        target = f.at(bases["partial"], row * words["partial_row"], "i8")
        self._add(spec.by_depth, (self.of_scores, self.held, None), (self.key_rows, width), (target, self.wide), count)

    # ---- operands of the products --------------------------------------------------------------------------------------------------------

    def _pack(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        """A block of keys and values in panels: both by columns, keys by rows, too."""
        f, words, spec = self.f, self.words, self.spec
        for name, depth, target in (("k", self.depth, self.packed_keys), ("v", self.columns, self.packed_values)):
            source = f.at(bases[name], key * words[f"{name}_row"], "i8")
            pack = PackColumns(spec.scores.columns, self.lanes, getattr(spec, name))
            sizes = {"depth": depth, "columns": count, "line": words[f"{name}_row"]}
            with f.loop(0, self.parts(count, spec.scores.columns)) as panel:
                pack.emit_task(f, sizes, panel, source, target)
        source = f.at(bases["k"], key * words["k_row"], "i8")
        self._pack_rows(spec.by_depth, spec.k, (source, words["k_row"]), (count, self.depth), self.key_rows)

    def _pack_rows(self, block: Block, storage: Storage, source: tuple[Value, Value], sizes: tuple[Value, Value], target: Value) -> None:
        """Rows in panels.  source: the first row, and bytes from row to row.  sizes: rows, and their elements."""
        f = self.f
        pack = PackRows(block.columns, block.lanes, storage)
        words = {"depth": sizes[0], "columns": sizes[1], "line": source[1]}
        with f.loop(0, self.parts(sizes[0], ROWS)) as part:
            pack.emit_task(f, words, part, source[0], target)

    def _load(self, bases: dict[str, Value], row: Value, count: Value) -> None:
        """Queries, scaled, and cotangents as both kinds of products read them, the sums of rows, and sum(dy y)."""
        f, spec, words = self.f, self.spec, self.words
        scale = f.spread(self.scale, self.lanes)
        with f.loop(0, count) as r:
            q, y, dy = (f.at(bases[name], (row + r) * words[f"{name}_row"], "i8") for name in ("q", "y", "dy"))
            line = f.at(self.queries, r * self.query_stride, "f32")
            for i, inside in vectors_of(f, self.depth, self.lanes):
                f.store(f.read(f.at(q, i, spec.q), spec.q, self.lanes, inside) * scale, f.at(line, i, "f32"))
            line = f.at(self.cotangents, r * self.cotangent_stride, "f32")
            common = f.variable(f.constant(0.0, "f32", self.lanes))
            for i, inside in vectors_of(f, self.columns, self.lanes):
                found = f.read(f.at(dy, i, spec.dy), spec.dy, self.lanes, inside)
                f.store(found, f.at(line, i, "f32"))
                result = f.read(f.at(y, i, spec.y), spec.y, self.lanes, inside)
                common.set(f.fma(found, result, common.get()))
            f.store(f.folded("add", common.get()), f.at(self.common, r, "f32"))
            f.store(f.load(f.at(bases["log_sums"], (row + r) * words["log_sums_row"], "i8"), "f32"), f.at(self.sums, r, "f32"))
        self._pack_rows(spec.by_depth, "f32", (self.queries, self.query_stride * 4), (count, self.depth), self.query_rows)
        self._pack_rows(spec.by_columns, "f32", (self.cotangents, self.cotangent_stride * 4), (count, self.columns), self.cotangent_rows)

    # ---- products ------------------------------------------------------------------------------------------------------------------------

    def _products(self, left: tuple[Value, Value], right: tuple[Value, Value], target: Value, sizes: tuple[Value, Value]) -> None:
        """Products of rows and packed columns, stored; more than there are, up to whole blocks, are computed and never looked at.

        left: the first row, and float32 from row to row.  right: panels, and channels.  sizes: rows, and columns.
        """
        f, block = self.f, self.spec.scores
        with f.loop(0, sizes[1], block.columns) as column, f.loop(0, sizes[0], block.rows) as row:
            panel = f.at(right[0], column * right[1], "f32")
            sums = self._block(block, (f.at(left[0], row * left[1], "f32"), left[1], None), (panel, right[1]))
            for place, total in self._places(block, f.at(f.at(target, row * self.held, "f32"), column, "f32"), self.held, sums):
                f.store(total, place)

    def _add(
        self,
        block: Block,
        left: tuple[Value, Value | None, Value | None],
        right: tuple[Value, Value],
        target: tuple[Value, Value],
        rows: Value,
    ) -> None:
        """Add products of rows and packed rows to a matrix, whole blocks of it.

        left: the first row, float32 from row to row (None: 1), and from channel to channel (None: 1).  right: panels, and channels.
        target: the first row, and float32 from row to row, which are whole panels.
        """
        f = self.f
        (start, stride, step), (panels, depth), (place, width) = left, right, target
        stride = f.constant(1, "i64") if stride is None else stride
        with f.loop(0, width, block.columns) as column, f.loop(0, rows, block.rows) as row:
            sums = self._block(block, (f.at(start, row * stride, "f32"), stride, step), (f.at(panels, column * depth, "f32"), depth))
            for at, total in self._places(block, f.at(f.at(place, row * width, "f32"), column, "f32"), width, sums):
                f.store(f.load(at, "f32", block.lanes) + total, at)

    def _block(self, block: Block, left: tuple[Value, Value, Value | None], right: tuple[Value, Value]) -> list[list[Value]]:
        f = self.f
        (start, stride, step), (panel, depth) = left, right
        rows = [f.at(start, stride * r, "f32") for r in range(block.rows)]
        return emit_block(f, block, block.rows, Operands(lambda _: rows, panel, f.constant(1, "i64"), depth, step=step), "f32")

    def _places(self, block: Block, start: Value, stride: Value, sums: list[list[Value]]) -> Iterator[tuple[Value, Value]]:
        """Yield where each vector of a block goes in a matrix, and the vector."""
        f = self.f
        for r, row in enumerate(sums):
            for v, total in enumerate(row):
                yield f.at(f.at(start, stride * r, "f32"), v * block.lanes, "f32"), total

    # ---- elementwise ---------------------------------------------------------------------------------------------------------------------

    def _probabilities(self, r: Value, mask: Value | None, keys: Value) -> None:
        """Row r: p = exp(scores + mask - sum) in place of the scores, and r = p (dy v^T - common) in place of dy v^T."""
        f = self.f
        base, common = (f.spread(f.load(f.at(x, r, "f32"), "f32"), self.lanes) for x in (self.sums, self.common))
        line, other = f.at(self.scores, r * self.held, "f32"), f.at(self.of_scores, r * self.held, "f32")
        for i, inside in vectors_of(f, keys, self.lanes):
            place, beside = f.at(line, i, "f32"), f.at(other, i, "f32")
            x = f.load(place, "f32", self.lanes)
            if mask is not None and self.spec.mask is not None:
                x = x + f.read(f.at(mask, i, self.spec.mask), self.spec.mask, self.lanes, inside)
            x = x - base
            tiny = x < LEAST_EXPONENT
            p = f.select(tiny, 0.0, f.exp(f.select(tiny, 0.0, x)))
            f.store(p, place)
            f.store(p * (f.load(beside, "f32", self.lanes) - common), beside)
