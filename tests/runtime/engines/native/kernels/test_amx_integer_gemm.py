"""Code of products of bytes in tiles for CPUs that have them: made, linked and read here, whatever this machine is."""

from __future__ import annotations

import re

import pytest

from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu
from ttc.runtime.engines.native.codegen.machine_code import assembly, object_code
from ttc.runtime.engines.native.codegen.object_file import link
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.amx_integer_gemm import AmxIntegerGemm
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, GemmRows, WindowRows

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="AMX is of x86-64")


@pytest.mark.parametrize("rows", [DenseRows(), WindowRows()])
@pytest.mark.parametrize("narrow", [True, False])
def test_bytes_are_multiplied_in_tiles(narrow: bool, rows: GemmRows) -> None:
    """Six products of low bytes, for whole blocks and for the upper half of the last one; of high bytes only where there may be some."""
    kernel = AmxIntegerGemm("i16", narrow, rows, identity("i32"))
    cpu = Cpu("x86-64", host_cpu().features | {"amx-tile", "amx-int8"})
    text = assembly(kernel.llvm_ir(cpu), cpu)
    counts = {name: len(re.findall(rf"^\s+{name}\b", text, re.MULTILINE)) for name in ("tdpbusd", "tdpbssd", "tilezero")}
    assert counts == {"tdpbusd": 6, "tdpbssd": 0 if narrow else 6, "tilezero": 0 if narrow else 6}
    assert text.index("ldtilecfg") < text.index("tileloadd") < text.rindex("tilerelease")
    assert link(object_code(kernel.llvm_ir(cpu), cpu)).pack()


def test_rows_need_scratch_memory_for_each_byte() -> None:
    one, two = (AmxIntegerGemm("i16", narrow, DenseRows(), identity("i32")).scratch_bytes(65, 3, 64) for narrow in (True, False))
    assert two - one == 64 * 3 * 128
