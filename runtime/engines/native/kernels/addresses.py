"""The code that fills the addresses of a caller's memory into the words of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class PlaceAddresses(Kernel):
    """Fills in words [begin, end) of those that hold addresses.

    Words: addresses of the jobs' words, of the caller's addresses, and of three lists with an item for each word to fill in: its position,
    the number of the caller's address, and what is added to that.
    """

    def emit(self, f: Writer) -> None:
        jobs, given, positions, numbers, offsets = (f.pointer(word) for word in range(5))
        with f.loop(f.begin, f.end) as item:
            address = f.load(f.at(given, f.load(f.at(numbers, item, "i64"), "i64"), "i64"), "i64")
            position = f.load(f.at(positions, item, "i64"), "i64")
            f.store(address + f.load(f.at(offsets, item, "i64"), "i64"), f.at(jobs, position, "i64"))
