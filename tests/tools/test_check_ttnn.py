"""`tools/check_ttnn.py` and what it is made of, without TT-NN: another process stands for its worker."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

import torch  # noqa: E402

import ttnn_remote  # noqa: E402
from check_ttnn import Estimate, Row, estimated, main, table  # noqa: E402
from ttnn_elf import kernel_bytes  # noqa: E402
from ttnn_machines import BOARD_KINDS, MACHINES  # noqa: E402
from ttnn_remote import Refusal, Remote, install_stub  # noqa: E402

WORKER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    print(file=open("requests.txt", "a"), *[line.strip()])
    match request["do"]:
        case "open": value = [{"object": 1}, 1000]
        case "make": value = {"object": 2, "shape": request["shape"], "dtype": "bfloat16", "layout": "TILE"}
        case "call" if request["name"] == "ttnn.refused": print(json.dumps({"refused": "no such kernel"}), flush=True); continue
        case "call": value = {"tuple": [{"object": 3, "shape": [4, 8], "dtype": "bfloat16", "layout": "TILE"}, 7]}
        case _: value = None
    print(json.dumps({"value": value}), flush=True)
"""


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A worker without TT-NN that takes all calls but one."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(ttnn_remote, "WORKER", worker)
    monkeypatch.chdir(tmp_path)
    made = Remote(Path(sys.executable), MACHINES["4xp150"], tmp_path)
    yield made
    made.close()


def test_calls_are_sent_and_recorded(remote: Remote) -> None:
    ttnn = remote.module
    mapper = ttnn.ShardTensorToMesh(remote.device, dim=0)
    tensor = ttnn.from_torch(
        torch.zeros(8, 16), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=remote.device, memory_config=ttnn.L1, mesh_mapper=mapper
    )
    found, number = ttnn.matmul(tensor, tensor, transpose_a=True, scale=float("-inf"))
    assert remote.answers == [("matmul(bfloat16[2, 16] TILE, bfloat16[2, 16] TILE, scale=-inf, transpose_a=True)", "bfloat16[4, 8] TILE")]
    assert (number, ttnn.to_torch(found).shape, ttnn.to_torch(found).dtype) == (7, (4, 8), torch.bfloat16)
    assert ttnn.to_torch(found, mesh_composer=ttnn.ConcatMeshToTensor(remote.device, dim=0)).shape == (16, 8)
    assert remote.calls == 5
    del found
    remote.ask(do="begin", place=True)
    assert '"free": [3]' in Path("requests.txt").read_text().splitlines()[-1]


def test_refusals(remote: Remote) -> None:
    with pytest.raises(Refusal, match="no such kernel"):
        remote.module.refused(remote.device)
    spread = remote.module.ShardTensorToMesh(remote.device, dim=0)
    with pytest.raises(Refusal, match="6 rows cannot be divided over 4 devices"):
        remote.module.from_torch(torch.zeros(6, 1), dtype=remote.module.x, layout=remote.module.x, mesh_mapper=spread)
    remote.process.kill()
    remote.process.wait()
    with pytest.raises(Refusal, match="has ended"):
        remote.module.relu(remote.device)


def test_a_python_without_ttnn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for python in (sys.executable, str(tmp_path / "none")):
        assert main(["--python", python]) == 2
        assert "make conformance-ttnn" in capsys.readouterr().err


def test_the_stub_of_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    package = tmp_path / "ttnn"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    install_stub(Path(sys.executable))
    stub = package / ttnn_remote.COMPILER
    assert subprocess.run([stub, "--version"], capture_output=True, check=True).stdout.startswith(b"riscv-tt-elf-g++")
    subprocess.run([stub, "-c", "-o", tmp_path / "a.o", "a.cc", "-MF", tmp_path / "a.d"], check=True)
    subprocess.run([stub, "-o", tmp_path / "a.elf", "a.o"], check=True)
    assert ((tmp_path / "a.o").read_bytes(), (tmp_path / "a.elf").read_bytes()) == (b"", kernel_bytes())
    assert (tmp_path / "a.d").read_text() == f"{tmp_path}/a.o:\n"
    install_stub(Path(sys.executable))
    stub.write_text("#!/bin/sh\n# a compiler for cards")
    with pytest.raises(Refusal, match="is a compiler"):
        install_stub(Path(sys.executable))
    assert main(["--python", sys.executable]) == 2
    assert stub.read_text().endswith("for cards")


def test_the_kernel_is_an_executable_of_riscv() -> None:
    data = kernel_bytes()
    assert data[:5] == b"\x7fELF\x01"
    assert struct.unpack_from("<HH", data, 16) == (2, 243)
    (sections,), (size, count, names) = struct.unpack_from("<I", data, 32), struct.unpack_from("<HHH", data, 46)
    assert len(data) == sections + size * count
    (offset,) = struct.unpack_from("<I", data, sections + size * names + 16)
    assert data[offset:].startswith(b"\0.text\0.rela.text\0")


@pytest.mark.parametrize("name", MACHINES)
def test_descriptors(name: str) -> None:
    machine = MACHINES[name]
    facts = yaml.safe_load(machine.descriptor())
    assert set(facts["arch"]) == set(facts["harvesting"]) == set(facts["chip_to_boardtype"]) == set(range(machine.chips))
    assert sorted(chip for board in facts["boards"] for chip in board[2]["chips"]) == list(range(machine.chips))
    assert {board[0]["board_id"] >> 36 for board in facts["boards"]} == {BOARD_KINDS[machine.board]}
    ends = [(end["chip"], end["chan"]) for link in facts["ethernet_connections"] for end in link]
    assert len(ends) == len(set(ends)), "a channel has one other end"
    assert {chip for chip, _ in ends} == (set(range(machine.chips)) if machine.chips > 1 else set())


def test_the_table() -> None:
    rows = [Row("mlp", "n150", 1, 13, 29_000), Row("mlp", "p150", 1, 0, 0, "no")]
    assert table(rows).splitlines()[2] == "| mlp | 1 | 13 | 29 | refused |  |"
    rows[0] = replace(rows[0], ours=Estimate(31_000, 2e-5))
    head, rule, row = table(rows).splitlines()
    assert row == "| mlp | 1 | 13 | 29 | 31 | 20 | refused |  |  |  |"
    assert head.count("|") == rule.count("|") == row.count("|")


def test_what_ttc_estimates() -> None:
    found = estimated("mlp", 1, "n150")
    assert 10_000 < found.peak_bytes < 1_500_000
    assert 1e-6 < found.seconds < 1e-2
