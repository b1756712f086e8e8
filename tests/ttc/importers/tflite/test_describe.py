"""What a TFLite file says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.importers.tflite.samples import quantized_network, real_network
from ttc.dialects.core.errors import Error
from ttc.importers.base import describe_model
from ttc.importers.tflite import describe
from ttc.options import CompileOptions
from ttc.reports.readiness import check


def test_facts(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(quantized_network())
    found = describe(path)
    assert describe_model(path) == found
    assert (found.kind, found.opsets) == ("TensorFlow Lite", {})
    assert found.ops == dict.fromkeys(("ADD", "ARG_MAX", "CONV_2D", "DEPTHWISE_CONV_2D", "DEQUANTIZE", "MEAN"), 1)
    assert found.weights > 2
    assert found.weight_bytes >= found.weight_elements >= 1 * 3 * 3 * 4


def test_open_dimensions_are_found_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(real_network())
    found = check(path, CompileOptions())
    assert found.facts.inputs is not None
    assert [(item.name, item.dims) for item in found.facts.inputs] == [("image", ("", 8, 6, 3))]
    assert (found.compiles_with_flags, found.flags, found.stage) == (True, ("--shape image=1x8x6x3",), "tti")


def test_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(b"junk")
    with pytest.raises(Error) as caught:
        describe(tmp_path / "m.tflite")
    assert (caught.value.code, caught.value.where) == ("E0201", "m.tflite")
