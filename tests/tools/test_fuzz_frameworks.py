"""`tools/fuzz_frameworks.py`: a program that PyTorch has read before gives what it would give anew, with the weights of its own file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from random import Random

import pytest

import fuzz_frameworks
from fuzz_formats import Files, zipped
from fuzz_seeds import pt2_seeds
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions, resolve

pt2 = pytest.importorskip("ttc.importers.torch.pt2")
exported = pytest.importorskip("ttc.importers.torch.exported")
WEIGHT, PROGRAM = "archive/data/weights/weight_0", "archive/models/model.json"


def compiled(folder: Path, files: Files) -> tuple[str, list[bytes]]:
    """IR and what its weights hold."""
    path = folder / "m.pt2"
    path.write_bytes(zipped(files, Random(1)))
    result = compile_path(path, resolve(CompileOptions, {"to": "nn", "target": "host"}))
    return result.text(), [result.unit.weights[key].value().tobytes() for key in result.unit.weights]


def test_programs_that_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program and other weights are seen; only a program that was not seen is taken apart by PyTorch."""
    first, second = pt2_seeds(tmp_path)
    other_weights = {**first, WEIGHT: bytes(len(first[WEIGHT]))}
    other_program = {**first, PROGRAM: first[PROGRAM].replace(b"torch.ops.aten.softmax.int", b"torch.ops.aten.log_softmax.int")}
    files = (first, second, other_weights, other_program)
    expected = [compiled(tmp_path, each) for each in files]
    assert expected[2][1] != expected[0][1]
    assert expected[3][0] != expected[0][0]

    monkeypatch.setattr(pt2, "ExportedProgramDeserializer", pt2.ExportedProgramDeserializer)
    taken_apart, decomposed = [], exported.decomposed
    monkeypatch.setattr(exported, "decomposed", lambda program: taken_apart.append(program) or decomposed(program))
    fuzz_frameworks._remember_programs()
    fuzz_frameworks._remember_programs.cache_clear()
    for _ in range(2):
        assert [compiled(tmp_path, each) for each in files] == expected
    assert len(taken_apart) == 3


def test_models_of_keras_that_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process runs again for other weights alone, and what it wrote and how it ended are as before."""
    keras = pytest.importorskip("ttc.importers.tf.keras")
    runs: list[bytes] = []

    def fork(folder: Path, _: int) -> int:
        weights = zipfile.ZipFile(folder / "model.keras").read(keras.WEIGHTS)
        runs.append(weights)
        (folder / "graph.pb").write_bytes(weights * 2)
        return 1 if weights == b"bad" else 0

    monkeypatch.setattr(fuzz_frameworks, "_fork", fork)
    monkeypatch.setattr(fuzz_frameworks, "_traces", {})
    monkeypatch.setattr(fuzz_frameworks, "MAX_KEPT", 2)
    for number, weights in enumerate((b"good", b"bad", b"good", b"bad", b"other", b"bad")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "model.keras").write_bytes(zipped({keras.CONFIG: b"{}", keras.WEIGHTS: weights}, Random(1)))
        (folder / "output.txt").write_bytes(b"")
        if weights == b"bad":
            with pytest.raises(Error, match="its process ended with status 1"):
                fuzz_frameworks._trace_forked(folder, 1)
        else:
            fuzz_frameworks._trace_forked(folder, 1)
        assert (folder / "graph.pb").read_bytes() == weights * 2
    assert runs == [b"good", b"bad", b"other"]
