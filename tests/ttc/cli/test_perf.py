"""`ttc perf`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ttc.cli import main

Capture = pytest.CaptureFixture[str]
NETLISTS = Path(__file__).resolve().parents[2] / "data" / "netlists"


@pytest.fixture
def archive(small_onnx: Path) -> str:
    path = small_onnx.with_name("small.tti")
    assert main(["compile", str(small_onnx), "-o", str(path), "--batch", "2", "--target", "n150", "-q"]) == 0
    return str(path)


def test_table(archive: str, capsys: Capture) -> None:
    capsys.readouterr()
    assert main(["perf", archive]) == 0
    out = capsys.readouterr().out
    heads = [line.split()[:3] for line in out.splitlines() if line.startswith("epoch ")]
    assert "ops, in cycles a microbatch (1 ns a cycle):\n" in out
    assert heads == [["epoch", "op", "type"], ["epoch", "chip", "inputs"]]
    assert "program forward on n150: 1 chip of 72 cores at 1.00 GHz" in out
    assert "samples/s" in out


def test_json_and_trace(archive: str, tmp_path: Path, capsys: Capture) -> None:
    capsys.readouterr()
    trace = tmp_path / "trace.json"
    assert main(["perf", archive, "--json", "--trace", str(trace)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["program"], found["samples"], found["deadlocks"]) == ("forward", 2, [])
    assert found["cycles"] > found["switch_cycles"] > 0
    assert all(op["limit"] for epoch in found["epochs"] for op in epoch["ops"])
    assert json.loads(trace.read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--param", "n"], "E0101"),
        (["--param", "n=x"], "E0101"),
        (["--program", "none"], "E0803"),
        (["--trace", "/nowhere/trace.json"], "E0103"),
    ],
)
def test_what_is_refused(archive: str, arguments: list[str], code: str, capsys: Capture) -> None:
    assert main(["perf", archive, *arguments]) == 2
    assert f"[{code}]" in capsys.readouterr().err


def test_a_program_for_the_host_has_no_device(small_onnx: Path, capsys: Capture) -> None:
    path = small_onnx.with_name("host.tti")
    assert main(["compile", str(small_onnx), "-o", str(path), "--batch", "2", "--target", "host", "-q"]) == 0
    assert main(["perf", str(path)]) == 2
    assert "[E0101]" in capsys.readouterr().err


def test_archives_are_costed_without_the_compiler(archive: str) -> None:
    code = (
        "import sys\nfrom ttc.cli import main\n"
        f"status = main(['perf', {archive!r}, '--json'])\n"
        "print(sorted({'xdsl', 'onnx', 'torch'} & set(sys.modules)), file=sys.stderr)\nsys.exit(status)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stderr.strip() == "[]"


def test_a_buda_netlist(capsys: Capture) -> None:
    assert main(["perf", str(NETLISTS / "small" / "base.yaml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], found["cores"]) == ("wormhole_b0", 80)
    assert found["cycles"] > 0
    assert all("base.yaml:" in op["location"][0] for epoch in found["epochs"] for op in epoch["ops"])


def test_the_architecture_of_a_netlist_can_be_chosen(archive: str, capsys: Capture) -> None:
    listed = next(path for path in sorted((NETLISTS / "valid").rglob("*.yaml")) if "[grayskull, wormhole" in path.read_text())
    assert main(["perf", str(listed), "--arch", "wormhole_b0", "-q"]) == 0
    assert " on wormhole_b0: " in capsys.readouterr().out
    assert main(["perf", archive, "--arch", "grayskull"]) == 2
    assert "[E0101]" in capsys.readouterr().err


JOIN = """
devices: {{arch: wormhole_b0}}
queues:
  x: {{input: HOST, type: queue, entries: 2, grid_size: [1, 1], t: 8, mblock: [1, 1], ublock: [1, 4], ublock_order: r, df: Float16_b,
      target_device: 0, loc: dram, dram: [[0, 0x10000000]]}}
  w: {{input: HOST, type: ram, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [4, 4], ublock_order: r, df: Float16_b,
      target_device: 0, loc: dram, dram: [[1, 0x10000000]]}}
  y: {{input: join, type: queue, entries: 2, grid_size: [1, 1], t: 8, mblock: [1, 1], ublock: [1, 4], ublock_order: r, df: Float16_b,
      target_device: 0, loc: dram, dram: [[2, 0x10000000]]}}
graphs:
  g:
    target_device: 0
    input_count: 2
    fork: {{type: nop, grid_loc: [0, 0], grid_size: [1, 1], inputs: [x], t: 8, mblock: [1, 1], ublock: [1, 4], buf_size_mb: {blocks},
           ublock_order: r, in_df: [Float16_b], out_df: Float16_b, intermed_df: Float16_b, acc_df: Float16_b, math_fidelity: HiFi3}}
    sum: {{type: matmul, grid_loc: [0, 1], grid_size: [1, 1], inputs: [fork, w], t: 1, mblock: [8, 1], ublock: [1, 4], buf_size_mb: 2,
          ublock_order: r, in_df: [Float16_b, Float16_b], out_df: Float16_b, intermed_df: Float16_b, acc_df: Float16_b,
          math_fidelity: HiFi3, input_0_tms: [vstack: 8], attributes: {{m_k: 1, u_kt: 4}}}}
    join: {{type: add, grid_loc: [0, 2], grid_size: [1, 1], inputs: [sum, fork], t: 8, mblock: [1, 1], ublock: [1, 4], buf_size_mb: 2,
           ublock_order: r, in_df: [Float16_b, Float16_b], out_df: Float16_b, intermed_df: Float16_b, acc_df: Float16_b,
           math_fidelity: HiFi3, input_0_tms: [vslice: 8]}}
programs:
  - run:
    - execute: {{graph_name: g, queue_settings: {{
        x: {{prologue: false, epilogue: false, zero: false, rd_ptr_local: 0, rd_ptr_global: 0}},
        w: {{prologue: true, epilogue: false, zero: false, rd_ptr_global: 0, wr_ptr_global: 0}}}}}}
"""


@pytest.mark.parametrize(("blocks", "status"), [(2, 1), (8, 0)])
def test_a_netlist_that_stands_still_is_explained(blocks: int, status: int, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "join.yaml"
    path.write_text(JOIN.format(blocks=blocks))
    assert main(["perf", str(path), "--json"]) == status
    captured = capsys.readouterr()
    told = json.loads(captured.out)["deadlocks"]
    assert len(told) == status
    if told:
        assert "'fork' waits for room in the buffers to 'join'" in told[0]
        assert "the buffers between 'fork' and 'join' hold 16 tiles on a core and need 28" in told[0]
        assert f"deadlock: {told[0]}" in captured.err
