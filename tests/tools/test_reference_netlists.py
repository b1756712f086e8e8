"""`tools/reference_netlists.py`: figures of a netlist, and when it fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import reference_netlists
from reference_netlists import REFERENCES, Reference, Side, descriptor, side
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.runtime.perf.run import run_cost

NETLISTS = Path(__file__).resolve().parents[1] / "data" / "netlists" / "valid"
SIDE = Side(64, 100.0, 90.0, 50.0, 1.0, 3, "math", 0.5, 10.0, {"math": 90.0})


def test_every_reference_is_at_hand() -> None:
    assert all((NETLISTS / "perf_lib" / "graph_tests" / f"{reference.path}.yaml").is_file() for reference in REFERENCES)


def test_figures_of_a_netlist() -> None:
    cost = run_cost(to_netlist(read_netlist(NETLISTS / "perf_lib" / "graph_tests" / f"{REFERENCES[2].path}.yaml")))
    found = side(cost)
    assert (found.samples, found.epochs) == (128, 6)
    assert found.run_ms == pytest.approx(cost.seconds * 1e3)
    alone = sum(found.limits_ms.values()) + found.switch_ms  # cores go on to their next epoch while others still work
    assert 0.97 * alone < found.device_ms < alone


def test_the_chip_of_a_netlist(tmp_path: Path) -> None:
    found = load_target(str(descriptor(tmp_path, "whole", "wormhole_b0", (10, 8))))
    assert (found.arch, found.grid) == ("wormhole_b0", (10, 8))


@pytest.mark.parametrize(("kernels", "ms", "status"), [("fused", 80.0, 0), ("fused", 81.0, 1), ("buda", 100.0, 0), ("buda", 101.0, 1)])
def test_bars(
    kernels: str, ms: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compared(reference: Reference, root: Path, folder: Path, kernels: str) -> tuple[Side, Side]:
        return SIDE, replace(SIDE, run_ms=ms)

    monkeypatch.setattr("sys.argv", ["reference_netlists.py", str(tmp_path), "--kernels", kernels, "--folder", str(tmp_path)])
    monkeypatch.setattr(reference_netlists, "compared", compared)
    assert reference_netlists.main() == status
    assert f"{ms / 100:.2f}" in capsys.readouterr().out
