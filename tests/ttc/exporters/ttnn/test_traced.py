"""Modules whose work on the device a trace records, and runs for other inputs."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

from safetensors.torch import load  # noqa: E402

from tests.ttc.exporters import networks  # noqa: E402
from tests.ttc.exporters.ttnn import stand_in  # noqa: E402
from tests.ttc.exporters.ttnn.mesh import OnMesh  # noqa: E402
from tests.ttc.exporters.ttnn.recording import Recording  # noqa: E402
from tests.ttc.exporters.ttnn.running import prepared  # noqa: E402 - it needs torch
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dialects.core.numerics import BATCH, TENSOR  # noqa: E402
from ttc.exporters.graph import ModelGraph, graph_of  # noqa: E402
from ttc.exporters.request import ExportRequest  # noqa: E402
from ttc.exporters.table import exported  # noqa: E402
from ttc.exporters.ttnn.export import export  # noqa: E402
from ttc.exporters.ttnn.traced import COMPUTE, FETCH, SEND, pieces_of  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402


def graph(name: str, folder: Path) -> ModelGraph:
    return graph_of(networks.saved(name, folder), CompileOptions())


@pytest.mark.parametrize("name", ["cnn", "bert", "llama"])
def test_a_trace_runs_for_other_inputs(tmp_path: Path, name: str) -> None:
    made = graph(name, tmp_path)
    files = export(made, trace=True)
    ttnn, device = Recording(), stand_in.Device()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "ttnn", ttnn)
        module = types.ModuleType("exported")
        exec(compile(files["model.py"], "model.py", "exec"), vars(module))
    module.prepare(device, load(files["weights.safetensors"]))
    model, inputs = networks.network(name)
    first = dict(zip(made.inputs, inputs, strict=True))
    captured = module.capture(device, first)
    others = {key: value.flip(-1) for key, value in first.items()}
    for given in (others, first):
        (found,) = module.replay(device, captured, given).values()
        (plain,) = module.forward(device, given).values()
        assert torch.equal(found, plain)
        with torch.no_grad():
            wanted = model(*given.values())
        assert float((found.double() - wanted.double()).norm() / wanted.double().norm()) <= 2e-2
    assert ttnn.executed == 2


def test_the_text_is_formatted(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(export(graph("bert", tmp_path), trace=True)["model.py"])
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, "--isolated", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_parts_of_a_body() -> None:
    body = [
        '    mask = inputs["m"] + 1',
        "    # sent",
        "    sent = to_device(device, mask)",
        "    relu = ttnn.relu(sent)",
        "    del sent",
        "    host = ttnn.to_torch(relu).to(torch.float32)",
        "    wide = host + 1",
        '    return {"y": wide}',
    ]
    pieces = pieces_of(body)
    assert [piece.part for piece in pieces] == [SEND, SEND, COMPUTE, COMPUTE, FETCH, FETCH, FETCH]
    assert pieces[1].lines == ("    # sent", "    sent = to_device(device, mask)")


def test_what_goes_back_to_the_device_is_refused(tmp_path: Path) -> None:
    class Sorted(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x).cumsum(1).flip(1).relu()

    torch.export.save(torch.export.export(Sorted(), (torch.ones(2, 8),)), tmp_path / "model.pt2")
    made = graph_of(tmp_path / "model.pt2", CompileOptions())
    assert b"def forward" in export(made)["model.py"]
    with pytest.raises(Error, match="E0503.*the host computes between ops of the device"):
        export(made, trace=True)


@pytest.mark.parametrize(("name", "parallel"), [("mlp", BATCH), ("llama", TENSOR)])
def test_a_trace_of_several_chips(tmp_path: Path, name: str, parallel: str) -> None:
    path = networks.saved(name, tmp_path, 4)
    files = exported("ttnn", path, ExportRequest(CompileOptions(chips=2), parallel=parallel, trace=True))
    (tmp_path / "model.py").write_bytes(files["model.py"])
    done = subprocess.run([sys.executable, "-m", "ruff", "format", "--check", "--isolated", "model.py"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0
    ttnn, device = Recording(OnMesh(2)), stand_in.Device()
    module = prepared(files, ttnn, device)
    model, inputs = networks.network(name, 4)
    first = dict(zip(graph_of(path, CompileOptions()).inputs, inputs, strict=True))
    captured = module.capture(device, {key: value.flip(0) for key, value in first.items()})
    (found,) = module.replay(device, captured, first).values()
    with torch.no_grad():
        wanted = model(*inputs)
    assert float((found.double() - wanted.double()).norm() / wanted.double().norm()) <= 2e-2
    assert ttnn.executed == 1
