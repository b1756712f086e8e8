"""Whether tiles of AMX do what they should, on this machine, before anything relies on them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ttc.runtime.engines.native.codegen.cache import Cache
from ttc.runtime.engines.native.codegen.features import Cpu, permit_amx
from ttc.runtime.engines.native.codegen.generator import planner_version
from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders

_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""A text that is another one each time the system starts: a folder of code may move to a machine that says to have the same CPU."""


def with_checked_tiles(cpu: Cpu, kernels: KernelFolders) -> Cpu:
    """Return the CPU, without AMX if the system forbids it to this process, or its products are wrong.

    The system is asked once a process.  That products were right is noted in the folder of code, and believed until the system is started
    again.  A folder that is being filled gets the kernels of the products instead, as it may be used where there is no LLVM.
    """
    return cpu if not cpu.has("amx-tile") or _works(cpu, kernels.folder, kernels.fill) else cpu.without("amx-tile")


@cache
def _works(cpu: Cpu, folder: Path | None, fill: bool) -> bool:
    if not permit_amx():
        return False
    store = KernelFolders(folder, fill).store()
    entry = None if fill else _entry(cpu, store)
    if store.read(entry) is not None:
        return True
    from ttc.runtime.engines.native.execution.amx_products import multiplies_right  # takes longer than a small program's load

    right = multiplies_right(cpu, store)
    if right:
        store.write(entry, b"")
    return right


def _entry(cpu: Cpu, store: Cache) -> str | None:
    """Return where the folder says that products were right, on this system since it was started; None where that is not known."""
    try:
        boot = _BOOT.read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    return store.name(f"products in tiles are right since {boot}", cpu, planner_version)
