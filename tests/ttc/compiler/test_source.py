"""Where a compilation starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ttc.compiler.source import named_weights, open_source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import set_module_attr
from ttc.options import CompileOptions

TEXT = """builtin.module attributes {ttc.stage = "nn", ttc.model = "m"} {
  func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
    %1 = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<2xf32>>} : () -> tensor<2xf32>
    %2 = nn.add(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    func.return %2 : tensor<2xf32>
  }
}
"""


def code(path: Path, **fields: object) -> str:
    with pytest.raises(Error) as caught:
        open_source(path, CompileOptions(**fields))  # pyright: ignore[reportArgumentType]
    return caught.value.code


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    return path


def test_models(small_onnx: Path) -> None:
    source = open_source(small_onnx, CompileOptions(batch=2))
    assert source.stage == "import"
    assert {key: spec.shape for key, spec in named_weights(source.module).items()} == {"w": (8, 4), "b": (4,)}
    assert source.weights["b"].value().shape == (4,)


def test_text(text: Path) -> None:
    source = open_source(text, CompileOptions())
    assert source.stage == "nn"
    with pytest.raises(Error) as caught:
        source.weights["w"]
    assert caught.value.code == "E0304"


def test_text_of_a_model_reads_back(small_onnx: Path, tmp_path: Path) -> None:
    source = open_source(small_onnx, CompileOptions(batch=2))
    path = tmp_path / "import.mlir"
    set_module_attr(source.module, "options", {"batch": 2})
    path.write_text(print_op(source.module))
    again = open_source(path, CompileOptions(weights=small_onnx))
    assert named_weights(again.module) == named_weights(source.module)
    np.testing.assert_array_equal(again.weights["w"].value(), source.weights["w"].value())


def test_stage_asked_for(text: Path) -> None:
    assert open_source(text, CompileOptions(from_="nn")).stage == "nn"
    assert code(text, from_="tile") == "E0305"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('ttc.stage = "nn"', 'ttc.stage = "nnn"', "E0305"),
        ('ttc.stage = "nn", ', "", "E0305"),
        ("nn.add(", "nn.ad(", "E0301"),
        ("-> tensor<2xf32>\n    func", "-> tensor<3xf32>\n    func", "E0301"),
        ("builtin.module", "\udcff", "E0301"),
    ],
)  # fmt: skip
def test_bad_text(old: str, new: str, expected: str, text: Path) -> None:
    text.write_bytes(TEXT.replace(old, new, 1).encode(errors="surrogateescape"))
    assert code(text) == expected


@pytest.mark.parametrize(
    "attribute",
    [
        "options = 3 : i64",
        "target = [1]",
        "sources = 7 : i64",
        'sources = [["w", array<i64: 2>]]',
        'sources = [["w", array<i64: 2>, "float33"]]',
        'sources = [["w", array<i64: -2>, "float32"]]',
        'sources = [[1, array<i64: 2>, "float32"]]',
        'parameters = [["w", "w", "2", "float32"]]',
        'states = [["w", array<i64: 2>, "float32"]]',
    ],
)
def test_bad_records(attribute: str, text: Path) -> None:
    text.write_text(TEXT.replace("ttc.model", f"ttc.{attribute}, ttc.model", 1))
    assert code(text) == "E0302"


def test_recorded_options_are_checked(text: Path, small_onnx: Path) -> None:
    for options in ('batch = "x"', "shape = 4 : i64", 'shape = "x=4y"'):
        text.write_text(TEXT.replace("ttc.model", f"ttc.options = {{{options}}}, ttc.model", 1))
        assert code(text, weights=small_onnx) == "E0101"


def test_a_weight_with_two_types(text: Path) -> None:
    second = '    %9 = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<3xf32>>} : () -> tensor<3xf32>\n'
    text.write_text(TEXT.replace("    %2", second + "    %2", 1))
    assert code(text) == "E0302"


def test_options_that_do_not_go_with_the_source(text: Path, small_onnx: Path, tmp_path: Path) -> None:
    assert code(text, batch=2) == "E0101"
    assert code(small_onnx, batch=2, weights=small_onnx) == "E0101"
    compiled = tmp_path / "x.tti"
    compiled.write_text("")
    assert code(compiled) == "E0201"
    assert code(tmp_path / "none.onnx") == "E0102"


@pytest.mark.parametrize(
    "body",
    ['"func.func"() ({}) {sym_name = "f", function_type = () -> ()} : () -> ()', "func.func private @f() -> ()", "^one:\n^two:"],
)
def test_regions_have_one_block(body: str, tmp_path: Path) -> None:
    """No branches, and no declarations: passes take the block of a region for granted."""
    path = tmp_path / "m.mlir"
    path.write_text(f'"builtin.module"() ({{\n{body}\n}}) {{ttc.stage = "nn"}} : () -> ()')
    assert code(path) == "E0302"
