"""Going through elements that lie side by side, vector by vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


def vectors_of(f: Writer, count: Value, lanes: int) -> Iterator[tuple[Value, Value | None]]:
    """Yield the first element of all whole vectors of so many elements, in a loop, and then of the lanes that are left, with their mask."""
    whole = count // lanes * lanes
    with f.loop(0, whole, lanes) as i:
        yield i, None
    with f.when(whole < count):
        yield whole, f.mask(count - whole, lanes)
