"""Our dialects and passes in xDSL's own tool."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from xdsl.universe import XDSL_UNIVERSE
from xdsl.xdsl_opt_main import xDSLOptMain

from tests.ttc.debug.test_opt import TEXT
from ttc.debug.xdsl_universe import UNIVERSE
from ttc.passes.pipeline_text import all_passes


def test_names_do_not_clash_with_those_of_xdsl() -> None:
    assert set(UNIVERSE.all_dialects) == {"ttc", "nn", "tile", "netlist"}
    assert set(UNIVERSE.all_passes) == {f"ttc-{name}" for name in all_passes()}
    assert not set(UNIVERSE.all_dialects) & set(XDSL_UNIVERSE.all_dialects)
    assert not set(UNIVERSE.all_passes) & set(XDSL_UNIVERSE.all_passes)
    for name, make in UNIVERSE.all_dialects.items():
        assert make().name == name


def test_the_entry_point_names_it() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["xdsl.universe"] == {"ttc": "ttc.debug.xdsl_universe:UNIVERSE"}


def test_passes_run_in_xdsl_opt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Tool(xDSLOptMain):
        """With ours beside xDSL's own, which is what it finds where ttc is installed."""

        def register_all_dialects(self) -> None:
            super().register_all_dialects()
            for name in sorted(UNIVERSE.all_dialects.keys() - self.ctx.registered_dialect_names):
                self.ctx.register_dialect(name, UNIVERSE.all_dialects[name])

        def register_all_passes(self) -> None:
            super().register_all_passes()
            for name in sorted(UNIVERSE.all_passes.keys() - self.available_passes):
                self.register_pass(name, UNIVERSE.all_passes[name])

    file = tmp_path / "t.mlir"
    file.write_text(TEXT)
    Tool(args=[str(file), "-p", "ttc-canonicalize,ttc-stream-batch{samples=2},ttc-lower-to-tile"]).run()
    out = capsys.readouterr().out
    assert 'tile.map(%0) {fn = "relu"}' in out
    assert "identity" not in out
