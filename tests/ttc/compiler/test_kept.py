"""Programs of PyTorch that are kept from one compilation to the next: the same results, and when they are not the same program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test
from ttc.compiler import driver, kept
from ttc.runtime.archive import open_archive

torch = pytest.importorskip("torch", reason="modules are exported")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache, in which programs are kept."""
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "compiler_version", lambda: b"version")
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that were compiled, by their targets."""
    found: list[str] = []
    own = driver.compile_source

    def compile_source(source: Any, options: Any, *rest: Any) -> driver.Compilation:
        found.append(options.target)
        return own(source, options, *rest)

    monkeypatch.setattr(driver, "compile_source", compile_source)
    return found


class Net(torch.nn.Module):
    """A linear layer over x[n, 6] plus constants, a large and a small one, and a mask that is made of indices."""

    def __init__(self, shift: float = 0.5, factor: float = 1.0, offset: float = 0.0) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 40)
        self.factor = factor
        self.register_buffer("shift", torch.full((40,), shift))
        self.register_buffer("offset", torch.tensor(offset))

    def forward(self, x: Any) -> Any:
        mask = torch.arange(40) % 3 == 0
        return torch.where(mask, self.linear(x) * self.factor + self.shift, self.offset)


def net(seed: int = 0, **fields: float) -> Net:
    torch.manual_seed(seed)
    return Net(**fields)


def batch() -> Any:
    return torch.from_numpy(rng_of_test().standard_normal((4, 6)).astype(np.float32))


def run(model: Net, x: Any, **options: Any) -> np.ndarray:
    program = ttc.compile(model, (x,), target="host", **options)
    with ttc.Executor(program) as session:
        (found,) = session.run({"x": x.numpy()}).values()
        return found


def expected(model: Net, x: Any) -> np.ndarray:
    return model(x).detach().numpy()


def test_the_same_module_is_compiled_once(compiled: list[str]) -> None:
    x = batch()
    first, second = run(net(), x), run(net(), x)
    assert compiled == ["host"]
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(second, expected(net(), x), rtol=1e-5, atol=1e-6)


def test_other_weights_take_the_same_program(compiled: list[str]) -> None:
    x = batch()
    run(net(), x)
    other = net(1, shift=0.25)
    np.testing.assert_allclose(run(other, x), expected(other, x), rtol=1e-5, atol=1e-6)
    assert compiled == ["host"]


CHANGES: list[Callable[[], tuple[Net, dict[str, Any]]]] = [
    lambda: (net(offset=0.25), {}),
    lambda: (net(factor=2.0), {}),
    lambda: (net(), {"precision": "bfloat16"}),
]


@pytest.mark.parametrize("change", CHANGES, ids=["literal", "number", "option"])
def test_what_differs_is_compiled(change: Callable[[], tuple[Net, dict[str, Any]]], compiled: list[str]) -> None:
    x = batch()
    run(net(), x)
    model, options = change()
    tolerance = 1e-5 if not options else 5e-2
    np.testing.assert_allclose(run(model, x, **options), expected(model, x), rtol=tolerance, atol=tolerance)
    assert compiled == ["host", "host"]


def test_other_sizes_are_compiled(compiled: list[str]) -> None:
    run(net(), batch())
    run(net(), batch()[:2])
    assert compiled == ["host", "host"]


def test_another_version_of_the_compiler_compiles(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = batch()
    run(net(), x)
    monkeypatch.setattr(kept, "compiler_version", lambda: b"another")
    run(net(), x)
    monkeypatch.setattr(kept, "compiler_version", lambda: None)
    run(net(), x)
    assert compiled == ["host"] * 3


def test_damaged_entries_are_compiled_again(compiled: list[str], folder: Path) -> None:
    x = batch()
    wanted = run(net(), x)
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert run(net(), x).tobytes() == wanted.tobytes()
    assert compiled == ["host", "host"]


def test_values_that_were_looked_at_count(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A compilation that reads a weight holds for that value alone."""
    own = driver.compile_source

    def reading(source: Any, *rest: Any) -> driver.Compilation:
        source.weights["linear.bias"].value()
        return own(source, *rest)

    x = batch()
    monkeypatch.setattr(driver, "compile_source", reading)
    run(net(), x)
    run(net(), x)
    assert compiled == ["host"]
    np.testing.assert_allclose(run(net(1), x), expected(net(1), x), rtol=1e-5, atol=1e-6)
    assert compiled == ["host", "host"]


def test_a_kept_program_saves_the_same_archive(tmp_path: Path, compiled: list[str]) -> None:
    x = batch()
    for name in ("first", "second"):
        ttc.compile(net(), (x,), target="host").save(tmp_path / f"{name}.tti")
    assert compiled == ["host"]
    assert (tmp_path / "first.tti").read_bytes() == (tmp_path / "second.tti").read_bytes()
    assert open_archive(tmp_path / "second.tti").debug().keys() == {"nn.mlir"}


def trained(seed: int, x: Any, **options: Any) -> tuple[list[float], dict[str, Any]]:
    model = net(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    with ttc.training(model, loss="mse", optimizer=optimizer, target="host", **options) as executor:
        losses = [float(executor(x, torch.zeros(4, 40))[1]) for _ in range(3)]
        return losses, executor.state_dict()


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_training_goes_on_the_same(engine: str, compiled: list[str]) -> None:
    x = batch()
    trained(1, x)
    (losses, state), (again, other) = trained(0, x, engine=engine), trained(0, x, engine=engine)
    assert compiled == ["host"]
    assert losses == again
    assert losses[0] > losses[2]
    assert {name: value.numpy().tobytes() for name, value in state.items()} == {n: v.numpy().tobytes() for n, v in other.items()}


def test_training_is_that_of_a_program_compiled_anew(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = batch()
    trained(1, x)
    losses, _ = trained(0, x)
    monkeypatch.setattr(kept, "compiler_version", lambda: None)
    assert trained(0, x)[0] == losses
    assert compiled == ["host", "host"]


def test_hits_and_misses_are_counted() -> None:
    x = batch()
    with ttc.metrics.scope("kept") as found:
        run(net(), x)
        run(net(), x)
    assert (found.value("compile_cache_hits"), found.value("compile_cache_misses"), found.value("compilations")) == (1, 1, 1)


def test_a_program_for_values_of_an_input_is_not_kept(compiled: list[str]) -> None:
    class Sized(torch.nn.Module):
        def forward(self, x: Any, count: Any) -> Any:
            return x.expand(count.item(), 6) + 1

    for _ in range(2):
        program = ttc.compile(Sized(), (torch.zeros(1, 6), torch.tensor(3)), target="host")
        assert [fixed.name for fixed in program.description.fixed_inputs] == ["count"]
    assert compiled == ["host", "host"]
