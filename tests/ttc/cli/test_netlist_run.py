"""`ttc netlist run`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.golden.netlists import execute, graph, netlist, op, program, queue, streamed
from ttc.cli import main

Capture = pytest.CaptureFixture[str]
TEXT = netlist(
    queue("x/1", "HOST", df="Float16_b")
    + queue("w", "HOST", type="ram", entries=1, df="Float16_b", at=1)
    + queue("y", "sum", df="Float16_b", at=2),
    graph("g", op("sum", "add", ["x/1", "w"], df="Float16_b"), input_count=2),
    program(
        "forward",
        *("param: [$p_loop_count]", "staticvar: {$l: 0, $g: 0}", "var: {$z: 0}", "loop: $p_loop_count"),
        execute("g", **{"x/1": streamed(), "w": "rd_ptr_global: $z, wr_ptr_global: $z"}),
        *("varinst: [$l, incwrap, 2, 8]", "varinst: [$g, incwrap, 2, 8]", "endloop"),
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT)
    return path


def run(*arguments: object) -> int:
    return main(["netlist", "run", *map(str, arguments)])


def test_table(file: Path, capsys: Capture):
    assert run(file, "--stimulus", "constant", "--param", "p_loop_count=3") == 0
    captured = capsys.readouterr()
    assert captured.err == "program forward with p_loop_count=3\n"
    rows = [line.split() for line in captured.out.splitlines()]
    assert rows[0] == ["queue", "role", "format", "shape", "entries", "mean", "std", "min", "max", "non-finite"]
    assert rows[1] == ["x/1", "input", "Float16_b", "1x32x32", "6", "1", "0", "1", "1", "0"]
    assert rows[3] == ["y", "output", "Float16_b", "1x32x32", "6", "2", "0", "2", "2", "0"]


def test_json(file: Path, capsys: Capture):
    assert run(file, "--json", "--seed", 5) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["programs"] == [{"name": "forward", "parameters": {"p_loop_count": 1}}]
    assert (found["seed"], found["microbatches"]) == (5, 2)
    assert [(q["name"], q["role"], q["entries"], q["shape"]) for q in found["queues"]] == [
        ("x/1", "input", 2, [1, 32, 32]),
        ("w", "input", 1, [1, 32, 32]),
        ("y", "output", 2, [1, 32, 32]),
    ]
    assert found["queues"][2]["mean"] == pytest.approx(found["queues"][0]["mean"] + found["queues"][1]["mean"])


def test_programs_run_in_the_order_given(file: Path, capsys: Capture):
    assert run(file, "--json", "--program", "forward", "--program", "forward", "--arch", "wormhole_b0") == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["name"] for p in found["programs"]] == ["forward", "forward"]
    assert found["queues"][2]["entries"] == 4


def test_the_native_engine_computes_the_same(file: Path, capsys: Capture):
    documents = []
    for engine in ("reference", "native"):
        assert run(file, "--json", "--engine", engine) == 0
        documents.append(json.loads(capsys.readouterr().out))
    expected, found = ({queue["name"]: queue["mean"] for queue in document["queues"]} for document in documents)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_files_let_anybody_compute_it_again(file: Path, tmp_path: Path, capsys: Capture):
    folder = tmp_path / "out"
    assert run(file, "--output-dir", folder, "-q") == 0
    assert capsys.readouterr().out == ""
    assert sorted(p.name for p in folder.iterdir()) == ["outputs.json", "w.npy", "x_1.npy", "y.npy"]
    x, w, y = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in ("x_1", "w", "y"))
    np.testing.assert_array_equal(y, x + w)
    index = json.loads((folder / "outputs.json").read_text())["outputs"]
    assert index[0] == {"name": "x/1", "file": "x_1.npy", "dtype": "float32", "shape": [2, 1, 32, 32], "role": "input"}


def test_given_entries_and_rounding(file: Path, tmp_path: Path):
    x = np.full((2, 1, 32, 32), 1.0, np.float32)
    np.savez(tmp_path / "in.npz", **{"x/1": x})
    np.savez(tmp_path / "rams.npz", w=np.full((1, 1, 32, 32), 2.0**-9, np.float32))
    given = ["--inputs", tmp_path / "in.npz", "--inputs", tmp_path / "rams.npz"]
    for rounding, expected in (("golden", 1 + 2.0**-9), ("formats", 1.0)):
        assert run(file, *given, "--rounding", rounding, "--output-dir", tmp_path / rounding) == 0
        assert (np.load(tmp_path / rounding / "y.npy") == expected).all()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--param", "p_loop=1"], "E0101"),
        (["--param", "p_loop_count"], "E0101"),
        (["--param", "p_loop_count=1", "--param", "$p_loop_count=2"], "E0101"),
        (["--param", f"p_loop_count={1 << 40}"], "E0101"),
        (["--param", "p_loop_count=0"], "E0608"),
        (["--param", "p_loop_count=2000000"], "E0805"),
        (["--program", "backward"], "E0803"),
        (["--stimulus", "gaussian"], "E0101"),
        (["--arch", "grayskul"], "E0101"),
    ],
)
def test_what_cannot_be_run_leaves_nothing(file: Path, tmp_path: Path, capsys: Capture, arguments: list[str], code: str):
    assert run(file, *arguments, "--output-dir", tmp_path / "out") == 2
    assert f"error[{code}]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("x", np.zeros((2, 1, 32, 32), np.float32)),
        ("y", np.zeros((2, 1, 32, 32), np.float32)),
        ("w", np.zeros((1, 32, 32), np.float32)),
        ("w", np.zeros((1, 1, 32, 32), np.int32)),
        ("w", np.array([None])),
    ],
)
def test_entries_that_do_not_fit(file: Path, tmp_path: Path, capsys: Capture, name: str, array: np.ndarray):
    np.savez(tmp_path / "in.npz", **{name: array})
    assert run(file, "--inputs", tmp_path / "in.npz") == 2
    assert "error[E0801]" in capsys.readouterr().err


def test_entries_given_twice(file: Path, tmp_path: Path, capsys: Capture):
    np.savez(tmp_path / "in.npz", w=np.zeros((1, 1, 32, 32), np.float32))
    assert run(file, "--inputs", tmp_path / "in.npz", "--inputs", tmp_path / "in.npz") == 2
    assert "error[E0801]" in capsys.readouterr().err


def test_too_few_entries(file: Path, tmp_path: Path, capsys: Capture):
    np.savez(tmp_path / "in.npz", **{"x/1": np.zeros((1, 1, 32, 32), np.float32)})
    assert run(file, "--inputs", tmp_path / "in.npz") == 2
    assert "needs more than the 1 entries" in capsys.readouterr().err


def test_broken_rules_are_noted(file: Path, capsys: Capture):
    file.write_text(TEXT.replace("0x30010000", "0x30000000"))
    assert run(file) == 0
    assert "rules of the format are broken" in capsys.readouterr().err


def test_it_loads_no_compiler(file: Path):
    code = (
        "import sys; from ttc.cli import main; assert main(sys.argv[1:]) == 0; "
        "print([m for m in ('xdsl', 'onnx', 'torch', 'llvmlite') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code, "netlist", "run", str(file), "-q"], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
