"""The real TT-NN has answered all that exported modules ask, on a mock device; the stand-in gives tensors of the same format and shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

from tests.ttc.exporters import networks  # noqa: E402
from tests.ttc.exporters.ttnn import stand_in  # noqa: E402
from tests.ttc.exporters.ttnn.asked import AskedDevice, AskedName  # noqa: E402
from tests.ttc.exporters.ttnn.calls import read_answers  # noqa: E402
from tests.ttc.exporters.ttnn.running import prepared, run_module  # noqa: E402
from ttc.exporters.graph import graph_of, graphs_of  # noqa: E402
from ttc.exporters.ttnn.export import export, export_all  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    return read_answers()


def asked(name: str, folder: Path) -> list[tuple[str, str]]:
    """What the module of a network asks, and what the stand-in answers."""
    graph = graph_of(networks.saved(name, folder), CompileOptions())
    calls: list[tuple[str, str]] = []
    inputs = dict(zip(graph.inputs, networks.network(name)[1], strict=True))
    run_module(export(graph), inputs, AskedName("ttnn", stand_in, calls), AskedDevice())
    return calls


@pytest.mark.parametrize("name", networks.GENERATORS)
def test_the_real_one_was_asked_of_programs(name: str, answers: dict[str, str], tmp_path: Path) -> None:
    graphs = graphs_of(networks.generator(name, tmp_path), CompileOptions())
    calls: list[tuple[str, str]] = []
    device = AskedDevice()
    module: Any = prepared(export_all([(graph, graph) for graph in graphs]), AskedName("ttnn", stand_in, calls), device)
    for graph in graphs:
        inputs = {key: torch.zeros(kind.shape, dtype=torch.int64) for key, kind in zip(graph.inputs, graph.function.inputs, strict=True)}
        getattr(module, graph.program)(device, inputs)
    unknown = [call for call, _ in calls if call not in answers]
    assert not unknown, "TT-NN was not asked yet: make conformance-ttnn RECORD=1"
    assert dict(calls) == {call: answers[call] for call, _ in calls}
    assert any(call.startswith("experimental.indexed_fused_update_cache(") for call, _ in calls)


@pytest.mark.parametrize("name", ["cnn", "mlp", "resnet50", "mobilenetv2", "unet", "bert", "vit", "gpt2", "llama", "convnext"])
def test_the_real_one_was_asked(name: str, answers: dict[str, str], tmp_path: Path) -> None:
    found: Any = asked(name, tmp_path)
    unknown = [call for call, _ in found if call not in answers]
    assert not unknown, "TT-NN was not asked yet: make conformance-ttnn RECORD=1"
    assert dict(found) == {call: answers[call] for call, _ in found}


def test_the_record_is_of_many_ops(answers: dict[str, str]) -> None:
    names = {call.partition("(")[0] for call in answers}
    assert {"linear", "conv2d", "transformer.scaled_dot_product_attention", "layer_norm", "rms_norm", "max_pool2d"} <= names
