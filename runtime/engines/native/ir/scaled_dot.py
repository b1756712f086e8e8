"""Products of runs of scaled integers, added to sums in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.dtypes import Type
from ttc.runtime.engines.native.ir.integer_dot import Places, add_products, adds_in_order, pairs

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class ChannelRun:
    """Where a run of channels lies.

    Args:
        rows: addresses of rows: pairs of i16, and scales behind them.
        word, scale: numbers of the run's first pair and of its scale in a row, counted in words of 4 bytes.
        panel: address of `words` times `vectors` vectors of pairs, then as many vectors of scales as one pair has.
        sums: address of the rows' sums, one after the other.
    """

    rows: Sequence[Value]
    word: Value
    scale: Value
    panel: Value
    sums: Value
    words: int
    vectors: int
    lanes: int


def add_run(f: Writer, run: ChannelRun) -> None:
    """Return, for each row and column, sum + the exact sum of the run's products, as float32, times both scales."""
    if adds_in_order(f):
        _in_order(f, run)
        return
    lanes, width = run.lanes, run.vectors
    totals = [[f.variable(f.constant(0, "i32", lanes)) for _ in range(width)] for _ in run.rows]
    with f.loop(0, run.words) as i:
        right = [pairs(f, f.load(f.at(run.panel, (i * width + v) * lanes, "i32"), "i32", lanes)) for v in range(width)]
        for row, sums in zip(run.rows, totals, strict=True):
            left = pairs(f, f.spread(f.load(f.at(row, run.word + i, "i32"), "i32"), lanes))
            for total, b in zip(sums, right, strict=True):
                total.set(add_products(f, total.get(), left, b))
    scales = [f.load(f.at(run.panel, (run.words * width + v) * lanes, "f32"), "f32", lanes) for v in range(width)]
    for r, row in enumerate(run.rows):
        left = f.spread(f.load(f.at(row, run.scale, "f32"), "f32"), lanes)
        for v, (total, right) in enumerate(zip(totals[r], scales, strict=True)):
            place = f.at(run.sums, (r * width + v) * lanes, "f32")
            f.store(f.fma(f.converted(total.get(), "f32") * left, right, f.load(place, "f32", lanes)), place)


def _in_order(f: Writer, run: ChannelRun) -> None:
    """Add scaled products in assembly for vectors of 32 bytes, in an order that LLVM does not keep (see `integer_dot`)."""
    height, width = len(run.rows), run.vectors
    places = Places.of(height, width)
    scale, sums, left = places.panel + 1, places.panel + 2, places.products[-1]
    lines = [line for i in range(run.words) for line in places.pair(i, "i16", adds=i > 0)]
    lines += [f"vmovups {(run.words * width + v) * 32}(${places.panel}), ${b}" for v, b in enumerate(places.right)]
    for r, (row, totals) in enumerate(zip(places.rows, places.sums, strict=True)):
        lines.append(f"vbroadcastss (${row},${scale},4), ${left}")
        for v, (total, b) in enumerate(zip(totals, places.right, strict=True)):
            memory = f"{(r * width + v) * 32}(${sums})"
            lines += [f"vcvtdq2ps ${total}, ${total}", f"vmulps ${left}, ${total}, ${total}"]
            lines += [f"vfmadd213ps {memory}, ${b}, ${total}", f"vmovups ${total}, {memory}"]
    constraints = ["=&x"] * places.products.stop + ["r"] * (height + 4) + ["~{memory}"]
    operands = [*run.rows, run.word, run.panel, run.scale, run.sums]
    f.assembly("\n".join(lines), constraints, [Type("i32", 8)] * places.products.stop, operands, acts=True)
