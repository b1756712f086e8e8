"""Exported modules compute what their models do: TT-NN's ops are executed by a stand-in, in the formats of the device."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

from tests.pages import ROOT, blocks_of  # noqa: E402
from tests.ttc.exporters import networks  # noqa: E402
from tests.ttc.exporters.ttnn.mesh import OnMesh  # noqa: E402
from tests.ttc.exporters.ttnn.running import run_module  # noqa: E402 - it needs torch
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.exporters.graph import ModelGraph, divided_graph_of, graph_of  # noqa: E402
from ttc.exporters.ttnn.export import export  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402

OTHERS = ("llama", "convnext", "segformer", "efficientnet")
"""The architectures of `networks.BUILDERS`, beside the eight, that differ most from each other; `make conformance-export` exports all."""


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the graph of a network, compiled once."""
    return cache(lambda name: graph_of(networks.saved(name, tmp_path_factory.mktemp(name)), CompileOptions()))


def outputs(files: dict[str, bytes], graph: ModelGraph, name: str) -> tuple[np.ndarray, np.ndarray]:
    """What the exported module gives on the stand-in, and what PyTorch gives."""
    model, inputs = networks.network(name)
    with torch.no_grad():
        wanted = model(*inputs)
    (found,) = run_module(files, dict(zip(graph.inputs, inputs, strict=True))).values()
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    return found.double().numpy(), wanted.double().numpy()


@pytest.mark.parametrize("name", [*networks.EIGHT, *OTHERS])
def test_sixteen_bits_are_near(graphs: Any, name: str) -> None:
    graph = graphs(name)
    found, wanted = outputs(export(graph), graph, name)
    assert np.linalg.norm(found - wanted) <= 2e-2 * np.linalg.norm(wanted)


@pytest.mark.parametrize("name", ["mlp", "resnet50", "bert", "gpt2"])
def test_blocks_correlate(graphs: Any, name: str) -> None:
    graph = graphs(name)
    files = export(graph, "Bfp8_b")
    assert b"ttnn.bfloat8_b" in files["model.py"]
    found, wanted = outputs(files, graph, name)
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] >= 0.99


def test_float32_is_nearer(graphs: Any) -> None:
    graph = graphs("vit")
    found, wanted = outputs(export(graph, "Float32"), graph, "vit")
    assert np.linalg.norm(found - wanted) <= 1e-4 * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    ("name", "rows", "chips"),
    # masks of 64 rows are larger than what they are made of; so many rows as a token has features are not taken for each other
    [*((name, 4, 2) for name in ("mlp", "unet", "bert", "gpt2", "vit", "swin")), ("bert", 64, 4), ("clip", 64, 4)],
)
def test_chips_divide_a_batch(tmp_path: Path, name: str, rows: int, chips: int) -> None:
    whole, graph = divided_graph_of(networks.saved(name, tmp_path, rows), CompileOptions(), chips)
    files = export(graph, whole=whole)
    assert f"The device is a mesh of {chips} chips, which divide the ".encode() in files["model.py"]
    model, inputs = networks.network(name, rows)
    with torch.no_grad():
        wanted = model(*inputs)
    (found,) = run_module(files, dict(zip(graph.inputs, inputs, strict=True)), OnMesh(chips)).values()
    assert found.shape == wanted.shape
    assert np.linalg.norm(found.double() - wanted.double()) <= 2e-2 * np.linalg.norm(wanted.double())


def test_batches_that_chips_cannot_divide(tmp_path: Path) -> None:
    path = networks.saved("mlp", tmp_path, 4)
    with pytest.raises(Error, match="E0101.*3 chips cannot divide a batch of 128"):
        divided_graph_of(path, CompileOptions(), 3)
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Softmax(0))
    torch.export.save(torch.export.export(net.eval(), (torch.zeros(4, 3),)), tmp_path / "mixed.pt2")
    with pytest.raises(Error, match="E0503.*the batch cannot be divided over 2 chips: nn.softmax may mix samples"):
        divided_graph_of(tmp_path / "mixed.pt2", CompileOptions(), 2)


@pytest.mark.parametrize("name", ["bert", "unet"])
def test_text_is_formatted_and_the_same_every_time(graphs: Any, tmp_path: Path, name: str) -> None:
    import subprocess

    files = export(graphs(name))
    assert export(graphs(name)) == files
    path = tmp_path / "model.py"
    path.write_bytes(files["model.py"])
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", command[0], "--isolated", *command[1:], str(path)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def test_the_readme_shows_a_layer(graphs: Any) -> None:
    text = export(graphs("bert"))["model.py"].decode()
    (block,) = [block for block in blocks_of((ROOT / "README.md").read_text()) if block.title == "From a layer of BERT for TT-NN"]
    assert block.text.count("\n") > 8
    lines_of_source = re.compile(r"\.py:\d+")  # which change with versions of transformers
    assert lines_of_source.sub(".py", block.text) in lines_of_source.sub(".py", text)
