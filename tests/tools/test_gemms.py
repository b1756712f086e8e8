"""`tools/gemms.py`."""

from __future__ import annotations

import json

import pytest

import gemms
from ttc.dialects.netlist.model import Grid


def test_published_products_are_met(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gemms.py", "--json"])
    assert gemms.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["gemms"]) == len(gemms.GEMMS)
    assert found["median errors"].keys() == {"n150", "p150", "p150, fitted"}
    assert max(found["median errors"].values()) <= 0.15


@pytest.mark.parametrize("gemm", gemms.GEMMS)
def test_a_product_fits_its_cores(gemm: gemms.Gemm) -> None:
    netlist = gemms.netlist_of(gemm)
    (op,) = netlist.graphs["g"].ops
    assert op.place == Grid(0, 0, *gemm.grid)
    assert op.blocking is not None
    assert op.inner is not None
    assert op.blocking.tiles * gemm.grid[0] * gemm.grid[1] == gemm.m * gemm.n // 1024
    assert op.inner[0] * op.inner[1] == gemm.k // 32
    assert sum(buffer.size_bytes for buffer in op.buffers) <= netlist.chip.l1_usable_bytes
