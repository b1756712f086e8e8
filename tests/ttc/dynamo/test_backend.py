"""torch.compile(model, backend="ttc") as users meet it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import nn  # noqa: E402
from torch._dynamo.exc import BackendCompilerFailed  # noqa: E402

from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dynamo import backend  # noqa: E402

ROOT = Path(__file__).parents[3]
MODEL = "torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())"
Compile = Callable[..., Any]


def same(ours: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    """The same nest of outputs, tensors of the same dtype and near values."""
    mine, shape = torch.utils._pytree.tree_flatten(ours)
    wanted, expected = torch.utils._pytree.tree_flatten(theirs)
    assert shape == expected
    for a, b in zip(mine, wanted, strict=True):
        if isinstance(b, torch.Tensor):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
        else:
            assert a == b


def test_an_installed_backend_needs_no_import(tmp_path: Path) -> None:
    """The entry point of pyproject.toml, as an installation would write it, is found by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (group, points), *_ = project["entry-points"].items()
    info = tmp_path / "ttc_under_test-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ttc-under-test\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items()))
    code = f"""
import sys, torch
torch.set_num_threads(1)
model = {MODEL}
compiled = torch.compile(model, backend="ttc", options={{"target": "host", "fallback": False}})
assert not any(name.startswith("xdsl") for name in sys.modules)
x = torch.randn(2, 3)
assert torch.allclose(compiled(x), model(x), atol=1e-6)
"""
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_package_loads_no_torch() -> None:
    code = "import sys, ttc.dynamo; assert not {'torch', 'xdsl', 'numpy'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode == 0


def test_a_wrong_option_is_named_with_the_right_one() -> None:
    with pytest.raises(BackendCompilerFailed, match="no option 'targt'\nhint: did you mean 'target'"):
        torch.compile(lambda x: x + 1, backend=backend, options={"targt": "host"})(torch.ones(2))


def test_devices_compute_in_their_formats() -> None:
    model, x = nn.Linear(8, 8), torch.randn(4, 8)
    with torch.no_grad():
        exact = torch.compile(model, backend=backend, options={"target": "n150", "fallback": False})(x)
        torch._dynamo.reset()
        packed = torch.compile(model, backend=backend, options={"target": "n150", "format": "Bfp8_b", "fallback": False})(x)
        same(exact, model(x))
    assert 1e-4 < (packed - exact).abs().max() < 0.1


def test_what_cannot_be_compiled_runs_in_pytorch_and_is_named_once(compiled: Compile, strange: Any) -> None:
    def function(x: Any) -> Any:
        return strange(strange(x) + 1)

    run, x = compiled(function, fallback=True), torch.randn(8)
    with pytest.warns(UserWarning, match=r"PyTorch runs the graph inference_0_0, .*\n.*\n  strange\.default +ttc_tests +2 .* no mapping"):
        same(run(x), function(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(run(x + 1), function(x + 1))


def test_without_fallback_it_raises(compiled: Compile, strange: Any) -> None:
    run = compiled(lambda x: strange(x) + 1)
    for _ in range(2):
        with pytest.raises(Error, match="strange") as caught:
            run(torch.randn(8))
        assert caught.value.code == "E0202"


def test_graph_breaks(compiled: Compile, graphs: list[str]) -> None:
    def function(x: Any) -> Any:
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y.abs()

    run, x = compiled(function), torch.ones(3)
    same(run(x), function(x))
    same(run(-x), function(-x))
    assert graphs == ["inference"] * 3


def test_nested_results_and_values_that_are_no_tensors(compiled: Compile) -> None:
    def function(x: Any, more: Any, scale: float = 2.0) -> Any:
        return {"y": x * scale, "n": None, "nest": (more["a"] + 1, [x, 7, "text"]), "size": x.shape[0]}

    x, more = torch.randn(2, 3), {"a": torch.ones(1)}
    same(compiled(function)(x, more, scale=0.5), function(x, more, scale=0.5))


def test_graphs_that_hold_their_parameters() -> None:
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return (self.body(x),)

    model, x = Wrapped(), torch.randn(4, 3)
    run = backend(torch.fx.symbolic_trace(model), [x], options={"target": "host", "fallback": False})
    with torch.no_grad():
        same(run(x)[0], model(x)[0])
        model.body.weight.add_(1)
        same(run(x)[0], model(x)[0])


def test_models_of_transformers(compiled: Compile) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16
    )
    model = transformers.BertModel(config).eval()
    ids = torch.randint(0, 30, (2, 7))
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    with torch.no_grad():
        ours, theirs = compiled(model)(ids, attention_mask=mask), model(ids, attention_mask=mask)
    assert type(ours) is type(theirs)
    same(ours.last_hidden_state, theirs.last_hidden_state, 1e-5)
    same(ours.pooler_output, theirs.pooler_output, 1e-5)


def test_dumps_have_a_folder_for_each_graph(compiled: Compile, tmp_path: Path) -> None:
    compiled(nn.Linear(3, 2), dump=tmp_path / "dump")(torch.randn(2, 3)).sum().backward()
    assert sorted(p.name for p in (tmp_path / "dump").iterdir()) == ["backward_0_0", "forward_0_0"]
    assert (tmp_path / "dump" / "forward_0_0" / "index.json").is_file()
