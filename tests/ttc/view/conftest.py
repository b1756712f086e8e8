"""A small compiled network with its dump, which tests of the page share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import model_of
from ttc.cli import main

HOSTILE = '</script><img src=x onerror="alert(1)">'


@dataclass(frozen=True)
class Compiled:
    """model.onnx, model.tti of n150, bfp8.tti of the same in block formats, and dump/ of the first."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model.onnx"

    @property
    def archive(self) -> Path:
        return self.folder / "model.tti"

    @property
    def other(self) -> Path:
        return self.folder / "bfp8.tti"

    @property
    def dump(self) -> Path:
        return self.folder / "dump"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Names of nodes are hostile; one op has no kernel on the device; an erf form of GELU is fused."""
    folder = tmp_path_factory.mktemp("view")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="/block.0/fc"),
        helper.make_node("Gelu", ["h"], ["g"], name="/block.0/gelu"),
        helper.make_node("CumSum", ["g", "axis"], ["c"], name=f"/block.1/{HOSTILE}"),
        helper.make_node("Softmax", ["c"], ["y"], name="/block.1/softmax", axis=-1),
    ]
    weights = {"w": np.sin(np.arange(2048, dtype=np.float32)).reshape(32, 64), "axis": np.array(1)}
    onnx.save(model_of(nodes, {"x": np.zeros((4, 32), np.float32)}, ["y"], weights, opset=20), folder / "model.onnx")
    found = Compiled(folder)
    flags = [str(found.model), "--target", "n150", "-q"]
    assert main(["compile", *flags, "-o", str(found.archive), "--dump", str(found.dump)]) == 0
    assert main(["compile", *flags, "-o", str(found.other), "--format", "Bfp8_b"]) == 0
    return found
