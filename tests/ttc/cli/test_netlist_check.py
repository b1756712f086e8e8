"""`ttc netlist check`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ttc.cli import main

ROOT = Path(__file__).resolve().parents[3]
NETLISTS = ROOT / "tests" / "data" / "netlists"
BASE = NETLISTS / "small" / "base.yaml"


def test_a_valid_netlist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netlist", "check", str(BASE)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{BASE}: valid for wormhole_b0: 2 graphs, 6 ops, 6 queues, 1 program, 0 fused ops\n"
    assert captured.err == ""


def test_violations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.yaml"
    path.write_text(BASE.read_text().replace("inputs: [sum]", "inputs: [smu]").replace("      mblock: [2, 1]\n", "      mblock: [4, 1]\n"))
    assert main(["netlist", "check", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"error[E0601]: {path}:51: op 'turn': its input 'smu' is no queue and no op",
        "hint: did you mean 'sum'?",
        f"error[E0622]: {path}:30: op 'product': input 0 is 1x2x4 tiles after its tile manipulations, but m_k 2, u_kt 2 and the output "
        "1x4x4 need 1x4x4",
        f"{path}: 2 violations",
    ]


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netlist", "check", str(BASE), "--json", "--arch", "Wormhole_B0"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": str(BASE),
        "valid": True,
        "archs": ["wormhole_b0"],
        "graphs": 2,
        "ops": 6,
        "queues": 6,
        "programs": 1,
        "fused_ops": 0,
        "violations": [],
        "warnings": [],
    }
    path = tmp_path / "n.yaml"
    path.write_text(BASE.read_text().replace("      - endloop", ""))
    assert main(["netlist", "check", str(path), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out)["violations"] == [
        {"code": "E0652", "where": f"{path}:59: program 'run'", "message": "this loop is not ended", "hint": "add an endloop"}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([str(BASE), "--arch", "wormhole_b1"], "error[E0101]: there is no architecture 'wormhole_b1'\nhint: did you mean 'wormhole_b0'?\n"),
        (["missing.yaml"], "error[E0102]: cannot read missing.yaml: No such file or directory\n"),
        ([], "error[E0101]: Missing argument 'NETLIST'\nhint: see ttc netlist check --help\n"),
        (["/dev/null"], "error[E0102]: /dev/null is not a regular file\n"),
    ],
)
def test_what_cannot_be_checked(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netlist", "check", *arguments]) == 2
    assert capsys.readouterr().err == message


def test_an_architecture_that_is_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netlist", "check", str(BASE), "--arch", "grayskull"]) == 2
    assert f"error[E0612]: {BASE}:2: devices: it is for wormhole_b0, not for grayskull\n" in capsys.readouterr().err


def test_files_that_are_not_netlists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.yaml"
    path.write_bytes(BASE.read_bytes()[:3000])
    assert main(["netlist", "check", str(path)]) == 2
    assert f"error[E0611]: {path}:" in capsys.readouterr().err
    path.write_bytes(b"\x1b[31m: {a: b}\n")
    assert main(["netlist", "check", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_long_lists_of_violations_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.yaml"
    path.write_text("devices: {arch: grayskull}\nqueues: {" + ", ".join(f"q{i}: 3" for i in range(1500)) + "}\ngraphs: {}\nprograms: []\n")
    assert main(["netlist", "check", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1001
    assert lines[-1] == f"{path}: 1500 violations, of which the first 1000 are listed"


def test_a_netlist_of_a_thousand_ops_has_no_violation() -> None:
    from ttc.dialects.netlist.buda.reader import read_form
    from ttc.dialects.netlist.buda.rules.check import check_form

    path = NETLISTS / "valid" / "perf_lib" / "graph_tests" / "wormhole_b0" / "inference" / "bert_large_hifi3_fp16b.yaml"
    form, found = read_form(path)
    assert check_form(form, None, found) == []
    assert sum(len(graph.ops) for graph in form.graphs.values()) == 961


def test_it_loads_only_what_it_needs() -> None:
    code = (
        "import sys\nfrom ttc.cli import main\n"
        f"assert main(['netlist', 'check', {str(BASE)!r}]) == 0\n"
        "print([name for name in ('xdsl', 'onnx', 'torch', 'numpy', 'rich') if name in sys.modules])"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)
    assert child.stdout.splitlines()[-1] == "[]"


def test_a_field_written_again_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.yaml"
    path.write_text(BASE.read_text().replace("      math_fidelity: HiFi3\n", "      math_fidelity: LoFi\n      math_fidelity: HiFi3\n"))
    assert main(["netlist", "check", str(path)]) == 0
    message = "'math_fidelity' is written again, after line 35: the last counts"
    assert capsys.readouterr().err == f"warning: {path}:36: {message}\n"
    assert main(["netlist", "check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [{"code": "E0613", "where": f"{path}:36", "message": message, "hint": None}]
