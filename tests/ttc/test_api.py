"""What `import ttc` gives."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ttc
from ttc.api import compile, load

X = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)


def softmax_of(model: Path) -> np.ndarray:
    from ttc.comparison.reference_outputs import reference_outputs

    return reference_outputs(model, {"x": X})[0]["probabilities"]


def code(call, *arguments, **keywords) -> str:
    with pytest.raises(ttc.Error) as caught:
        call(*arguments, **keywords)
    return caught.value.code


@pytest.fixture
def archive(small_onnx: Path, tmp_path: Path) -> Path:
    ttc.compile(small_onnx, batch=2).save(tmp_path / "small.tti")
    return tmp_path / "small.tti"


def test_names() -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    assert ttc.compile is compile
    assert ttc.load is load
    for name in ttc.__all__:
        assert getattr(ttc, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'ttc' has no attribute 'lod'"):
        ttc.lod  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


LEFT = """
import gc, sys
from xdsl.ir import Operation
import ttc

gc.collect()
before = {id(x) for x in gc.get_objects() if isinstance(x, Operation)}
gc.disable()
program = ttc.compile(sys.argv[1], batch=2)
left = [x for x in gc.get_objects() if isinstance(x, Operation) and id(x) not in before]
assert program.netlist.graphs and not left, left
"""


def test_nothing_of_the_ir_is_left_when_the_program_is_there(small_onnx: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LEFT, str(small_onnx)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("target", ["n150", "host"])
def test_compile_save_load_run(target: str, small_onnx: Path, tmp_path: Path) -> None:
    ttc.compile(str(small_onnx), target=target, shape={"x": (2, 8)}).save(tmp_path / "a.tti")
    with ttc.load(tmp_path / "a.tti", threads=1) as executor:
        found = executor.run({"x": X})
        (same,) = executor(X)
    np.testing.assert_allclose(found["probabilities"], softmax_of(small_onnx), atol=1e-6)
    np.testing.assert_array_equal(same, found["probabilities"])
    assert code(executor.run, {"x": X}) == "E0803"


def test_a_program_runs_without_a_file(small_onnx: Path) -> None:
    (found,) = ttc.Executor(ttc.compile(small_onnx, {"x": X}))(X)
    np.testing.assert_allclose(found, softmax_of(small_onnx), atol=1e-6)


def test_threads_share_an_executor(archive: Path) -> None:
    with ttc.load(archive) as executor, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: executor(X * n)[0], range(8)))
        for n, value in enumerate(found):
            np.testing.assert_array_equal(value, executor(X * n)[0])


def test_options_and_fields(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ttc.compile(small_onnx, options=ttc.CompileOptions(target="host", batch=2), format="Float16_b")
    assert program.netlist.chip.target == "host"
    assert program.description.options["format"] == "Float16_b"
    monkeypatch.setenv("TTC_TARGET", "host")
    assert ttc.compile(small_onnx, batch=2).netlist.chip.target == "host"
    assert ttc.compile(small_onnx, batch=2, target="n150").netlist.chip.target == "n150"


def test_threads_by_variable(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_THREADS", "none")
    assert code(ttc.load, archive) == "E0101"
    assert code(ttc.load, archive, 0) == "E0101"
    monkeypatch.setenv("TTC_THREADS", "1")
    with ttc.load(archive) as executor:
        assert executor(X)[0].shape == (2, 4)


def test_errors(small_onnx: Path, archive: Path) -> None:
    assert code(ttc.compile, small_onnx, bach=2) == "E0101"
    assert code(ttc.compile, small_onnx, to="nn", batch=2) == "E0101"
    assert code(ttc.compile, small_onnx, [X]) == "E0101"
    assert code(ttc.compile, 3) == "E0201"
    assert code(ttc.compile, "none.onnx") == "E0102"
    assert code(ttc.load, "none.tti") == "E0102"
    assert code(ttc.load, archive, engine="turbo") == "E0101"
    assert code(ttc.compile, small_onnx, options=ttc.RunOptions()) == "E0101"


def test_torch_modules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    module = type("Linear", (type("Module", (), {"__module__": "torch.nn.modules.module"}),), {})()
    with pytest.raises(ttc.Error, match=r"cannot compile a Linear") as caught:
        ttc.compile(module, (X,))
    assert caught.value.code == "E0201"
