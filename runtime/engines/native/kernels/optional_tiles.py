"""Tiles for kernels that multiply in them on some CPUs only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.writer import Writer


@contextmanager
def optional_tiles(f: Writer, wanted: object) -> Iterator[Tiles | None]:
    """Return tiles that are configured for what is written inside, and released behind it; None where they are not wanted."""
    if not wanted:
        yield None
        return
    from ttc.runtime.engines.native.ir.tiles import Tiles  # it needs LLVM's types, which loads of kernels that are kept do without

    tiles = Tiles(f)
    tiles.configure()
    yield tiles
    tiles.release()
