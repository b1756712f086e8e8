"""Fourier transforms and complex numbers against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.tflite.cases import FLOAT, check, normal
from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model
from ttc.dialects.core.errors import Error
from ttc.importers.base import import_model
from ttc.importers.tflite.ops_signal import COMPLEX_ROWS
from ttc.importers.tflite.tables import rows

SIZES = np.array([1, 16], np.int32)
INPUTS = [Tensor("x", (2, 1, 12)), Tensor("sizes", (2,), "INT32", SIZES), Tensor("axes", (1,), "INT32", np.array([1], np.int32))]


def spectrum(*more: Op, kinds: tuple[str, ...] = ()) -> bytes:
    """A model that pads x[2, 1, 12] to 16 elements, transforms it to `s`, moves it to `m`, and goes on with further ops to `y`."""
    tensors = [*INPUTS, Tensor("s", (2, 1, 9), "COMPLEX64"), Tensor("m", (2, 9), "COMPLEX64")]
    tensors += [*(Tensor(f"t{i}", (2, 9), kind) for i, kind in enumerate(kinds)), Tensor("y", (2, 9))]
    ops = [Op("RFFT2D", ["x", "sizes"], ["s"]), Op("SQUEEZE", ["s"], ["m"], {"squeeze_dims": [1]}), *more]
    return model(Graph(tensors, ["x"], ["y"], ops))


@pytest.mark.parametrize("op", ["REAL", "IMAG", "COMPLEX_ABS"])
def test_parts_of_a_spectrum(op: str, tmp_path: Path) -> None:
    check(spectrum(Op(op, ["m"], ["y"])), {"x": normal(2, 1, 12)}, tmp_path, [FLOAT])


def test_a_cast_keeps_real_parts(tmp_path: Path) -> None:
    """As BirdNET has it, on a spectrum of which one dimension was taken."""
    cast = Op("CAST", ["m"], ["y"], {"in_data_type": "COMPLEX64", "out_data_type": "FLOAT32"})
    check(spectrum(cast), {"x": normal(2, 1, 12)}, tmp_path, [FLOAT])


@pytest.mark.parametrize(
    ("ops", "kinds"),
    [
        ([Op("EXP", ["m"], ["y"])], ()),
        ([Op("EXP", ["m"], ["t0"]), Op("REAL", ["t0"], ["y"])], ("COMPLEX64",)),
        (
            [Op("CAST", ["m"], ["t0"], {"in_data_type": "COMPLEX64", "out_data_type": "COMPLEX64"}), Op("REAL", ["t0"], ["y"])],
            ("COMPLEX64",),
        ),
    ],
)
def test_ops_of_real_numbers_refuse_complex_ones(ops: list[Op], kinds: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(spectrum(*ops, kinds=kinds))
    with pytest.raises(Error) as caught:
        import_model(path)
    assert caught.value.code == "E0202"
    assert "complex numbers" in str(caught.value.excerpt)


def test_a_result_declared_as_real_is_no_spectrum(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(model(Graph([*INPUTS, Tensor("y", (2, 1, 9))], ["x"], ["y"], [Op("RFFT2D", ["x", "sizes"], ["y"])])))
    with pytest.raises(Error, match="its op gives complex numbers"):
        import_model(path)


def test_a_spectrum_is_no_output(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(model(Graph([*INPUTS, Tensor("y", (2, 1, 9), "COMPLEX64")], ["x"], ["y"], [Op("RFFT2D", ["x", "sizes"], ["y"])])))
    with pytest.raises(Error) as caught:
        import_model(path)
    assert caught.value.code in ("E0202", "E0203")


def test_rows_of_complex_numbers_are_rows() -> None:
    """Every op that moves complex numbers moves real ones, too."""
    assert set(COMPLEX_ROWS) - set(rows()) == {"REAL", "IMAG", "COMPLEX_ABS"}
