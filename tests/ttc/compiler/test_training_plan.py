"""Training programs of whole models against PyTorch's own training: losses of every step, and weights after twenty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch: Any = pytest.importorskip("torch", reason="networks are trained by PyTorch, too")

import ttc  # noqa: E402
from tests.passes.nn.test_gradients_of_networks import Layer, mlp  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.runtime.executor import Executor  # noqa: E402

nn = torch.nn

STEPS = 20
BOUND = 1e-3
"""Of the relative L2 error of weights after STEPS updates."""


def cnn() -> tuple[Any, Any]:
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.GELU()
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)), torch.randn(4, 3, 12, 12)


class Classes(nn.Module):
    """A layer of a transformer whose classes are the second dimension, as PyTorch's loss wants them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()

    def forward(self, ids: Any) -> Any:
        return self.layer(ids).transpose(1, 2)


def transformer() -> tuple[Any, Any]:
    return Classes(), torch.randint(0, 11, (4, 7))


def labels(network: Any, x: Any) -> Any:
    """Classes at random, one in four of which does not count."""
    with torch.no_grad():
        shape = network(x).shape
    found = torch.randint(0, shape[1], (shape[0], *shape[2:]))
    return torch.where(torch.rand(found.shape) < 0.25, torch.full_like(found, -100), found)


def numbers(program: Any) -> dict[str, NDArray]:
    """Hyper-parameters as they were when the program was compiled."""
    return {name: np.array(value, np.float32) for name, value in program.description.training.hyper.items()}


def check_weights(network: Any, found: Mapping[str, NDArray], states: Mapping[str, NDArray]) -> None:
    for name, value in network.state_dict().items():
        if name not in found and name not in states:
            continue
        mine, reference = (found | states)[name], value.numpy()
        assert np.linalg.norm(mine - reference) <= BOUND * max(np.linalg.norm(reference), 1e-3), name
    assert found.keys() == dict(network.named_parameters()).keys()


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=3e-3),
}


@pytest.mark.parametrize("microbatches", [1, 4])
@pytest.mark.parametrize(("build", "optimizer"), [(mlp, "adamw"), (cnn, "sgd"), (transformer, "sgd")])
def test_weights_after_twenty_steps_are_those_of_pytorch(
    build: Callable[[], tuple[Any, Any]], optimizer: str, microbatches: int, tmp_path: Path
) -> None:
    """A step of several microbatches is the full batch's, but that each has statistics of its own.

    The transformer takes SGD: the gradient of a bias of keys is 0 but for rounding, which AdamW makes as large as any other.
    """
    network, example = build()
    loss, theirs = nn.CrossEntropyLoss(label_smoothing=0.1), OPTIMIZERS[optimizer](network.parameters())
    network.eval()
    whole = torch.cat([example] * microbatches)
    whole = whole + 0.1 * torch.randn_like(whole) if whole.is_floating_point() else torch.randint_like(whole, 0, 11)
    target = labels(network, whole)
    network.train()
    program = ttc.compile(network, (example,), target="host", loss=loss, optimizer=theirs, microbatches=microbatches)
    path = tmp_path / "network.tti"
    program.save(path)
    given = {program.description.training.inputs[0]: whole.numpy(), "target": target.numpy(), **numbers(program)}
    with ttc.load(path) as executor:
        for _ in range(STEPS):
            found = executor.run(given, "step")
            theirs.zero_grad()
            parts = [network(x) for x in whole.split(len(example))]
            expected = loss(torch.cat(parts), target)
            expected.backward()
            theirs.step()
            assert found["loss.sum"] / found["loss.count"] == pytest.approx(expected.item(), rel=2e-3)
        check_weights(network, executor.parameters(), executor.states())


def small(**options: Any) -> tuple[Any, Any, Executor, dict[str, NDArray]]:
    """A network, its optimizer, a session of its training program, and what a step takes."""
    network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    theirs = torch.optim.AdamW(network.parameters(), lr=0.01)
    program = ttc.compile(network, (torch.randn(4, 4),), target="host", optimizer=theirs, **{"loss": "cross_entropy", **options})
    x, target = torch.randn(4, 4), torch.tensor([0, 2, -100, 1])
    return network, theirs, Executor(program), {"input": x.numpy(), "target": target.numpy(), **numbers(program)}


def test_microbatches_one_by_one_are_one_step() -> None:
    """Sums and counts are added, and divided once: the halves have different numbers of targets that count."""
    _, _, executor, given = small()
    halves = {"input": np.tile(given["input"], (2, 1)), "target": np.array([0, -100, -100, -100, 1, 2, 0, -100])}
    rates = {name: value for name, value in given.items() if name not in ("input", "target")}
    for at in (0, 4):
        executor.run({name: value[at : at + 4] for name, value in halves.items()}, "backward")
    assert executor.states()["loss.count"] == 4
    executor.run(rates, "optimizer")
    assert executor.states()["loss.count"] == 0
    assert not any(value.any() for name, value in executor.states().items() if name.startswith("grad."))
    one = executor.parameters()
    executor.reset()
    whole = small()[3]
    network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    network.load_state_dict({name: torch.tensor(value) for name, value in executor.parameters().items()})
    theirs = torch.optim.AdamW(network.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss()(network(torch.tensor(halves["input"])), torch.tensor(halves["target"]))
    loss.backward()
    theirs.step()
    for name, value in network.named_parameters():
        np.testing.assert_allclose(one[name], value.detach().numpy(), atol=2e-4)
    assert whole.keys() == given.keys()


def test_looking_changes_nothing() -> None:
    network, _, executor, given = small()
    before = executor.parameters() | executor.states()
    inputs = {name: given[name] for name in ("input", "target")}
    found = executor.run(inputs, "evaluate")
    y = network(torch.tensor(given["input"])).detach()
    np.testing.assert_allclose(executor.run({"input": given["input"]}, "forward")["linear_1"], y.numpy(), atol=1e-5)
    assert found["loss.sum"] / found["loss.count"] == pytest.approx(
        nn.CrossEntropyLoss()(y, torch.tensor(given["target"])).item(), rel=1e-5
    )
    for name, value in (executor.parameters() | executor.states()).items():
        np.testing.assert_array_equal(value, before[name])


def test_a_program_without_a_loss() -> None:
    """The gradient of output y is the input grad.y, that of input x the output grad.x."""
    network = nn.Linear(3, 2)
    program = ttc.compile(network, (torch.randn(4, 3),), target="host", training=True, input_gradients=True)
    x, dy = torch.randn(4, 3, requires_grad=True), torch.randn(4, 2)
    network(x).backward(dy)
    with Executor(program) as executor:
        found = executor.run({"input": x.detach().numpy(), "grad.linear": dy.numpy()}, "backward")
        np.testing.assert_allclose(found["grad.input"], x.grad.numpy(), atol=1e-5)
        np.testing.assert_allclose(executor.states()["grad.weight"], network.weight.grad.numpy(), atol=1e-5)
        assert list(program.netlist.programs) == ["forward", "evaluate", "backward"]


def test_clipping_is_that_of_pytorch() -> None:
    network, theirs, executor, given = small(clip_norm=0.1)
    for _ in range(5):
        found = executor.run(given, "step")
        theirs.zero_grad()
        nn.CrossEntropyLoss()(network(torch.tensor(given["input"])), torch.tensor(given["target"])).backward()
        norm = nn.utils.clip_grad_norm_(network.parameters(), 0.1)
        theirs.step()
        assert found["grad_norm"] == pytest.approx(norm.item(), rel=1e-4)
    check_weights(network, executor.parameters(), {})


def test_updates_that_are_not_finite_are_left_out() -> None:
    _, _, executor, given = small(loss_scale=1024.0)
    before = executor.parameters()
    found = executor.run({**given, "input": np.full((4, 4), np.inf, np.float32)}, "step")
    assert found["skipped"]
    assert executor.states()["loss_scale.scale"] == 512
    assert executor.states()["optimizer.step"] == 0
    for name, value in executor.parameters().items():
        np.testing.assert_array_equal(value, before[name])
    assert not executor.run(given, "step")["skipped"]
    assert executor.states()["optimizer.step"] == 1
    assert any((value != before[name]).any() for name, value in executor.parameters().items())


def test_master_weights_stay_in_float32() -> None:
    _, _, executor, given = small(format="Float16_b")
    held = {q.key or q.name: q.tensor.format for q in executor.netlist.queues.values()}
    kept = [name for name in held if name in executor.parameters() or name in executor.states()]
    assert len(kept) >= 4 + 4 + 8 + 2
    assert {held[name] for name in kept} == {"Float32"}
    assert "Float16_b" in held.values()
    losses = [float(found["loss.sum"] / found["loss.count"]) for _ in range(STEPS) for found in [executor.run(given, "step")]]
    assert losses[-1] < 0.9 * losses[0]


def test_archives_are_the_same_bytes(tmp_path: Path) -> None:
    network = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    for name in ("one", "two"):
        ttc.compile(network, (torch.ones(4, 4),), target="host", loss="mse", optimizer="adam").save(tmp_path / f"{name}.tti")
    assert (tmp_path / "one.tti").read_bytes() == (tmp_path / "two.tti").read_bytes()


def test_labels_out_of_range_change_nothing() -> None:
    _, _, executor, given = small()
    before = executor.parameters() | executor.states()
    with pytest.raises(Error) as caught:
        executor.run({**given, "target": np.array([0, 1, 2, 3])}, "step")
    assert caught.value.code == "E0802"
    for name, value in (executor.parameters() | executor.states()).items():
        np.testing.assert_array_equal(value, before[name])


def stochastic(tmp_path: Path) -> tuple[Any, Path, dict[str, NDArray]]:
    """A network with dropout, in an attention too, and a batch norm; its archive, and what a step takes."""

    class Stochastic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
            self.norm, self.last = nn.BatchNorm1d(8), nn.Linear(8, 3)

        def forward(self, x: Any) -> Any:
            return self.last(self.norm(self.layer(x).mean(1)))

    network, x, target = Stochastic(), torch.randn(6, 5, 8), torch.tensor([0, 1, 2, 0, 1, 2])
    program = ttc.compile(network, (x,), target="host", loss="cross_entropy", optimizer="adamw:lr=0.01")
    program.save(tmp_path / "network.tti")
    return network, tmp_path / "network.tti", {"x": x.numpy(), "target": target.numpy(), **numbers(program)}


def test_the_same_seed_gives_the_same_bits_whatever_the_threads(tmp_path: Path) -> None:
    _, path, given = stochastic(tmp_path)
    runs: list[dict[str, NDArray]] = []
    for threads, seed in ((1, 7), (2, 7), (2, 8)):
        with ttc.load(path, threads=threads) as executor:
            executor.session.assign({}, {"random.seed": np.array(seed)})
            inputs = {"x": given["x"]}
            (drawn,), (again,) = (executor.run(inputs, "forward").values() for _ in range(2))
            found = executor.run(given, "step")
            assert executor.states()["random.offset"] == 1
            (later,) = executor.run(inputs, "forward").values()
            runs.append({"drawn": drawn, "again": again, "later": later, "of the step": next(iter(found.values()))})
    one, two, other = runs
    assert all(np.array_equal(one[name], two[name]) for name in ("drawn", "again"))
    np.testing.assert_array_equal(one["drawn"], one["again"])
    np.testing.assert_allclose(one["drawn"], one["of the step"], atol=1e-5)
    assert not np.allclose(one["drawn"], one["later"], atol=1e-3)
    assert not np.allclose(one["drawn"], other["drawn"], atol=1e-3)


def test_evaluation_is_that_of_pytorch(tmp_path: Path) -> None:
    """Without dropout, and by running statistics, which training has moved."""
    network, path, given = stochastic(tmp_path)
    with ttc.load(path) as executor:
        for _ in range(3):
            executor.run(given, "step")
        held = executor.parameters() | executor.states()
        assert held["norm.num_batches_tracked"] == 3
        network.load_state_dict({name: torch.tensor(held[name]) for name in network.state_dict()})
        expected = network.eval()(torch.tensor(given["x"])).detach().numpy()
        found = executor.run({name: given[name] for name in ("x", "target")}, "evaluate")
    np.testing.assert_allclose(next(iter(found.values())), expected, atol=1e-5)
