"""Compilations: stages, resuming, recorded options, determinism."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archives import run_alike
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.instruments.dump import Dump
from ttc.options import STAGES, CompileOptions, resolve

STOPS = STAGES[:-1]


def compiled(path: Path, out: Path, **fields: object) -> bytes:
    """Compile, write the result, and give its bytes."""
    result = compile_path(path, resolve(CompileOptions, fields))
    if result.package is None:
        out.write_text(result.text())
    else:
        result.program().save(out)
    return out.read_bytes()


def code(path: Path, **fields: object) -> str:
    with pytest.raises(Error) as caught:
        compile_path(path, resolve(CompileOptions, fields))
    return caught.value.code


@pytest.mark.parametrize("target", ["n150", "host"])
def test_stages_are_timed_in_order(target: str, small_onnx: Path) -> None:
    result = compile_path(small_onnx, resolve(CompileOptions, {"target": target, "batch": 2}))
    assert [time.stage for time in result.times] == list(STAGES)
    assert result.package is not None
    assert result.package.netlist.chip.target == target
    assert dict(result.package.description.options) == {"target": target, "format": "source", "precision": "float32", "batch": 2}


@pytest.mark.parametrize("format_", ["source", "Float16_b"])
@pytest.mark.parametrize("target", ["n150", "host"])
def test_resuming_gives_the_same_bytes(target: str, format_: str, small_onnx: Path, tmp_path: Path) -> None:
    whole = compiled(small_onnx, tmp_path / "a.tti", target=target, format=format_, batch=2)
    assert compiled(small_onnx, tmp_path / "again.tti", target=target, format=format_, batch=2) == whole
    for stage in STOPS:
        text = tmp_path / f"{stage}.mlir"
        compiled(small_onnx, text, target=target, format=format_, batch=2, to=stage)
        weights = tmp_path / "a.tti" if stage != "import" else small_onnx
        again = compiled(text, tmp_path / "b.tti", weights=weights)
        assert run_alike(tmp_path / "b.tti") == run_alike(tmp_path / "a.tti"), stage
        assert (again == whole) == (stage in ("import", "nn")), stage  # text past stage nn tells nothing of that


def test_a_later_stage_resumed_to_an_earlier_one(small_onnx: Path, tmp_path: Path) -> None:
    text = tmp_path / "tile.mlir"
    compiled(small_onnx, text, batch=2, to="tile")
    assert code(text, to="nn") == "E0305"
    assert code(text, from_="nn") == "E0305"


def test_recorded_options_hold(small_onnx: Path, tmp_path: Path) -> None:
    text = tmp_path / "tile.mlir"
    compiled(small_onnx, text, batch=2, to="tile", target="host")
    assert code(text, target="n150") == "E0101"
    assert code(text, format="Float16_b") == "E0101"
    again = compile_path(text, resolve(CompileOptions, {"target": "host", "to": "tile"}))
    assert again.options.batch == 2
    assert again.text() == text.read_text()


def test_without_weights_nothing_is_emitted(small_onnx: Path, tmp_path: Path) -> None:
    text = tmp_path / "netlist.mlir"
    compiled(small_onnx, text, batch=2, to="netlist")
    assert code(text) == "E0304"


def test_bad_options_fail_before_work(small_onnx: Path, tmp_path: Path) -> None:
    assert code(small_onnx, target="n151") == "E0101"
    assert code(small_onnx) == "E0205"


@pytest.mark.parametrize("stop", ["nn:canonicalize@2", "tile:assign-formats", "netlist:balance", "netlist:allocate-memory"])
def test_stopping_after_a_pass_and_going_on(stop: str, small_onnx: Path, tmp_path: Path) -> None:
    whole = compiled(small_onnx, tmp_path / "a.tti", batch=2)
    text = tmp_path / "part.mlir"
    compiled(small_onnx, text, batch=2, to=stop)
    again = compiled(text, tmp_path / "b.tti", weights=small_onnx)
    assert run_alike(tmp_path / "b.tti") == run_alike(tmp_path / "a.tti")
    assert (again == whole) == stop.startswith("nn:")


def test_passes_to_stop_after_that_do_not_run(small_onnx: Path, tmp_path: Path) -> None:
    assert code(small_onnx, batch=2, to="tile:balance") == "E0101"
    assert code(small_onnx, batch=2, to="nn:canonicalize@99") == "E0101"
    text = tmp_path / "part.mlir"
    compiled(small_onnx, text, batch=2, to="tile:cancel-tms")
    assert code(text, to="tile:assign-formats", weights=small_onnx) == "E0305"
    assert code(text, to="nn:canonicalize", weights=small_onnx) == "E0305"
    with pytest.raises(Error):
        resolve(CompileOptions, {"to": "import:x"})


def test_dump(small_onnx: Path, tmp_path: Path) -> None:
    compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "nn"}), [Dump(tmp_path / "d")])
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["00.import", "01.nn", "index.json"]
    names = sorted(path.name for path in (tmp_path / "d" / "01.nn").iterdir())
    assert names[0].startswith("001.")
    assert names[0].endswith(".mlir")
