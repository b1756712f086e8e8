"""Intermediate values as outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions, resolve
from ttc.runtime.executor import Executor


def test_a_value_inside_a_fused_pattern_is_kept(small_onnx: Path, tmp_path: Path) -> None:
    nodes = {node.name or f"{node.op_type}_{node.output[0]}": node.output[0] for node in onnx.load(small_onnx).graph.node}
    name, value = list(nodes.items())[0]
    model = onnx.load(small_onnx)
    model.graph.output.append(onnx.ValueInfoProto(name=value))
    with_output = tmp_path / "m.onnx"
    onnx.save(model, with_output)
    x = np.random.default_rng(0).standard_normal((2, 8), np.float32)
    found = []
    for path, fields in ((small_onnx, {"probe": name}), (with_output, {})):
        program = compile_path(path, resolve(CompileOptions, {"batch": 2, **fields})).program()
        found.append(Executor(program).run({"x": x}))
    np.testing.assert_allclose(found[0][name], found[1][value], rtol=1e-5, atol=1e-5)


def test_the_option_is_recorded_and_checked(small_onnx: Path) -> None:
    with pytest.raises(Error) as caught:
        compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "probe": "no such node"}))
    assert caught.value.code == "E0206"
    assert resolve(CompileOptions, {"probe": "a,b"}).recorded()["probe"] == ("a", "b")
