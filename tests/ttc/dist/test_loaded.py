"""A runner of an archive computes, bit by bit, what a runner computes that compiles the same stages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from tests.ttc.dist.equal import ROWS, WIDTH, Both, Last, Middle, Tied, batches, network
from tests.ttc.dist.started import started
from tests.ttc.dist.test_runner import WHOLE
from ttc import metrics
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner, loaded, partition, save_stages
from ttc.dist.loaded import LoadedStage

MICROBATCHES = 4


class Odd(nn.Module):
    """A stage with running statistics, random numbers, a buffer that no checkpoint holds, and a value that only passes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inner = nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.again = self.inner
        self.register_buffer("scale", torch.full((WIDTH,), 1.5), persistent=False)
        self.inner.bias.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        y = nn.functional.dropout(self.norm(x), 0.3, self.training)
        return {"both": (torch.tanh(self.inner(y)) * self.scale, x), "places": [x.argmax(1)]}


class OddLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, 5)

    def forward(self, given: dict[str, Any]) -> torch.Tensor:
        y, x = given["both"]
        return self.inner(y + x) * (given["places"][0][:, None] + 1)


def odd() -> list[nn.Module]:
    torch.manual_seed(5)
    return [Odd(), OddLast()]


def pair(alone: Mesh, tmp_path: Path, parts: Callable[[], Any], *examples: torch.Tensor, **options: Any) -> tuple[Runner, Runner]:
    """A runner that compiles stages, and one of an archive of them."""
    path = tmp_path / "stages.tti"
    save_stages(path, stages=parts(), examples=examples, **options)
    of: dict[str, Any] = {"mesh": alone, "loss": nn.CrossEntropyLoss(), "microbatches": MICROBATCHES, "schedule": "interleaved"}
    return Runner(stages=parts(), **of, **options), Runner(path, **of)


def same(mine: Runner, other: Runner) -> None:
    assert {name: value.tolist() for name, value in mine.state_dict().items()} == {
        name: value.tolist() for name, value in other.state_dict().items()
    }
    for one, two in zip(mine.parameters(), other.parameters(), strict=True):
        assert (one.grad is None) == (two.grad is None)
        assert one.grad is None or two.grad is None or torch.equal(one.grad, two.grad)


@pytest.mark.parametrize("precision", ["float32", "bf16-mixed"])
@pytest.mark.parametrize("parts", [odd, lambda: partition(network(), 3)], ids=["odd", "network"])
def test_steps_are_those_of_stages_that_are_compiled_here(alone: Mesh, tmp_path: Path, parts: Callable[[], Any], precision: str) -> None:
    compiled, archived = pair(alone, tmp_path, parts, torch.zeros(ROWS // MICROBATCHES, WIDTH), precision=precision)
    optimizers = [torch.optim.AdamW([p for p in runner.parameters() if p.requires_grad], 1e-2) for runner in (compiled, archived)]
    for x, target in batches(7, 3):
        found = []
        for runner, optimizer in zip((compiled, archived), optimizers, strict=True):
            torch.manual_seed(11)
            runner.zero_grad()
            found.append(runner.step(x, target=target, gather="all"))
            runner.clip_grad_norm_(0.5)
            optimizer.step()
        wanted, result = found
        assert torch.equal(result.loss, wanted.loss)
        assert torch.equal(result.losses, wanted.losses)
        assert torch.equal(result.outputs, wanted.outputs)
        same(compiled, archived)
    x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(8))
    torch.testing.assert_close(archived.eval(x), compiled.eval(x))  # where weights that are compiled here are folded


def test_any_number_of_rows_is_evaluated(alone: Mesh, tmp_path: Path) -> None:
    compiled, archived = pair(alone, tmp_path, lambda: partition(network(), 2), torch.zeros(2, WIDTH))
    x = torch.randn(21, WIDTH, generator=torch.Generator().manual_seed(9))
    for rows in (1, 8, 21):
        torch.testing.assert_close(archived.eval(x[:rows]), compiled.eval(x[:rows]))


def test_structures_inputs_by_name_and_tied_weights(alone: Mesh, tmp_path: Path) -> None:
    class Whole(nn.Module):
        def __init__(self, model: Tied) -> None:
            super().__init__()
            self.both, self.last = Both(model), Last(model)

        def forward(self, tokens: torch.Tensor, *, labels: torch.Tensor) -> torch.Tensor:
            return self.last(self.both(tokens), labels)

    tokens, labels = torch.randint(0, 7, (2, ROWS, 6), generator=torch.Generator().manual_seed(4))
    few = tokens[: ROWS // MICROBATCHES]
    path = tmp_path / "stages.tti"
    save_stages(path, stages=[Whole(Tied())], examples=few, named={0: {"labels": few}})
    compiled = Runner(stages=[Whole(Tied())], mesh=alone, loss="output", microbatches=MICROBATCHES)
    archived = Runner(path, mesh=alone, loss="output", microbatches=MICROBATCHES)
    results = [runner.step(tokens, labels=labels) for runner in (compiled, archived)]
    assert torch.equal(results[0].loss, results[1].loss)
    same(compiled, archived)
    assert len(archived.parameters()) == len(compiled.parameters()) == 2  # the table is one parameter of two modules
    with pytest.raises(Error, match=r"E0801.*stage 0 of the archive takes labels by name, not none"):
        archived.step(tokens)


def test_nothing_is_traced_or_compiled(alone: Mesh, tmp_path: Path) -> None:
    path = tmp_path / "stages.tti"
    save_stages(path, network(), 2, examples=(torch.zeros(4, WIDTH),))
    torch._dynamo.reset()
    counters.clear()
    with metrics.scope("archive") as counted:
        runner = Runner(path, mesh=alone, loss=nn.CrossEntropyLoss(), microbatches=MICROBATCHES, schedule="interleaved")
        ((x, target),) = batches(5, 1)
        runner.step(x, target=target)
        runner.eval(x)
        found = counted.flat()
    assert found.get("compilations", 0) == 0
    assert found["runs"] == 2 * (MICROBATCHES + 1) * 3  # of two stages: forward, backward, evaluation, each once more to be ready
    assert not counters["stats"]


def test_other_stages_are_names_and_shapes(alone: Mesh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process reads the weights and graphs of its own stages alone."""
    path = tmp_path / "stages.tti"
    save_stages(path, network(), 2, examples=(torch.zeros(4, WIDTH),))
    archive = loaded.open_stage_archive(path)
    first, last = loaded._loaded(archive, [1])
    assert {p.device.type for p in first.parameters()} == {"meta"}
    assert {p.device.type for p in last.parameters()} == {"cpu"}
    second = archive.stages.stages[1]
    assert second.training is not None
    assert second.training.backward is not None
    graphs = [second.training.forward, second.training.backward, second.evaluation.forward]
    own = {archive.stages.tensors[key].member for _, key in second.parameters} | {graph.part for graph in graphs}
    assert archive.read == own
    assert {name for name in archive.stages.members if name not in own}  # there are others
    with pytest.raises(Error, match="E0801"):
        first(torch.zeros(4, WIDTH))


def test_checkpoints_are_those_of_any_runner(alone: Mesh, tmp_path: Path) -> None:
    compiled, archived = pair(alone, tmp_path, odd, torch.zeros(ROWS // MICROBATCHES, WIDTH))
    ((x, target),) = batches(5, 1)
    trained = [p for p in compiled.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, 1e-2)
    compiled.step(x, target=target)
    optimizer.step()
    compiled.save(tmp_path / "checkpoint", optimizer)
    own = torch.optim.AdamW([p for p in archived.parameters() if p.requires_grad], 1e-2)
    assert archived.load(tmp_path / "checkpoint", own) == 1
    assert "0.scale" not in archived.state_dict()
    assert {name: value.tolist() for name, value in archived.state_dict().items()} == {
        name: value.tolist() for name, value in compiled.state_dict().items()
    }
    assert [value["exp_avg"].tolist() for value in own.state.values()] == [s["exp_avg"].tolist() for s in optimizer.state.values()]


def test_backward_functions_and_modes(alone: Mesh, tmp_path: Path) -> None:
    path = tmp_path / "stages.tti"
    save_stages(path, stages=odd(), examples=torch.zeros(2, WIDTH))
    calls: list[bool] = []

    def backward(output: torch.Tensor, gradient: torch.Tensor | None) -> None:
        calls.append(gradient is None)
        torch.autograd.backward(output, gradient, retain_graph=True)

    runner = Runner(path, mesh=alone, loss=nn.CrossEntropyLoss(), microbatches=8, schedule="interleaved", backward=backward)
    ((x, target),) = batches(5, 1)
    runner.step(x, target=target)
    assert calls.count(True) == 8
    runner.stages[0].eval()
    with pytest.raises(Error, match=r"E0801.*stage 0 of the archive is in evaluation") as caught:
        runner.stages[0](torch.zeros(2, WIDTH))
    assert caught.value.hint == "train(), or torch.no_grad()"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "schedule 1f1b does not fit 2 stages in 1 processes"),
        ({"schedule": "interleaved", "stages": "params"}, "an archive has its stages"),
        ({"schedule": "interleaved", "units": (nn.Linear,)}, "an archive has its stages"),
        ({"schedule": "interleaved", "precision": "bf16-mixed"}, "compute in float32, not in bf16-mixed"),
        ({"schedule": "interleaved", "target": "n150"}, "are for target host, not n150"),
        ({"schedule": "interleaved", "target": None}, "are for target host, not None"),
    ],
)
def test_options_that_an_archive_cannot_have(alone: Mesh, tmp_path: Path, options: dict[str, Any], what: str) -> None:
    path = tmp_path / "stages.tti"
    save_stages(path, network(), 2, examples=(torch.zeros(4, WIDTH),))
    with pytest.raises(Error, match=what) as caught:
        Runner(path, mesh=alone, **options)
    assert caught.value.code == "E0101"


def test_other_rows_and_types(alone: Mesh, tmp_path: Path) -> None:
    path = tmp_path / "stages.tti"
    save_stages(path, network(), 2, examples=(torch.zeros(4, WIDTH),), training=False)
    runner = Runner(path, mesh=alone, loss=nn.CrossEntropyLoss(), microbatches=2, schedule="interleaved")
    target = torch.zeros(8, dtype=torch.int64)
    for x in (torch.zeros(4, WIDTH), torch.zeros(8, WIDTH + 1), torch.zeros(8, WIDTH, dtype=torch.float64)):
        with pytest.raises(Error, match=r"E0801.*microbatches of stage 0 of the archive are float32 of \[4, 12\]"):
            runner.step(x, target=target[: len(x)])
    assert runner.eval(torch.zeros(8, WIDTH)).shape == (8, 5)
    with pytest.raises(Error, match=r"E0801.*in evaluation alone"):
        runner.step(torch.zeros(8, WIDTH), target=target)


@pytest.mark.parametrize(
    ("processes", "what"),
    [(2, "stages"), *(pytest.param(count, what, marks=WHOLE) for count, what in [(2, "more"), (2, "data"), (4, "grid")])],
)
def test_processes_load_their_parts(tmp_path: Path, processes: int, what: str) -> None:
    """The same numbers as stages compiled in the processes; what is wrong is an error of all."""
    status, printed = started("archived.py", processes, str(tmp_path), what)
    assert status == 0, printed
    assert [f"process {rank} is equal" in printed for rank in range(processes)] == [True] * processes


def test_stages_are_modules(tmp_path: Path) -> None:
    path = tmp_path / "stages.tti"
    save_stages(path, stages=[Both(Tied()), Middle(Tied())], examples=(torch.zeros(2, 6, dtype=torch.int64),), training=False)
    parts = loaded._loaded(loaded.open_stage_archive(path), [0, 1])
    assert [type(part) for part in parts] == [LoadedStage] * 2
    assert [sorted(dict(part.named_parameters())) for part in parts] == [["first.table.weight", "middle.inner.weight"], ["inner.weight"]]
