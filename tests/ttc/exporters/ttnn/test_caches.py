"""Variables of exported modules: caches that programs share, and others, which live from one run to the next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")

import ttc  # noqa: E402
from tests.draws import generator  # noqa: E402
from tests.ttc.exporters.networks import causal  # noqa: E402
from tests.ttc.exporters.ttnn import stand_in  # noqa: E402
from tests.ttc.exporters.ttnn.recording import Recording  # noqa: E402
from tests.ttc.exporters.ttnn.running import prepared  # noqa: E402 - it needs torch
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.exporters.graph import ModelGraph, graphs_of  # noqa: E402
from ttc.exporters.request import ExportRequest  # noqa: E402
from ttc.exporters.table import exported  # noqa: E402
from ttc.exporters.ttnn.caches import caches_of  # noqa: E402
from ttc.exporters.ttnn.export import export, export_all  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402

PROMPTS = [[5, 9, 3, 8, 8], [7, 1]]


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def archive(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a generator with two rows."""
    path = tmp_path_factory.mktemp(request.param) / "model.tti"
    with ttc.generator(causal(request.param), batch=2, max_length=70, chunks=(4,), target="host") as generator:
        generator.save(path)
    return path


def take(module: Any, program: str, tokens: list[list[int]], starts: list[int], counts: list[int]) -> Any:
    inputs = {"tokens": tokens, "starts": starts, "counts": counts}
    return getattr(module, program)(stand_in.Device(), {name: torch.tensor(value) for name, value in inputs.items()})["logits"].numpy()


@pytest.mark.parametrize(("format_", "bound"), [("Float32", 1e-5), ("Float16_b", 2e-2), ("Bfp8_b", 1e-1)])
def test_tokens_are_the_generators(archive: Path, format_: str, bound: float) -> None:
    files = exported("ttnn", archive, ExportRequest(CompileOptions(format=format_)))
    module = prepared(files)
    with ttc.generator(archive) as generator:
        generator.save(archive.with_name("again.tti"))
        assert exported("ttnn", archive.with_name("again.tti"), ExportRequest(CompileOptions(format=format_))) == files
        wanted = generator.feed(PROMPTS)
        take(module, "prefill", [[5, 9, 3, 8], [7, 1, 0, 0]], [0, 0], [4, 2])
        # the second row's cache stays as it is where it has no token, and its logits mean nothing
        found = take(module, "prefill", [[8, 0, 0, 0], [0, 0, 0, 0]], [4, 2], [1, 0])
        assert np.linalg.norm(found[0] - wanted[0]) <= bound * np.linalg.norm(wanted[0])
        lengths = [5, 2]
        for _ in range(10):
            tokens = wanted.argmax(1).tolist()
            found = take(module, "decode", [[token] for token in tokens], lengths, [1, 1])
            wanted, lengths = generator.feed([[token] for token in tokens]), [length + 1 for length in lengths]
            assert np.linalg.norm(found - wanted) <= bound * np.linalg.norm(wanted)
            if format_ == "Float32":
                assert (found.argmax(1) == wanted.argmax(1)).all()


def test_caches_are_written_in_place(archive: Path) -> None:
    files = exported("ttnn", archive, ExportRequest(CompileOptions()))
    text = files["model.py"].decode()
    assert text.count("ttnn.experimental.indexed_fused_update_cache(") == 4  # two layers, two programs
    assert "CACHES = {" in text
    assert b"keys_0" not in files["weights.safetensors"]
    module = prepared(files)
    before = module.PREPARED["keys_1"]
    take(module, "decode", [[3], [4]], [0, 33], [1, 1])
    assert module.PREPARED["keys_1"] is before
    assert sorted({(row, place) for row, _, place, _ in before.values.nonzero().tolist()}) == [(0, 0), (1, 33)]


def test_a_program_alone_is_forward(archive: Path) -> None:
    text = exported("ttnn", archive, ExportRequest(CompileOptions(), "decode"))["model.py"].decode()
    assert "def forward(device, inputs" in text
    assert "prefill" not in text
    with pytest.raises(Error, match="E0803.*no program 'decoding'"):
        exported("ttnn", archive, ExportRequest(CompileOptions(), "decoding"))


def test_traces_of_programs(archive: Path, tmp_path: Path) -> None:
    files = exported("ttnn", archive, ExportRequest(CompileOptions(), trace=True))
    plain, ttnn = prepared(exported("ttnn", archive, ExportRequest(CompileOptions()))), Recording()
    module, device = prepared(files, ttnn), stand_in.Device()
    steps = [{"tokens": torch.tensor([[a], [b]]), "starts": torch.tensor([n, n]), "counts": torch.tensor([1, 1])} for n, a, b in TOKENS]
    captured = module.decode_capture(device, steps[0])
    for step in steps:
        found = module.decode_replay(device, captured, step)["logits"]
        assert torch.equal(found, plain.decode(device, step)["logits"])
    assert ttnn.executed == len(TOKENS)
    path = tmp_path / "model.py"
    path.write_bytes(files["model.py"])
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, "--isolated", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


TOKENS = [(0, 3, 4), (1, 8, 9), (2, 50, 60)]


def test_more_rows_than_a_call_writes(tmp_path: Path) -> None:
    with ttc.generator(causal("llama"), batch=3, max_length=127, chunks=(100,), target="host") as generator:
        generator.save(tmp_path / "model.tti")
        prompts = [[(7 * row + 3 * place) % 90 for place in range(100)] for row in range(3)]
        wanted = generator.feed(prompts)
    files = exported("ttnn", tmp_path / "model.tti", ExportRequest(CompileOptions(), "prefill"))
    assert files["model.py"].count(b"indexed_fused_update_cache(") == 4  # 256 rows and 44, in two layers
    inputs = {"tokens": torch.tensor(prompts), "starts": torch.zeros(3, dtype=torch.int64), "counts": torch.full((3,), 100)}
    found = prepared(files).forward(stand_in.Device(), inputs)["logits"].numpy()
    assert np.linalg.norm(found - wanted) <= 2e-2 * np.linalg.norm(wanted)


def test_pairs_and_what_is_none(archive: Path) -> None:
    programs = graphs_of(archive, CompileOptions())
    for graph in programs:
        pairs = caches_of(graph).pairs
        assert len(pairs) == 4
        assert len({id(pair) for pair in pairs.values()}) == 2
    scattered = [work for work in programs[0].function.works if work.op == "nn.scatter_nd"]
    assert [id(work) for work in scattered] == list(caches_of(programs[0]).pairs)


COUNTER = """builtin.module attributes {ttc.stage = "nn"} {
  func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (
      tensor<2x3xf32> {ttc.name = "total", ttc.updates = "mean"}, tensor<i64> {ttc.name = "n", ttc.updates = "count"},
      tensor<2x3xf32> {ttc.name = "before"}, tensor<i64> {ttc.name = "runs"}) {
    %mean = ttc.state() {sym = "mean", value = #ttc.literal<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], tensor<2x3xf32>>} : () -> tensor<2x3xf32>
    %count = ttc.state() {sym = "count", value = #ttc.literal<[5], tensor<i64>>} : () -> tensor<i64>
    %one = ttc.constant() {value = #ttc.literal<[1], tensor<i64>>} : () -> tensor<i64>
    %total = nn.add(%mean, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %n = nn.add(%count, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    func.return %total, %n, %mean, %count : tensor<2x3xf32>, tensor<i64>, tensor<2x3xf32>, tensor<i64>
  }
}"""


def graph_of_text(folder: Path, text: str) -> ModelGraph:
    (folder / "text.mlir").write_text(text)
    (graph,) = graphs_of(folder / "text.mlir", CompileOptions())
    return graph


def test_other_variables_get_new_values_at_the_end(tmp_path: Path) -> None:
    graph = graph_of_text(tmp_path, COUNTER)
    module = prepared(export(graph, "Float32"))
    x = torch.from_numpy(generator("variables").random((2, 3), np.float32))
    first = torch.arange(1.0, 7.0).reshape(2, 3)
    for turn in range(3):
        found = module.forward(stand_in.Device(), {"x": x})
        assert list(found) == ["before", "runs"]
        assert torch.allclose(found["before"], first + turn * x)
        assert int(found["runs"]) == 5 + turn
    with pytest.raises(Error, match="E0503.*recording it would write variable 'mean' twice"):
        export(graph, trace=True)


def test_variables_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(Error, match="E0503.*'mean', which is no variable of it"):
        export(graph_of_text(tmp_path, COUNTER.replace('ttc.state() {sym = "mean"', 'ttc.param() {sym = "mean"')))


def test_programs_of_several_batches(tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    size = torch.export.Dim("n", min=1, max=64)
    torch.export.save(torch.export.export(net, (torch.ones(2, 8),), dynamic_shapes=({0: size},)), tmp_path / "net.pt2")
    graphs = graphs_of(tmp_path / "net.pt2", CompileOptions(batch=(1, 8)))
    module = prepared(export_all([(graph, graph) for graph in graphs]))
    x = torch.from_numpy(generator("batches").random((8, 8), np.float32))
    (name,) = graphs[0].inputs
    for function, rows in ((module.forward, x[:1]), (module.forward_8, x)):
        (found,) = function(stand_in.Device(), {name: rows}).values()
        assert torch.allclose(found, net(rows).detach(), atol=2e-2)
