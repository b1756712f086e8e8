"""Programs whose tensors chips divide: what a mesh of stand-ins computes is what the model does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

import ttc  # noqa: E402
from tests.ttc.exporters import networks  # noqa: E402
from tests.ttc.exporters.ttnn import stand_in  # noqa: E402
from tests.ttc.exporters.ttnn.mesh import OnMesh  # noqa: E402
from tests.ttc.exporters.ttnn.running import prepared, run_module  # noqa: E402 - it needs torch
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dialects.core.numerics import TENSOR  # noqa: E402
from ttc.exporters.graph import graph_of, graphs_of  # noqa: E402
from ttc.exporters.request import ExportRequest  # noqa: E402
from ttc.exporters.table import exported  # noqa: E402
from ttc.exporters.ttnn.divided import tensor_divided  # noqa: E402
from ttc.exporters.ttnn.export import export_all  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402
from ttc.passes.nn.sharding.divide import ALL_GATHER, ALL_REDUCE, PARTITION, REDUCE_SCATTER  # noqa: E402


def asked(chips: int, format_: str = "Float16_b", **fields: Any) -> ExportRequest:
    return ExportRequest(CompileOptions(chips=chips, format=format_), parallel=TENSOR, **fields)


@pytest.mark.parametrize(
    ("name", "chips", "sums"),
    # two a layer: behind the heads and behind the wide products
    [
        ("gpt2", 2, 4),
        ("llama", 2, 4),
        ("bert", 2, 4),
        ("vit", 2, 4),
        ("t5", 2, 4),
        ("swin", 2, 6),
        ("mlp", 4, 1),
        ("llama-heads", 8, 4),
        ("mistral-heads", 8, 4),
        ("gpt2-heads", 8, 4),
    ],  # fmt: skip
)
def test_chips_divide_tensors(tmp_path: Path, name: str, chips: int, sums: int) -> None:
    path = networks.saved(name, tmp_path)
    files = exported("ttnn", path, asked(chips))
    text = files["model.py"].decode()
    scattered = text.count("ttnn.reduce_scatter(")
    assert text.count("ttnn.all_reduce(") + scattered == sums
    assert text.count("ttnn.all_gather(") <= scattered  # nothing else is gathered
    model, inputs = networks.network(name)
    with torch.no_grad():
        wanted = model(*inputs)
    names = graph_of(path, CompileOptions()).inputs
    (found,) = run_module(files, dict(zip(names, inputs, strict=True)), OnMesh(chips)).values()
    assert found.shape == wanted.shape
    assert np.linalg.norm(found.double() - wanted.double()) <= 2e-2 * np.linalg.norm(wanted.double())


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize(("format_", "bound"), [("Float32", 1e-5), ("Float16_b", 2e-2)])
def test_caches_have_the_heads_of_a_chip(tmp_path: Path, kind: str, format_: str, bound: float) -> None:
    with ttc.generator(networks.causal(kind), batch=2, max_length=63, chunks=(4,), target="host") as generator:
        generator.save(tmp_path / "model.tti")
        files = exported("ttnn", tmp_path / "model.tti", asked(2, format_))
        ttnn, device = OnMesh(2), stand_in.Device()
        module = prepared(files, ttnn, device)
        wanted = generator.feed([[5, 9, 3], [7, 1]])
        given = {"tokens": torch.tensor([[5, 9, 3, 0], [7, 1, 0, 0]]), "starts": torch.tensor([0, 0]), "counts": torch.tensor([3, 2])}
        found = module.prefill(device, given)["logits"].numpy()
        assert np.linalg.norm(found - wanted) <= bound * np.linalg.norm(wanted)
        starts = torch.tensor([3, 2])
        for _ in range(6):
            tokens = wanted.argmax(1)[:, None].tolist()
            wanted = generator.feed(tokens)
            given = {"tokens": torch.tensor(tokens), "starts": starts, "counts": torch.tensor([1, 1])}
            found, starts = module.decode(device, given)["logits"].numpy(), starts + 1
            assert np.linalg.norm(found - wanted) <= bound * np.linalg.norm(wanted)
    if format_ == "Float16_b":
        heads = 4 if kind == "gpt2" else 2
        parts = module.PREPARED["keys_0"].values
        assert [part.shape for part in parts] == [(2, heads // 2, 64, 32)] * 2
        assert not torch.equal(parts[0].values, parts[1].values)


def test_programs_that_divide_variables_otherwise_are_refused(tmp_path: Path) -> None:
    with ttc.generator(networks.causal("gpt2"), batch=1, max_length=63, chunks=(4,), target="host") as generator:
        generator.save(tmp_path / "model.tti")
    decode, prefill = graphs_of(tmp_path / "model.tti", CompileOptions())
    with pytest.raises(Error, match="E0503.*chips divide variable 'keys_0' in other ways in programs decode and prefill"):
        export_all([tensor_divided(decode, 2), (prefill, prefill)])


def test_the_text_says_who_has_what(tmp_path: Path) -> None:
    text = exported("ttnn", networks.saved("llama", tmp_path), asked(2))["model.py"].decode()
    assert "The device is a mesh of 1 x 2 chips" in text
    assert "model.layers.0.self_attn.k_proj" in text.partition('"""\n\n')[0]  # keys of one head are every chip's
    assert "model.layers.0.self_attn.q_proj" not in text.partition('"""\n\n')[0]
    assert '"model.layers.0.self_attn.q_proj.weight": (' in text
    for chips in (2, 3):  # three cannot divide the heads, but the wide products
        path = tmp_path / "model.py"
        path.write_bytes(exported("ttnn", networks.saved("llama", tmp_path), asked(chips))["model.py"])
        assert path.read_text().count("ttnn.all_reduce(") == {2: 4, 3: 2}[chips]
        for command in (["format", "--check"], ["check"]):
            done = subprocess.run([sys.executable, "-m", "ruff", *command, "--isolated", str(path)], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout


def test_products_that_are_cut_are_divided_by_heads(tmp_path: Path) -> None:
    text = exported("ttnn", networks.saved("gpt2", tmp_path), asked(2))["model.py"].decode()
    assert '"model.transformer.h.0.attn.c_attn.merged.weight": (' in text
    assert text.count("ttnn.linear(") == 4 * 2 + 1


def test_columns_that_slices_take_are_divided_apart(tmp_path: Path) -> None:
    class Gated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.both, self.last = torch.nn.Linear(8, 12), torch.nn.Linear(6, 8)

        def forward(self, x: Any) -> Any:
            y = self.both(x)
            return self.last(torch.nn.functional.silu(y[:, :6]) * y[:, 6:])

    torch.manual_seed(0)
    net, x = Gated().eval(), torch.randn(4, 8)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    graph = graph_of(tmp_path / "net.pt2", CompileOptions())
    programs = tensor_divided(graph, 2)
    columns = [work.attrs["columns"] for work in programs[1].function.works if "columns" in work.attrs]
    assert columns == [(0, 0, 6), (0, 0, 6), (0, 6, 6), (0, 6, 6)]  # of the matrix [12, 8] and of the bias
    assert programs[1].kept == ()
    (found,) = run_module(export_all([programs]), {graph.inputs[0]: x}, OnMesh(2)).values()
    assert torch.allclose(found, net(x).detach(), atol=2e-2)


def test_what_needs_all_gathers_or_is_taken_back(tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Softmax(1), torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    x = torch.ones(3, 8)
    torch.export.save(torch.export.export(net.eval(), (x,)), tmp_path / "net.pt2")
    whole, part = tensor_divided(graph_of(tmp_path / "net.pt2", CompileOptions()), 2)
    found = [work.op for work in part.function.works]
    assert (found.count(ALL_REDUCE), found.count(ALL_GATHER)) == (1, 0)
    assert len(part.kept) == 1
    assert [work.op for work in whole.function.works] == found
    (name,) = part.inputs
    (got,) = run_module(export_all([(whole, part)]), {name: x}, OnMesh(2)).values()
    assert torch.allclose(got, net(x).detach(), atol=2e-2)


@pytest.mark.parametrize(("rows", "scattered"), [(64, 2), (48, 0)])
def test_rows_of_sums_are_scattered_in_whole_tiles(tmp_path: Path, rows: int, scattered: int) -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down, self.norm = torch.nn.Linear(8, 12), torch.nn.Linear(12, 8), torch.nn.LayerNorm(8)

        def forward(self, x: Any) -> Any:
            return self.norm(x + self.down(torch.nn.functional.gelu(self.up(x))))

    torch.manual_seed(0)
    net, x = torch.nn.Sequential(Layer(), Layer()).eval(), torch.randn(rows, 8)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    whole, part = tensor_divided(graph_of(tmp_path / "net.pt2", CompileOptions()), 2)
    found = [work.op for work in part.function.works]
    # the norm between the layers reads parts of rows, which are gathered for the product behind it
    counts = [found.count(op) for op in (REDUCE_SCATTER, ALL_GATHER, PARTITION, ALL_REDUCE)]
    assert counts == ([2, 1, 1, 0] if scattered else [0, 0, 0, 2])
    norms = [work.results[0].shape for work in part.function.works if work.op == "nn.layer_norm"]
    assert norms == [(32 if scattered else rows, 8)] * 2
    (name,) = part.inputs
    (got,) = run_module(export_all([(whole, part)]), {name: x}, OnMesh(2)).values()
    assert torch.allclose(got, net(x).detach(), atol=5e-2)


def test_what_is_refused(tmp_path: Path) -> None:
    path = networks.saved("cnn", tmp_path)
    with pytest.raises(Error, match="E0503.*cannot be divided over 7 chips"):
        exported("ttnn", path, asked(7))
    with pytest.raises(Error, match="E0101.*--parallel tensor divides tensors among chips"):
        exported("ttnn", path, ExportRequest(CompileOptions(), parallel=TENSOR))
    with pytest.raises(Error, match="E0101.*--to onnx does not write programs whose tensors chips divide"):
        exported("onnx", path, ExportRequest(CompileOptions(), parallel=TENSOR))
