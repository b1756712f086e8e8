"""Whether tiles of AMX do what they should, on this machine, before anything relies on them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.code import CodeStore, Signature, compiled
from ttc.runtime.engines.native.codegen.features import Cpu, permit_amx
from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.amx_gemm import BLOCK, AmxGemm
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, PackTiles, panel_bytes
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.words import words_of
from ttc.runtime.pages import aligned_bytes

_ROWS, _DEPTH, _COLUMNS = 2 * BLOCK + 9, 64, PANEL + 5


def with_checked_tiles(cpu: Cpu, kernels: KernelFolders) -> Cpu:
    """Return the CPU, without AMX if the system forbids it to this process, or its products are wrong.

    This is found out once a process for each folder of code, as a folder that is used where there is no LLVM must hold the check's kernels.
    """
    return cpu if not cpu.has("amx-bf16") or _works(cpu, kernels.folder, kernels.fill) else cpu.without("amx-tile")


@cache
def _works(cpu: Cpu, folder: Path | None, fill: bool) -> bool:
    return permit_amx() and multiplies_right(cpu, KernelFolders(folder, fill).store())


def multiplies_right(cpu: Cpu, store: CodeStore | None) -> bool:
    """Return whether a product of small integers is what numpy finds, to the bit: whole blocks and part of one."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((_ROWS, _DEPTH), (_DEPTH, _COLUMNS)))
    try:
        return np.array_equal(_product(a, b, cpu, store), a @ b)
    except Error:  # LLVM has no such instructions, or the system no memory for code
        return False


def _product(a: NDArray[np.float32], b: NDArray[np.float32], cpu: Cpu, store: CodeStore | None) -> NDArray[np.float32]:
    """a b through the kernels, a in bfloat16."""
    (rows, depth), columns = a.shape, b.shape[1]
    panels = -(-columns // PANEL)
    pack, gemm = PackTiles("f32", 1), AmxGemm(1, DenseRows(), identity("f32"))
    code = compiled([pack, gemm], cpu, store)
    narrow = (a.view(np.uint32) >> 16).astype(np.uint16)
    packed, c = aligned_bytes(panels * panel_bytes(depth, 1, 1)), np.zeros((rows, columns), np.float32)
    scratch = aligned_bytes(gemm.scratch_bytes(depth, 1, BLOCK))
    sizes = {"depth": depth, "taps": 1, "columns": columns, "panels": panels}
    addresses = {"a": narrow.ctypes.data, "b": packed.ctypes.data, "c": c.ctypes.data}
    blocks = -(-rows // BLOCK)
    cuts = {"rows": rows, "height": BLOCK, "groups": blocks, "row_chunks": 1, "panel_chunks": 1}
    jobs = [
        (pack, {"source": b.ctypes.data, "target": packed.ctypes.data, "line": columns * 4, **sizes}, panels),
        (gemm, {**addresses, **sizes, **cuts, "a_row": depth * 2, "c_row": columns * 4}, 1),
    ]
    for kernel, words, tasks in jobs:
        values = np.array(words_of(kernel.names, words), np.int64)
        Signature(code.address(kernel))(values.ctypes.data, 0, tasks, scratch.ctypes.data)
    return c
