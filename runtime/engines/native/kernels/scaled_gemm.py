"""Matrix products and convolutions of scaled integers (see `scaled_parts`): as `Gemm`, to about 2^-14 of the norms of rows and columns.

Integers of 16 bits take half the memory of float32, and one instruction multiplies two neighbouring channels and adds them; where another
adds that to the sums, a core of AMD Zen 3 is still about 1.4 times as fast as with float32.

A run whose scale is NaN makes the sums NaN that it is part of.  A block with such sums is computed anew in float32, from the right operand
as it was before it was packed: slow, rare, and as float32 has it with infinities, NaN and numbers of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.gemm import Gemm, Where
from ttc.runtime.engines.native.kernels.scaled_pack import panel_words, row_words
from ttc.runtime.engines.native.kernels.scaled_parts import RUN, WORDS, runs_of
from ttc.runtime.engines.native.kernels.shares import Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words


@dataclass(frozen=True)
class ScaledGemm(Gemm):
    """The kernel of products of scaled integers: c = region(a b, others...).

    Args:
        source: element type of the right operand before it was packed.

    Words, further: `source`, of which `source_row` and `source_column` are strides in bytes.  a: rows as `ScaleRows` gives them; b: panels
    as `ScalePanels` does.
    """

    FETCHES: ClassVar[bool] = False

    source: Storage = "f32"

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, "source", "source_row", "source_column")

    def row_words(self, depth: Count) -> Count:
        return row_words(depth)

    def _block(self, f: Writer, words: Words, where: Where, span: tuple[Value, Value], panel: Value, tile: Value) -> None:
        (_, table, _), (first, count) = where, span
        self._fetch(f, table, count, panel)
        wild = f.variable(f.constant(0, "i1"))
        for rows in self.block.counts:
            with f.when(count.equals(rows)):
                wild.set(self._sums(f, words, where, (first, rows), panel, tile))
        with f.when(wild.get()):
            self._exact(f, words, where, span, panel, tile)
        self._finish(f, words, table, count, panel, tile)

    def _sums(self, f: Writer, words: Words, where: Where, span: tuple[Value, int], panel: Value, tile: Value) -> Value:
        """Sums of so many rows, put into memory; whether any is NaN."""
        from ttc.runtime.engines.native.ir.scaled_dot import ChannelRun, add_run

        (bases, table, turn), (first, count) = where, span
        lanes, vectors = self.block.lanes, self.block.vectors
        places = [f.at(tile, i * lanes, "f32") for i in range(count * vectors)]
        for place in places:
            f.store(f.constant(0.0, "f32", lanes), place)
        depth, taps, columns = words["depth"], words["taps"], self.block.columns
        runs, size = runs_of(depth), panel_words(depth, taps, columns)
        right = f.variable(f.at(bases["b"], panel * size, "u32"))
        number, step = (f.constant(0, "i64"),) * 2 if turn is None else turn
        fetched = f.variable(f.at(right.get(), size * 4 + number * step * (taps * runs * (WORDS + 1)), "i8"))
        with f.loop(0, taps) as tap:
            rows = self.rows.left(f, words, bases["a"], first, count, table, tap)
            with f.loop(0, runs) as run:
                add_run(f, ChannelRun(rows, run * WORDS, runs * RUN + run, right.get(), tile, WORDS, vectors, lanes))
                right.set(f.at(right.get(), (WORDS + 1) * columns, "u32"))
                with f.loop(0, step * (WORDS + 1), ALIGNMENT) as i:
                    f.prefetch(f.at(fetched.get(), i, "i8"), 2)
                fetched.set(f.at(fetched.get(), step * (WORDS + 1), "i8"))
        return _any_nan(f, [f.load(place, "f32", lanes) for place in places])

    def _exact(self, f: Writer, words: Words, where: Where, span: tuple[Value, Value], panel: Value, tile: Value) -> None:
        """The sums of a block in float32."""
        (bases, table, _), (first, count) = where, span
        depth, runs = words["depth"], runs_of(words["depth"])
        start = panel * self.block.columns
        width = f.smaller(words["columns"] - start, self.block.columns)
        source = f.at(words.pointer("source"), start * words["source_column"], "i8")
        with f.loop(0, count) as r, f.loop(0, width) as n:
            total = f.variable(f.constant(0.0, "f32"))
            column = f.at(source, n * words["source_column"], "i8")
            with f.loop(0, words["taps"]) as tap:
                row = self.rows.left_row(f, words, bases["a"], first, table, tap, r)
                scales = f.at(row, runs * RUN, "f32")
                first_scale = f.load(scales, "f32")
                raw = first_scale.differs(first_scale)
                with f.loop(0, depth) as k:
                    q = f.converted(f.load(f.at(row, k, "i16"), "i16"), "f32")
                    x = f.select(raw, f.load(f.at(row, k, "f32"), "f32"), q * f.load(f.at(scales, k // RUN, "f32"), "f32"))
                    y = f.read(f.at(column, (tap * depth + k) * words["source_row"], "i8"), self.source)
                    total.set(f.fma(x, y, total.get()))
            f.store(total.get(), f.at(tile, r * self.block.columns + n, "f32"))


def _any_nan(f: Writer, vectors: Sequence[Value]) -> Value:
    """Return whether any lane of any vector is NaN."""
    found = [vector.differs(vector) for vector in vectors]
    total = found[0]
    for other in found[1:]:
        total = total | other
    return f.folded("or", total)
