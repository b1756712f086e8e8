"""What becomes of a block of sums, one for each of some pixels side by side: an elementwise region, then memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ttc.runtime.engines.native.graph.region import Region

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

Varies: TypeAlias = Literal["all", "channels", "pixels"]
"""The dimensions along which an operand of the region varies."""

_SHORT = ("add", "sub", "mul", "relu", "clip", "maximum", "minimum", "cast", "constant")
_INLINE_STEPS = 6
"""Regions of at most so many steps, all of them short ones, are written once a pixel of a block; others in a loop over the pixels."""


@dataclass(frozen=True)
class Pixels:
    """Where pixels of the result lie, and what is computed of them.

    Args:
        region: input 0 is a pixel's channel, rounded to that storage; the others are elements of `others`.
        varies: how each of the others lies.
        lanes: channels of a vector.
    """

    region: Region
    varies: tuple[Varies, ...]
    lanes: int

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the result and of the region's further operands."""
        return ("target", *(f"other{i}" for i in range(len(self.varies))))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words that pixels need: addresses, and strides in bytes."""
        return tuple(f"{tensor}{what}" for tensor in self.tensors for what in ("", "_image", "_y", "_x"))

    def bases(self, f: Writer, words: Words, place: tuple[Value, Value, Value]) -> dict[str, Value]:
        """Return the addresses of the pixel (image, y, x) of each tensor."""
        found: dict[str, Value] = {}
        for tensor in self.tensors:
            offset = f.constant(0, "i64")
            for axis, index in zip(("image", "y", "x"), place, strict=True):
                offset = offset + index * words[f"{tensor}_{axis}"]
            found[tensor] = f.at(words.pointer(tensor), offset, "i8")
        return found

    def emit(self, f: Writer, words: Words, bases: dict[str, Value], values: Sequence[Value], channel: Value, tile: Value) -> None:
        """Store the region's results for a vector of channels of neighbouring pixels.  tile: memory for them all, in their type."""
        steps = self.region.steps
        if len(steps) <= _INLINE_STEPS and all(step.fn in _SHORT for step in steps):
            for index, value in enumerate(values):
                self._emit_one(f, words, bases, value, channel, f.constant(index, "i64"))
            return
        dtype = values[0].type.dtype
        for index, value in enumerate(values):
            f.store(value, f.at(tile, index * self.lanes, dtype))
        with f.loop(0, len(values)) as index:
            value = f.load(f.at(tile, index * self.lanes, dtype), dtype, self.lanes)
            self._emit_one(f, words, bases, value, channel, index)

    def _emit_one(self, f: Writer, words: Words, bases: dict[str, Value], value: Value, channel: Value, index: Value) -> None:
        from ttc.runtime.engines.native.ir.regions import emit_region

        def place(tensor: str) -> Value:
            return f.at(bases[tensor], index * words[f"{tensor}_x"], "i8")

        values = [f.rounded(value, self.region.inputs[0])]
        for tensor, storage, varies in zip(self.tensors[1:], self.region.inputs[1:], self.varies, strict=True):
            if varies == "pixels":
                values.append(f.spread(f.read(place(tensor), storage), self.lanes))
            else:
                base = words.pointer(tensor) if varies == "channels" else place(tensor)
                values.append(f.read(f.at(base, channel, storage), storage, self.lanes))
        found = emit_region(f, self.region, values)
        f.write(found, f.at(place("target"), channel, self.region.storage), self.region.storage)
