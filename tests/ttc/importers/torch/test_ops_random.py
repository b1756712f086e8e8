"""Dropouts of modules of PyTorch in training: what they draw, by statistics, and what they are in evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
from torch import nn  # noqa: E402

import ttc  # noqa: E402
from tests.draws import rng_of_test  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402

P = 0.3
ALL = (32, 40, 3, 5, 4)
DROPOUTS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "Dropout1d": (nn.Dropout1d(P), (64, 40, 6)),
    "Dropout2d": (nn.Dropout2d(P), (64, 40, 3, 4)),
    "Dropout3d": (nn.Dropout3d(P), ALL),
    "AlphaDropout": (nn.AlphaDropout(P), (64, 40, 6)),
    "FeatureAlphaDropout": (nn.FeatureAlphaDropout(P), (64, 40, 6)),
    "Dropout1d of one sample": (nn.Dropout1d(P), (2000, 4)),
    "Dropout2d in place": (nn.Dropout2d(P, inplace=True), (64, 40, 3, 4)),
    "alpha_dropout in place": (lambda x: nn.functional.alpha_dropout(x, P, training=True, inplace=True), (64, 40, 6)),
    "Bernoulli": (lambda x: x * torch.empty(64, 40, 1).bernoulli_(1 - P).div_(1 - P), (64, 40, 6)),
}


class Dropping(nn.Module):
    """Adds a parameter, so that there is something to train, and drops."""

    def __init__(self, dropout: Any) -> None:
        super().__init__()
        self.dropout, self.shift = dropout, nn.Parameter(torch.zeros(()))

    def forward(self, x: Any) -> Any:
        return self.dropout(x + self.shift)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Training programs of all dropouts."""
    folder, found = tmp_path_factory.mktemp("dropouts"), dict[str, Path]()
    for index, (name, (dropout, shape)) in enumerate(DROPOUTS.items()):
        program = ttc.compile(Dropping(dropout).train(), (torch.zeros(shape),), loss="mse", optimizer="sgd:lr=0", target="host")
        found[name] = folder / f"{index}.tti"
        program.save(found[name])
    return found


def outputs(path: Path, x: np.ndarray, program: str = "backward", threads: int = 1, calls: int = 1) -> list[np.ndarray]:
    """The model's output in each of several calls."""
    with ttc.load(path, threads=threads) as executor:
        return [next(iter(executor.run({"x": x, "target": np.zeros_like(x)}, program).values())) for _ in range(calls)]


def drawn_units(shape: tuple[int, ...], name: str, dropped: np.ndarray) -> np.ndarray:
    """Whether each unit that is drawn for was dropped: elements, or whole channels, whose elements must be alike."""
    if name.lower().startswith("alpha"):
        return dropped.reshape(-1)
    rows = dropped.reshape(shape[0] if len(shape) == 2 else shape[0] * shape[1], -1)
    assert (rows == rows[:, :1]).all()
    return rows[:, 0]


def assert_share(dropped: np.ndarray) -> None:
    """About a share P is dropped: within four standard deviations."""
    assert abs(dropped.mean() - P) < 4 * np.sqrt(P * (1 - P) / dropped.size)


@pytest.mark.parametrize("name", [name for name in DROPOUTS if "alpha" not in name.lower()])
def test_channels_are_dropped_as_wholes_by_their_probability(archives: Mapping[str, Path], name: str) -> None:
    shape = DROPOUTS[name][1]
    first, second = outputs(archives[name], np.ones(shape, np.float32), calls=2)
    for y in (first, second):
        np.testing.assert_allclose(np.unique(y), [0, 1 / (1 - P)], rtol=1e-6)
        assert_share(drawn_units(shape, name, y == 0))
    same = P**2 + (1 - P) ** 2
    assert abs((first == second).mean() - same) < 0.1


@pytest.mark.parametrize("name", [name for name in DROPOUTS if "alpha" in name.lower()])
def test_alpha_dropout_keeps_mean_and_variance(archives: Mapping[str, Path], name: str) -> None:
    shape = DROPOUTS[name][1]
    x = rng_of_test().standard_normal(shape).astype(np.float32)
    (y,) = outputs(archives[name], x)
    least = nn.functional.selu(torch.tensor(-100.0)).item()
    scale = ((least**2 * P + 1) * (1 - P)) ** -0.5
    dropped = np.isclose(y, scale * least * (1 - P), rtol=1e-6)
    np.testing.assert_allclose(y[~dropped], scale * (x[~dropped] - least * P), atol=1e-5)
    assert_share(drawn_units(shape, name, dropped))
    assert abs(y.mean()) < 0.1
    assert abs(y.std() - 1) < 0.1


@pytest.mark.parametrize("name", DROPOUTS)
def test_the_same_bits_whatever_the_threads_and_nothing_in_evaluation(archives: Mapping[str, Path], name: str) -> None:
    x = rng_of_test().standard_normal(DROPOUTS[name][1]).astype(np.float32)
    one, two = (outputs(archives[name], x, threads=threads, calls=2) for threads in (1, 2))
    assert [y.tobytes() for y in one] == [y.tobytes() for y in two]
    np.testing.assert_allclose(outputs(archives[name], x, "evaluate")[0], x, rtol=1e-6)


@pytest.mark.parametrize("name", ["Dropout2d", "AlphaDropout"])
def test_gradients_are_those_of_what_was_kept(name: str) -> None:
    model = Dropping(DROPOUTS[name][0]).train()
    x = torch.from_numpy(rng_of_test().standard_normal(DROPOUTS[name][1]).astype(np.float32))
    with ttc.training(model, loss=nn.MSELoss(reduction="sum"), optimizer="sgd:lr=0", target="host") as executor:
        y = executor.forward(x)
        executor.backward(torch.zeros_like(x))
        found = executor.grads()["shift"].item()
    factor = 1 / (1 - P) if name == "Dropout2d" else ((3.0911 * P + 1) * (1 - P)) ** -0.5
    dropped = y == (0 if name == "Dropout2d" else y.flatten().mode().values)
    assert found == pytest.approx((2 * y * factor)[~dropped].sum().item(), rel=1e-3)


def test_whole_channels_of_a_vector_are_refused() -> None:
    class Flat(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.ttc.feature_dropout(x, P, True)

    with pytest.raises(Error, match="channels of a tensor of rank 1") as caught:
        ttc.compile(Flat(), (torch.zeros(4),), target="host")
    assert caught.value.code == "E0402"
