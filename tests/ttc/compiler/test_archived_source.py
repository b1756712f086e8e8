"""Archives as the start of exports: the text that they hold is data like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.forging import Members, forge
from ttc.compiler.archived_source import archived_source, as_compiled
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import module_attr
from ttc.options import CompileOptions, resolve
from ttc.runtime.archive import NN_TEXT, open_archive
from ttc.runtime.loader import load

NAME = f"debug/{NN_TEXT}"


@pytest.fixture
def archive(small_onnx: Path, tmp_path: Path) -> Path:
    path = tmp_path / "m.tti"
    compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "target": "p150", "format": "Bfp8_b", "fidelity": "LoFi"})).save(path)
    return path


def test_text_and_weights(archive: Path) -> None:
    source = archived_source(archive, CompileOptions())
    assert source.stage == "nn"
    assert module_attr(source.module, "options") is None
    assert np.array_equal(source.weights["b"].value(), open_archive(archive).tensor("b"))
    assert set(source.weights) <= set(open_archive(archive).manifest.tensors)


def test_what_an_archive_was_compiled_with(archive: Path, small_onnx: Path, tmp_path: Path) -> None:
    found = as_compiled(archive, CompileOptions(), ("Bfp8_b",))
    assert (found.target, found.format, found.fidelity) == ("p150", "Bfp8_b", "LoFi")
    asked = resolve(CompileOptions, {"target": "n150", "format": "Float32"})
    found = as_compiled(archive, asked, ("Bfp8_b", "Float32"))
    assert (found.target, found.format, found.fidelity) == ("n150", "Float32", "LoFi")
    assert as_compiled(archive, CompileOptions(), ("Float16_b",)).format == CompileOptions().format
    compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "target": "host"})).save(tmp_path / "host.tti")
    assert as_compiled(tmp_path / "host.tti", CompileOptions(), ()).target == "n150"


@pytest.mark.parametrize("fields", [{"batch": 4}, {"shape": {"x": (4, 8)}}, {"weights": Path("x.onnx")}])
def test_shapes_are_settled(archive: Path, fields: dict[str, object]) -> None:
    with pytest.raises(Error, match="an archive has its shapes") as caught:
        archived_source(archive, resolve(CompileOptions, fields))
    assert caught.value.code == "E0101"


def replaced(data: bytes) -> Callable[[dict, Members], Members]:
    """Return what gives an archive another text, with its size and hash."""
    from hashlib import sha256

    def change(manifest: dict, members: Members) -> Members:
        manifest["members"][NAME] = {**manifest["members"][NAME], "size": len(data), "sha256": sha256(data).hexdigest()}
        return [(name, data if name == NAME else old) for name, old in members]

    return change


def forged(path: Path, data: bytes) -> None:
    """Give an archive another text."""
    manifests: list[dict] = []
    change = replaced(data)
    forge(path, lambda manifest: (manifests.append(manifest), change(manifest, [])), lambda members: change(manifests[0], members))


LEAF = b'%1 = ttc.param() {sym = "b", value = #ttc.weight<"b", tensor<9xf32>>} : () -> tensor<9xf32>'
HEAD, TAIL = b'builtin.module attributes {ttc.stage = "nn"} {\n', b"\n}\n"
FUNCTION = b"func.func @forward() -> (tensor<9xf32>) {\n" + LEAF + b"\nfunc.return %1 : tensor<9xf32>\n}"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "E0301"),
        (b"\xff\xfe", "E0301"),
        (b"builtin.module {", "E0301"),
        (HEAD + b"func.func @" + b"(" * 100_000, "E0301"),
        (b'builtin.module attributes {ttc.stage = "tile"} {\n}\n', "E0305"),
        (b'builtin.module attributes {ttc.stage = "nn", ttc.parameters = 1} {\n}\n', "E0302"),
        (HEAD + FUNCTION + TAIL, "E0304"),
    ],
)
def test_damaged_texts_are_errors_of_exports_alone(archive: Path, data: bytes, code: str) -> None:
    forged(archive, data)
    with pytest.raises(Error) as caught:
        archived_source(archive, CompileOptions()).weights["b"].value()
    assert caught.value.code == code
    with load(archive, engine="reference") as executor:
        assert executor.run({"x": np.ones((2, 8), np.float32)})
