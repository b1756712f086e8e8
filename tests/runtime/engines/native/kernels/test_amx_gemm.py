"""Code of products in tiles for CPUs that have them: made, linked and read here, whatever this machine is."""

from __future__ import annotations

import re

import pytest

from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu
from ttc.runtime.engines.native.codegen.machine_code import assembly, object_code
from ttc.runtime.engines.native.codegen.object_file import link
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.amx_frames import FrameRows
from ttc.runtime.engines.native.kernels.amx_gemm import AmxGemm
from ttc.runtime.engines.native.kernels.amx_parts import PRODUCTS
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, GemmRows, WindowRows

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="AMX is of x86-64")


@pytest.mark.parametrize("rows", [DenseRows(), WindowRows(), FrameRows()])
@pytest.mark.parametrize(("parts", "changes"), [(1, 1 + 1), (2, 2 + 2), (3, 4 + 3)])
def test_tiles_are_loaded_once_for_each_change_of_a_part(parts: int, changes: int, rows: GemmRows) -> None:
    """In the code for blocks of one or two tiles down and across: for each part of a side, one or two are loaded."""
    kernel = AmxGemm(parts, rows, identity("f32"))
    cpu = Cpu("x86-64", host_cpu().features | {"amx-tile", "amx-bf16"})
    text = assembly(kernel.llvm_ir(cpu), cpu)
    counts = {name: len(re.findall(rf"^\s+{name}\b", text, re.MULTILINE)) for name in ("tileloadd", "tdpbf16ps", "tilestored")}
    assert counts == {"tileloadd": 6 * changes, "tdpbf16ps": 9 * len(PRODUCTS[parts]), "tilestored": 9}
    assert text.index("ldtilecfg") < text.index("tileloadd") < text.rindex("tilerelease")
    assert link(object_code(kernel.llvm_ir(cpu), cpu)).pack()


def test_each_product_of_parts_shares_one_with_the_one_before() -> None:
    for parts, products in PRODUCTS.items():
        assert len(set(products)) == len(products) == {1: 1, 2: 3, 3: 6}[parts]
        assert all(i + j < parts for i, j in products)
        assert all((i == k) != (j == m) for (i, j), (k, m) in zip(products, products[1:], strict=False))
