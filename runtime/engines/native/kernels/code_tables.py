"""Regions that go through a code of 8 bits: what follows it is looked up in a table of its 256 values.

Networks that were quantized op by op compute long functions of codes between products: a GELU written out is one, whose every step is
dequantized, computed and quantized again.  Where all that follows a code depends on nothing else, a kernel computes it once for each
code, by the same instructions, and then reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.ir.regions import computed_type

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_LEAST_STEPS = 8
"""The fewest steps that reading a table is worth: it takes about as long as so many."""
_CODES, _LANES = 256, 16
_HELD = ("f32", "i32", "i16", "u16", "i8", "u8")
"""Types of values that a table of 32 bits an entry holds."""


@dataclass(frozen=True)
class CodeRegion:
    """A region in two: from its inputs to a code, and from the code, its only input, to the result."""

    first: Region
    rest: Region


def split_at_code(region: Region) -> CodeRegion | None:
    """Return a region cut at the first code of 8 bits that all that follows depends on alone; None if less follows than is worth it."""
    count = len(region.inputs)
    for index, step in enumerate(region.steps):
        if step.storage in ("i8", "u8") and step.fn != "constant":
            found = _cut(region, count + index)
            if found is not None:
                return found
    return None


def _cut(region: Region, code: int) -> CodeRegion | None:
    count = len(region.inputs)
    wanted, waiting = set[int](), [region.output]
    while waiting:
        value = waiting.pop()
        if value == code or value in wanted:
            continue
        if value < count:
            return None
        wanted.add(value)
        waiting += region.steps[value - count].operands
    rest: list[RegionStep] = []
    places = {code: 0}
    for value in sorted(wanted):
        step = region.steps[value - count]
        rest.append(replace(step, operands=tuple(places[i] for i in step.operands)))
        places[value] = len(rest)
    result = Region((region.steps[code - count].storage,), tuple(rest), places.get(region.output, 0))
    if sum(step.fn != "constant" for step in rest) < _LEAST_STEPS or computed_type(result.storage) not in _HELD:
        return None
    return CodeRegion(replace(region, steps=region.steps[: code - count + 1], output=code), result)


@dataclass(frozen=True)
class CodeTable:
    """What a region has for each code.

    Args:
        region: from the code to the result.
        entries: address of 256 numbers of 32 bits, by code without its sign.
    """

    region: Region
    entries: Value

    @staticmethod
    def emit(f: Writer, region: Region) -> CodeTable:
        """Emit code that computes the table, in the frame."""
        from ttc.runtime.engines.native.ir.regions import emit_region

        table = CodeTable(region, f.static_array("i32", _CODES))
        with f.loop(0, _CODES, _LANES) as i:
            numbers = f.spread(f.converted(i, "i32"), _LANES) + f.lane_numbers(_LANES, "i32")
            found = emit_region(f, region, [f.converted(numbers, region.inputs[0])])
            word = found if found.type.dtype == "f32" else f.converted(found, "i32")
            f.store(word, f.at(table.entries, i, "i32"))
        return table

    def of(self, f: Writer, codes: Value) -> Value:
        """Return the results for codes, for `Writer.write`."""
        own = computed_type(self.region.storage)
        numbers = f.converted(f.converted(codes, "u8"), "u32")
        return f.converted(f.looked_up(self.entries, numbers, "f32" if own == "f32" else "i32"), own)
