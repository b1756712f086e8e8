"""Where an engine finds and keeps machine code, and who is told while it is made."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.codegen.cache import Cache, cache_folder, process_cache


@record
class KernelFolders:
    """Where code comes from and goes to.

    Args:
        folder: of code that was made ahead, which somebody named: code from there is executed.  None: the user's cache alone.
        fill: code is made into that folder, and found nowhere else: it is to be whole.
        told: called with (kernels made, kernels to make) as they are made; from several threads.
    """

    folder: Path | None = None
    fill: bool = False
    told: Callable[[int, int], None] | None = None

    def store(self) -> Cache:
        """Return the cache to use.  Raises E0102, E0103 where the folder that was named cannot be used, with the reason."""
        if self.folder is None:
            return process_cache()
        if not self.fill and not self.folder.is_dir():
            raise Error("E0102", f"there is no folder '{self.folder}'", hint="ttc compile --precompile-dir makes one")
        named = Cache(self.folder)
        if named.reason is not None:
            code, what = ("E0103", "written to") if self.fill else ("E0102", "taken from there")
            raise Error(code, f"compiled kernels cannot be {what}: {named.reason}", hint="it must be the user's own, and closed to others")
        return named if self.fill else Cache(cache_folder(os.environ), first=named)
