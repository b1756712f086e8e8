"""`ttc netlist fmt`: what it writes where, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.cli.app import main
from ttc.dialects.netlist.buda.normal import normalised
from ttc.dialects.netlist.buda.reader import read_netlist

SAMPLE = Path(__file__).parents[2] / "data" / "netlists" / "valid" / "loader" / "tests" / "net_program" / "gptr_updates.yaml"


def fmt(*args: str | Path) -> int:
    """The exit status of the command."""
    return main(["netlist", "fmt", *map(str, args)])


def test_text_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert fmt(SAMPLE) == 0
    text = capsys.readouterr().out
    assert text.startswith("devices:\n  arch: [grayskull, wormhole_b0, blackhole]\n\nqueues:\n  # fed by the host\n  in0: {type: queue, ")
    assert normalised(read_netlist(text.encode(), "x")) == normalised(read_netlist(SAMPLE))


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    yaml, ir = tmp_path / "a.yaml", tmp_path / "a.mlir"
    assert fmt(SAMPLE, "-o", yaml, "--ir", ir, "--arch", "blackhole") == 0
    assert capsys.readouterr().out == ""
    assert fmt(yaml) == 0
    assert capsys.readouterr().out == yaml.read_text()
    assert 'arch = "blackhole"' in ir.read_text()


def test_ir_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert fmt(SAMPLE, "--ir", "-") == 0
    text = capsys.readouterr().out
    assert text.startswith("builtin.module attributes {")
    assert 'netlist.execute() {graph = "test_unary", settings = [#netlist.setting<queue = "in0", rd_ptr_local = "$lptr"' in text


def test_a_broken_rule_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "bad.yaml", tmp_path / "out.yaml"
    path.write_text(SAMPLE.read_text().replace("ublock: [2, 2]}", "ublock: [4, 4]}"))
    assert fmt(path, "-o", out) == 2
    assert "bad.yaml:12: op 'unary0'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["-o", "OUT", "--ir", "OUT"], "E0103"),
        (["-o", "-"], "E0103"),
        (["-o", "IN"], "E0103"),
        (["-o", "/nowhere/a.yaml"], "E0103"),
        (["--arch", "tensix"], "E0101"),
    ],
)
def test_arguments(args: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.yaml"
    source.write_bytes(SAMPLE.read_bytes())
    places = {"OUT": str(tmp_path / "out"), "IN": str(source)}
    assert fmt(source, *[places.get(arg, arg) for arg in args]) == 2
    assert f"error[{code}]" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.yaml"]


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fmt(tmp_path / "none.yaml") == 2
    assert "error[E0102]" in capsys.readouterr().err
