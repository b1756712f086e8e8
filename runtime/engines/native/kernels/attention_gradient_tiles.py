"""Gradient of attention in tiles of AMX: as `attention_gradient`, but with rows of keys by columns of queries.

So probabilities and their cotangents are rows of bfloat16 that tiles multiply as they are, for the cotangents of values and keys.  Those of
queries are computed transposed, k^T r, with r in pairs of keys, and turned by `QuerySums` at the end.  Queries and cotangents are packed
once a task, for all of its keys; masks are turned block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernels.amx_block import SIZE, emit_tile_block
from ttc.runtime.engines.native.kernels.attention_gradient_base import LEAST_EXPONENT, GradientCode, GradientKernel
from ttc.runtime.engines.native.kernels.packing import PackColumns, PackRows, transposed
from ttc.runtime.engines.native.kernels.vectors import vectors_of

if TYPE_CHECKING:
    from ttc.runtime.engines.native.graph.storage import Storage
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words


@dataclass(frozen=True, kw_only=True)
class AttentionGradientTiles(GradientKernel):
    """The kernel of attention's gradient in tiles: operands of products are rounded to bfloat16.

    `key_block` is a multiple of `amx_block.SIZE`.  partial of a chunk is [groups * padded depth, GROUP]: of each group, transposed.

    Args:    lanes: float32 of a vector.
    """

    GROUP: ClassVar = 64
    PLACES: ClassVar = (
        *("queries", "query_rows", "cotangents", "cotangent_rows", "sums", "common", "keys", "turned_keys", "values", "masks"),
        *("scores", "of_scores", "shares", "share_gradients", "pairs", "of_keys", "of_values"),
    )

    lanes: int

    def partial_shape(self, rows: int, depth: int) -> tuple[int, int]:
        return -(-rows // self.GROUP) * _padded(depth), self.GROUP

    def parts(self, rows: int, depth: int, columns: int, key_block: int) -> dict[str, int]:
        deep, broad, group = _padded(depth), _padded(columns), self.GROUP
        held = -(-rows // group) * group
        return {
            **dict.fromkeys(("queries", "query_rows"), held * deep // 2),
            **dict.fromkeys(("cotangents", "cotangent_rows"), held * broad // 2),
            **dict.fromkeys(("sums", "common"), held),
            **dict.fromkeys(("keys", "turned_keys"), key_block * deep // 2),
            "values": key_block * broad // 2,
            **dict.fromkeys(("masks", "scores", "of_scores"), key_block * group),
            **dict.fromkeys(("shares", "share_gradients", "pairs"), key_block * group // 2),
            "of_keys": key_block * deep,
            "of_values": key_block * broad,
        }

    def emit_job(self, f: Writer, words: Words) -> None:
        from ttc.runtime.engines.native.ir.tiles import Tiles

        tiles = Tiles(f)
        tiles.configure()
        _Differentiate(f, words, self, tiles).tasks()
        tiles.release()


def _padded(count: int) -> int:
    return -(-count // SIZE) * SIZE


class _Differentiate(GradientCode):
    """The code of one kernel."""

    def __init__(self, f: Writer, words: Words, spec: AttentionGradientTiles, tiles: Tiles) -> None:
        super().__init__(f, words, spec, spec.lanes)
        self.spec, self.tiles, self.size = spec, tiles, spec.GROUP
        self.deep, self.broad = self.whole(self.depth, SIZE), self.whole(self.columns, SIZE)

    def partial_floats(self) -> Value:
        return self.whole(self.rows, self.size) * self.deep

    # ---- operands of the products --------------------------------------------------------------------------------------------------------

    def prepare(self, bases: dict[str, Value]) -> None:
        """Queries and cotangents in panels, by rows and by columns; sums of rows, and sum(dy y)."""
        f, spec, words = self.f, self.spec, self.words
        with f.loop(0, self.rows, self.size) as row:
            count = f.smaller(self.rows - row, self.size)
            for name, columns, rows, sizes in (
                ("q", "queries", "query_rows", (self.depth, self.deep)),
                ("dy", "cotangents", "cotangent_rows", (self.columns, self.broad)),
            ):
                self._pack(bases[name], (row, count), (getattr(spec, name), words[f"{name}_row"]), sizes, (columns, rows))
            with f.loop(0, count) as r:
                sums = f.load(f.at(bases["log_sums"], (row + r) * words["log_sums_row"], "i8"), "f32")
                f.store(sums, f.at(self.places["sums"], row + r, "f32"))
                f.store(self._common(bases, row + r), f.at(self.places["common"], row + r, "f32"))
            with f.loop(count, self.size) as r:  # rows that are not there have probability 0
                f.store(f.constant(inf, "f32"), f.at(self.places["sums"], row + r, "f32"))
                f.store(f.constant(0.0, "f32"), f.at(self.places["common"], row + r, "f32"))

    def _pack(
        self,
        base: Value,
        rows: tuple[Value, Value],
        source: tuple[Storage, Value],
        sizes: tuple[Value, Value],
        targets: tuple[str, str],
    ) -> None:
        """A group of rows in panels, by columns and by rows.  source: element type, and bytes from row to row.  sizes: given, padded."""
        f = self.f
        (row, count), (storage, line), (there, padded) = rows, source, sizes
        start = f.at(base, row * line, "i8")
        by_columns, by_rows = (f.at(self.places[name], row * padded * 2, "i8") for name in targets)
        words = {"depth": padded, "columns": count, "line": line}
        with f.loop(0, f.constant(self.size // SIZE, "i64")) as panel:
            PackColumns(SIZE, self.lanes, storage, "bf16").emit_task(f, words, panel, start, by_columns, there)
        words = {"depth": f.constant(self.size, "i64"), "columns": there, "line": line}
        with f.loop(0, f.constant(self.size // SIZE, "i64")) as part:
            PackRows(SIZE, self.lanes, storage, "bf16").emit_task(f, words, part, start, by_rows, count)

    def _common(self, bases: dict[str, Value], row: Value) -> Value:
        """Return sum(dy y) of a row."""
        f, spec = self.f, self.spec
        y, dy = (f.at(bases[name], row * self.words[f"{name}_row"], "i8") for name in ("y", "dy"))
        total = f.variable(f.constant(0.0, "f32", self.lanes))
        for i, inside in vectors_of(f, self.columns, self.lanes):
            result = f.read(f.at(y, i, spec.y), spec.y, self.lanes, inside)
            total.set(f.fma(f.read(f.at(dy, i, spec.dy), spec.dy, self.lanes, inside), result, total.get()))
        return f.folded("add", total.get())

    def begin(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        f, places = self.f, self.places
        padded = self.whole(count, SIZE)
        for name, target, sizes in (("k", "keys", (self.depth, self.deep)), ("v", "values", (self.columns, self.broad))):
            self._rows(f.at(bases[name], key * self.words[f"{name}_row"], "i8"), name, (count, padded), sizes, places[target])
        with f.loop(0, self.deep, self.lanes) as d, f.loop(0, padded, self.lanes) as r:
            rows = [f.at(places["keys"], (r + i) * self.deep + d, "bf16") for i in range(self.lanes)]
            for i, line in enumerate(transposed(f, [f.read(row, "bf16", self.lanes) for row in rows])):
                f.write(line, f.at(places["turned_keys"], (d + i) * self.key_block + r, "bf16"), "bf16")
        self.clear(places["of_keys"], padded * self.deep)
        self.clear(places["of_values"], padded * self.broad)

    def _rows(self, source: Value, name: str, counts: tuple[Value, Value], sizes: tuple[Value, Value], target: Value) -> None:
        """Rows of bfloat16, with zeros up to whole tiles.  counts, sizes: rows, and their elements: there are, padded."""
        f, storage = self.f, getattr(self.spec, name)
        (count, padded), (there, width) = counts, sizes
        zero = f.constant(0.0, "f32", self.lanes)
        with f.loop(0, padded) as r:
            line, place = f.at(source, r * self.words[f"{name}_row"], "i8"), f.at(target, r * width, "bf16")
            known = f.select(r < count, there, 0)
            with f.loop(0, width, self.lanes) as i:
                with f.choice(i < known) as (some, none):
                    with some:
                        found = f.read(f.at(line, i, storage), storage, self.lanes, f.mask(known - i, self.lanes))
                        f.write(found, f.at(place, i, "bf16"), "bf16")
                    with none:
                        f.write(zero, f.at(place, i, "bf16"), "bf16")

    # ---- a group of queries --------------------------------------------------------------------------------------------------------------

    def group(self, bases: dict[str, Value], rows: tuple[Value, Value], keys: tuple[Value, Value]) -> None:
        f, places, size = self.f, self.places, self.size
        (row, count), (_, width) = rows, keys
        padded = self.whole(width, SIZE)
        whole = self.whole(count, SIZE)
        for left, right, depth, target in (
            ("keys", "queries", self.deep, "scores"),
            ("values", "cotangents", self.broad, "of_scores"),
        ):
            panels = f.at(places[right], row * depth * 2, "i8")
            self._products((places[left], depth), (panels, depth), (places[target], f.constant(size, "i64")), (padded, whole))
        if self.kernel.mask is not None:
            self._turn_mask(bases["mask"], rows, keys, self.kernel.mask)
        self._probabilities(row, width, padded, whole)
        for left, right, depth, target in (
            ("shares", "cotangent_rows", self.broad, "of_values"),
            ("share_gradients", "query_rows", self.deep, "of_keys"),
        ):
            panels, stride = f.at(places[right], row * depth * 2, "i8"), f.constant(size, "i64")
            self._products((places[left], stride), (panels, stride), (places[target], depth), (padded, depth), channels=whole)
        target = f.at(bases["partial"], row * self.deep, "f32"), f.constant(size, "i64")
        left = places["turned_keys"], self.key_block
        self._products(left, (places["pairs"], self.key_block), target, (self.deep, whole), channels=padded)

    def _products(
        self,
        left: tuple[Value, Value],
        right: tuple[Value, Value],
        target: tuple[Value, Value],
        sizes: tuple[Value, Value],
        channels: Value | None = None,
    ) -> None:
        """Products of rows of bfloat16 and panels, stored; added to what is there where the channels are given.

        left, target: the first row, and elements from row to row.  right: panels, and the channels that one has room for.
        sizes: rows, and columns.  channels: those that are multiplied; None: all.
        """
        f = self.f
        with f.loop(0, sizes[0], SIZE) as row, f.loop(0, sizes[1], SIZE) as column:
            start, place = f.at(left[0], row * left[1], "bf16"), f.at(f.at(target[0], row * target[1], "f32"), column, "f32")
            emit_tile_block(
                f,
                self.tiles,
                (start, left[1] * 2),
                f.at(right[0], column * right[1], "bf16"),
                right[1] if channels is None else channels,
                (place, target[1] * 4),
                add=channels is not None,
            )

    def _turn_mask(self, mask: Value, rows: tuple[Value, Value], keys: tuple[Value, Value], storage: Storage) -> None:
        """The mask of a group and a block, in panels of queries: for each key a row."""
        f, line = self.f, self.words["mask_row"]
        (row, count), (key, width) = rows, keys
        start = f.at(f.at(mask, row * line, "i8"), key, storage)
        with f.loop(0, self.parts(count, SIZE)) as panel:
            PackColumns(SIZE, self.lanes, storage).emit_task(
                f, {"depth": width, "columns": count, "line": line}, panel, start, self.places["masks"]
            )

    def _probabilities(self, row: Value, width: Value, padded: Value, whole: Value) -> None:
        """p = exp(scores * scale + mask - sum), and r = p (v dy^T - common), as rows, and r in pairs of keys, too; 0 for keys not there."""
        f, places = self.f, self.places
        with f.loop(0, whole, SIZE) as panel, f.loop(0, padded, 2) as key:
            for c in range(0, SIZE, self.lanes):
                column = panel + c
                sums, common = (f.load(f.at(places[name], row + column, "f32"), "f32", self.lanes) for name in ("sums", "common"))
                halves: list[Value] = []
                for i in range(2):
                    place = (key + i) * self.size + column
                    x = f.load(f.at(places["scores"], place, "f32"), "f32", self.lanes) * self.scale
                    if self.kernel.mask is not None:
                        line = f.at(places["masks"], panel * width + (key + i) * SIZE, "f32")
                        x = x + f.load(f.at(line, c, "f32"), "f32", self.lanes)
                    p = self._share_of(x - sums, key + i < width)
                    r = p * (f.load(f.at(places["of_scores"], place, "f32"), "f32", self.lanes) - common)
                    r = f.narrowed(f.select(key + i < width, r, 0.0), "bf16")
                    f.write(p, f.at(places["shares"], place, "bf16"), "bf16")
                    f.store(r, f.at(places["share_gradients"], place, "bf16"))
                    halves.append(f.converted(f.bits(r, "u16"), "u32"))
                pairs = f.at(places["pairs"], (panel * self.key_block + key * SIZE) // 2, "u32")
                f.store(halves[0] | (halves[1] << 16), f.at(pairs, c, "u32"))

    def _share_of(self, x: Value, there: Value) -> Value:
        """Return e^x, and 0 instead of denormals and for keys that are not there."""
        f = self.f
        tiny = x < LEAST_EXPONENT
        return f.select(there, f.select(tiny, 0.0, f.exp(f.select(tiny, 0.0, x))), 0.0)

    def end(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        self.give("dk", bases, (key, count), (self.places["of_keys"], self.deep, self.depth), scaled=True)
        self.give("dv", bases, (key, count), (self.places["of_values"], self.broad, self.columns))
