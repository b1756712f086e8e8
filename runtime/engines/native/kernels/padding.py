"""Puts images into frames of zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernel import Kernel
from ttc.runtime.engines.native.kernels.words import Words
from ttc.runtime.engines.native.storage import Storage

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Pad(Kernel):
    """y[n, height, width, channels] dense, all zeros but for x, which begins at [., y_before, x_before, 0].

    For images of few channels, where it costs little: convolutions then read whole rows of windows in one run.  A task: one row of one
    image.  Words: `names`; sizes with `x_` are those of x, whose strides are in elements.
    """

    source: Storage
    target: Storage

    names: ClassVar[tuple[str, ...]] = (
        *("source", "target", "height", "width", "channels", "y_before", "x_before", "x_height", "x_width", "x_channels"),
        *("image_stride", "y_stride", "x_stride", "channel_stride"),
    )

    def emit(self, f: Writer) -> None:
        words = Words(f, self.names)
        source, target = words.pointer("source"), words.pointer("target")
        with f.loop(f.begin, f.end) as task:
            image, row = task // words["height"], task % words["height"]
            y = row - words["y_before"]
            length = words["width"] * words["channels"]
            line = f.at(target, task * length, self.target)
            with f.loop(0, length) as i:
                f.write(f.constant(0.0, "f32"), f.at(line, i, self.target), self.target)
            with f.when(f.converted(y, "u64") < f.converted(words["x_height"], "u64")):
                start = f.at(source, image * words["image_stride"] + y * words["y_stride"], self.source)
                self._row(f, words, start, f.at(line, words["x_before"] * words["channels"], self.target))

    def _row(self, f: Writer, words: Words, source: Value, target: Value) -> None:
        across, between, channels = words["x_stride"], words["channel_stride"], words["channels"]
        with f.loop(0, words["x_width"]) as x:
            pixel, place = f.at(source, x * across, self.source), f.at(target, x * channels, self.target)
            with f.loop(0, words["x_channels"]) as c:
                f.write(f.read(f.at(pixel, c * between, self.source), self.source), f.at(place, c, self.target), self.target)
