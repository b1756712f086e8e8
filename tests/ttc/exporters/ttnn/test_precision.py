"""Formats of weights and fidelities of single ops, in modules for TT-NN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

from tests.ttc.exporters.ttnn.running import run_module  # noqa: E402 - it needs torch
from ttc import compile as compiled  # noqa: E402
from ttc.cli.options import options_from  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dialects.core.rules.precision import PrecisionRule  # noqa: E402
from ttc.exporters.graph import graph_of  # noqa: E402
from ttc.exporters.request import ExportRequest  # noqa: E402
from ttc.exporters.ttnn.entry import exported  # noqa: E402
from ttc.exporters.ttnn.export import export_all  # noqa: E402
from ttc.exporters.ttnn.precision import Precision  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402

RULES = PrecisionRule("matmul", "first*", weights="Bfp8_b", fidelity="LoFi"), PrecisionRule("softmax", fidelity="HiFi3")
FILE = """[[precision]]
op = "matmul"
name = "first*"
weights = "Bfp8_b"
fidelity = "LoFi"
"""


class Net(torch.nn.Module):
    """Two products and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x))).softmax(-1)


@pytest.fixture
def model(tmp_path: Path) -> tuple[Path, Any, Any]:
    """Return the file of a network, the network, and its input."""
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(4, 64)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    return tmp_path / "net.pt2", net, x


def test_rules_are_about_single_ops(model: tuple[Path, Any, Any]) -> None:
    path, net, x = model
    graph = graph_of(path, CompileOptions())
    files = export_all([(graph, graph)], rules=RULES)
    text = files["model.py"].decode()
    assert [text.count(f"ttnn.{format_}, ttnn.TILE_LAYOUT") for format_ in ("bfloat8_b", "bfloat16")] == [1, 3]
    made = [line.strip() for line in text.splitlines() if "init_device_compute_kernel_config" in line or "math_fidelity" in line]
    config, fidelity = "{} = ttnn.init_device_compute_kernel_config(", "math_fidelity=ttnn.MathFidelity.{},"
    wanted = {"precise": "HiFi4", "precise_hifi3": "HiFi3", "precise_lofi": "LoFi"}
    assert made == [line for name, passes in wanted.items() for line in (config.format(name), fidelity.format(passes))]
    uses = [
        line.split("=")[-1].strip(" ,)")
        for line in text.replace("kernel_config=", "kernel_config= ").splitlines()
        if "kernel_config= " in line
    ]
    assert uses == ["precise_lofi", "precise", "precise_hifi3"]
    (found,) = run_module(files, {graph.inputs[0]: x}).values()
    assert float((found - net(x)).norm()) <= 2e-2 * float(net(x).norm())


def test_products_of_different_precision_stay_apart(tmp_path: Path) -> None:
    class Three(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.w = (torch.nn.Linear(32, 32) for _ in range(4))

        def forward(self, x: Any) -> Any:
            return self.q(x), self.k(x), self.v(x), self.w(x)

    torch.export.save(torch.export.export(Three().eval(), (torch.ones(2, 32),)), tmp_path / "three.pt2")
    graph = graph_of(tmp_path / "three.pt2", CompileOptions())
    for rules, products in (((), 1), ((PrecisionRule("matmul", "w*", fidelity="LoFi"),), 2)):
        assert export_all([(graph, graph)], rules=rules)["model.py"].decode().count("ttnn.linear(") == products


def test_an_archive_keeps_its_rules(model: tuple[Path, Any, Any], tmp_path: Path) -> None:
    path, _, _ = model
    (tmp_path / "rules.toml").write_text(FILE)
    archive = tmp_path / "net.tti"
    compiled(str(path), precision_file=str(tmp_path / "rules.toml"), target="n150").save(archive)
    text = exported(archive, ExportRequest(CompileOptions()))["model.py"].decode()
    assert "precise_lofi" in text
    assert text.count("ttnn.bfloat8_b") == 1


def test_a_format_that_exports_lack_is_refused_where_it_is_asked_for(model: tuple[Path, Any, Any], tmp_path: Path) -> None:
    path, _, _ = model
    (tmp_path / "rules.toml").write_text(FILE.replace("Bfp8_b", "Bfp4_b"))
    asked = options_from(CompileOptions, {"precision_file": str(tmp_path / "rules.toml")}, None)
    with pytest.raises(Error, match="exports to TT-NN hold no weights in Bfp4_b") as caught:
        exported(path, ExportRequest(asked))
    assert caught.value.code == "E0101"
    with pytest.raises(Error, match="TT-NN has no tensors of format Bfp2_b"):
        Precision.of("Bfp2_b", None)
