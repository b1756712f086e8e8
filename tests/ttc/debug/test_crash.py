"""Folders that crashes leave behind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ttc.compiler.driver import compile_path
from ttc.debug.crash import Crash, CrashWatch, ErrorSignature, read_crash, save, write_crash
from ttc.debug.reduce import Reduction, resized
from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.balance import Balance
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.pipeline import stages


def break_pass(monkeypatch: pytest.MonkeyPatch, kind: type[Pass], op: str) -> None:
    """Let a pass crash once it has done its work and the module holds an op of that name."""
    original = kind.apply

    def apply(self: Pass, unit: Unit, rewriter: Rewriter) -> None:
        original(self, unit, rewriter)
        found = [item for item in unit.module.walk() if item.name == op]
        if found:
            raise KeyError(f"{op} of {len(found)}")

    monkeypatch.setattr(kind, "apply", apply)


def crashed(model: Path, folder: Path, **more: bool) -> tuple[Path, Crash]:
    options, watch = resolve(CompileOptions, {"batch": 2}), CrashWatch()
    with pytest.raises(KeyError):
        compile_path(model, options, [watch])
    written = write_crash(folder, model, options, watch, ["ttc", "compile"], with_weights=more.get("with_weights", False))
    assert written is not None
    return written, read_crash(written)


@pytest.mark.parametrize(("kind", "op", "files"), [(Canonicalize, "nn.softmax", 5), (Balance, "tile.softmax", 6)])
def test_a_crash_can_be_run_again_and_made_smaller(
    kind: type[Pass], op: str, files: int, small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_pass(monkeypatch, kind, op)
    folder, crash = crashed(small_onnx, tmp_path)
    assert folder.name.startswith("ttc-crash-")
    assert len(list(folder.iterdir())) == files
    assert crash.passes == kind.name
    assert crash.signature == ErrorSignature("KeyError", f"'{op} of #'")
    assert "ttc.seed = 0" in crash.text
    assert ErrorSignature.of(crash.error() or KeyError()) == crash.signature
    reduction = Reduction(crash, lambda line: None)
    assert reduction.ops() > 1
    text = reduction.run()
    assert reduction.ops() == 1
    assert op.partition(".")[2] in text
    monkeypatch.undo()
    assert crash.error() is None
    with pytest.raises(Error, match="does not fail"):
        Reduction(crash, lambda line: None).run()


def test_weights_are_kept_on_request(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_pass(monkeypatch, Canonicalize, "nn.softmax")
    folder, crash = crashed(small_onnx, tmp_path, with_weights=True)
    assert crash.weights == folder / "weights.npz"
    assert "ttc.seed" not in crash.text
    assert ErrorSignature.of(crash.error() or KeyError()) == crash.signature
    reduction = Reduction(crash, lambda line: None)
    save(replace(reduction.crash, text=reduction.run()), tmp_path / "small")
    assert read_crash(tmp_path / "small").weights == tmp_path / "small" / "weights.npz"
    assert ErrorSignature.of(read_crash(tmp_path / "small").error() or KeyError()) == crash.signature


@pytest.mark.parametrize("record", ["{", "{}", '{"passes": 3, "error": {"kind": "a", "message": "b"}}', "[" * 5000])
def test_folders_that_are_no_crashes(record: str, tmp_path: Path) -> None:
    (tmp_path / "input.mlir").write_text("builtin.module {}")
    (tmp_path / "crash.json").write_text(record)
    with pytest.raises(Error) as caught:
        read_crash(tmp_path)
    assert caught.value.code == "E0301"
    with pytest.raises(Error) as caught:
        read_crash(tmp_path / "none")
    assert caught.value.code == "E0102"


def test_sizes_change_in_types_and_lists_alone() -> None:
    text = '%12 = nn.x(%0) {shape = [12, 3], axis = 12} : (tensor<12x3xf32>, !tile.tensor<"2x12xFloat32", "rows">) loc("a12":12:3)'
    assert resized(text, 12, 4) == text.replace("[12, 3]", "[4, 3]").replace("<12x3x", "<4x3x").replace("2x12x", "2x4x")


def test_the_record_says_what_ran(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_pass(monkeypatch, Balance, "tile.softmax")
    folder, crash = crashed(small_onnx, tmp_path)
    names = [p.name for p in stages(load_target("n150"))["netlist"]]
    record = json.loads((folder / "crash.json").read_text())
    assert record["earlier"]["passes"].split(",") == names[: names.index("balance") + 1]
    assert crash.earlier is not None
    assert "KeyError" in (folder / "traceback.txt").read_text()
    assert "numpy " in (folder / "versions.txt").read_text()
    assert (folder / "command.txt").read_text() == "ttc compile\n"
