"""Products that share their input become one in exported modules, and give what they give alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

from tests.ttc.exporters.ttnn.running import run_module  # noqa: E402
from ttc.exporters.graph import graph_of  # noqa: E402
from ttc.exporters.ttnn.export import export  # noqa: E402
from ttc.exporters.ttnn.merged import merged_products  # noqa: E402
from ttc.exporters.ttnn.precision import Precision  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402


class Projections(torch.nn.Module):
    """Several products of one input, some with a bias."""

    def __init__(self, *columns: int, biases: tuple[bool, ...], relu: bool = False) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(32, n, bias=b) for n, b in zip(columns, biases, strict=True))
        self.relu = relu

    def forward(self, x: Any) -> tuple[Any, ...]:
        found = [part(x) for part in self.parts]
        return tuple([torch.relu(value) for value in found] if self.relu else found)


def files_of(model: Any, folder: Path, x: Any) -> tuple[Any, dict[str, bytes]]:
    torch.export.save(torch.export.export(model.eval(), (x,)), folder / "model.pt2")
    graph = graph_of(folder / "model.pt2", CompileOptions())
    return graph, export(graph)


@pytest.mark.parametrize("biases", [(True, True, True), (False, False, False), (True, False, True)])
def test_three_products_are_one(tmp_path: Path, rng: np.random.Generator, biases: tuple[bool, ...]) -> None:
    torch.manual_seed(0)
    model, x = Projections(64, 32, 96, biases=biases), torch.from_numpy(rng.standard_normal((2, 5, 32), np.float32))
    graph, files = files_of(model, tmp_path, x)
    text = files["model.py"].decode()
    assert text.count("ttnn.linear(") == 1
    assert [f"[2, 5, {end}]" in text for end in (64, 96, 192)] == [True] * 3
    found = run_module(files, {graph.inputs[0]: x})
    for got, wanted in zip(found.values(), model(x), strict=True):
        assert got.shape == wanted.shape
        assert float((got - wanted).norm()) <= 2e-2 * float(wanted.norm())


@pytest.mark.parametrize(
    ("columns", "relu"),
    [((64, 32), False), ((64, 32, 20), False), ((64, 32, 96), True)],
    ids=["two", "columns within a tile", "activations"],
)
def test_products_that_stay_apart(tmp_path: Path, columns: tuple[int, ...], relu: bool) -> None:
    model = Projections(*columns, biases=(True,) * len(columns), relu=relu)
    graph, files = files_of(model, tmp_path, torch.ones(2, 5, 32))
    assert merged_products(graph.function, Precision.of(None, None)) == {}
    assert files["model.py"].decode().count("ttnn.linear(") == len(columns)
