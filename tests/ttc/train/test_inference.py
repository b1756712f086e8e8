"""`ttc.inference` on modules of PyTorch, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test
from tests.ttc.train.digits import write_model
from ttc.dialects.core.errors import Error, TtcWarning

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
HOST = {"target": "host", "threads": 1}


class Steps(torch.nn.Module):
    """Two outputs, one of them of another rank, with running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4)

    def forward(self, x: Any, scale: Any) -> Any:
        y = self.norm(self.first(x)) * scale
        return y, y.sum(1)


def drawn(*shape: int) -> Any:
    return torch.from_numpy(rng_of_test().standard_normal(shape).astype(np.float32))


def network() -> Any:
    torch.manual_seed(3)
    return Steps().eval()


def test_iterations_replicas_and_a_scalar_for_all() -> None:
    model, x, scale = network(), drawn(12, 6), torch.tensor(2.0)
    expected = model(x, scale)
    model.train()
    with ttc.inference(model, iterations=3, replicas=2, **HOST) as executor:
        assert executor.output_shapes(x, scale) == ((12, 4), (12,))
        assert executor.compilations == 0
        for found, wanted in zip(executor(x, scale), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
        executor(drawn(24, 6), scale)
        executor(x, scale)
        assert executor.compilations == 2
    assert model.training
    assert all(isinstance(b, torch.Tensor) and not isinstance(b, torch.nn.Parameter) for b in model.buffers())
    with pytest.raises(Error, match="closed"):
        executor(x, scale)


@pytest.mark.parametrize(("output", "chosen"), [("every:5", [4, 9]), ("last", [9]), ("sum", None)])
def test_outputs_of_single_rows(output: str, chosen: list[int] | None) -> None:
    torch.manual_seed(0)
    model, x = torch.nn.Linear(6, 20), drawn(10, 1, 5, 6)
    expected = model(x) if chosen is not None else model(x).sum(0, keepdim=True)
    with ttc.inference(model, iterations=10, output=output, **HOST) as executor:
        found = executor(x)
        assert executor.output_shapes(x) == (tuple(found.shape),)
        torch.testing.assert_close(found, expected if chosen is None else expected[chosen], rtol=1e-5, atol=1e-5)


def test_partial_batches() -> None:
    model, x, scale = network(), drawn(7, 6), torch.tensor(1.0)
    with ttc.inference(model, iterations=3, partial_batch="pad", **HOST) as executor:
        assert executor.output_shapes(x, scale) == ((7, 4), (7,))
        torch.testing.assert_close(executor(x, scale)[0], model(x, scale)[0], rtol=1e-5, atol=1e-5)
    with ttc.inference(model, iterations=3, recompile="error", **HOST) as executor:
        executor(x[:6], scale)
        for rows, message in ((x, "7 rows are no multiple of 3"), (x[:3], r"float32\[1, 6\]")):
            with pytest.raises(Error, match=message) as raised:
                executor(rows, scale)
            assert raised.value.code == "E0801"


@pytest.mark.parametrize("fixed", [{"batch": 2}, {"example_inputs": (torch.zeros(2, 6),)}, {"batch": 2, "devices": ["host", "host"]}])
@pytest.mark.parametrize(("output", "chosen"), [("all", None), ("last", [4, 5, 10, 11]), ("every:2", [2, 3, 8, 9])])
def test_a_fixed_microbatch_goes_as_often_as_there_are_rows(fixed: dict[str, Any], output: str, chosen: list[int] | None) -> None:
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).eval(), drawn(12, 6)
    plan: dict[str, Any] = {"plan": {"0": 0, "2": 1}} if "devices" in fixed else {}
    with ttc.inference(model, replicas=2, output=output, **fixed, **plan, **HOST) as executor:
        found = executor(x)
        torch.testing.assert_close(found, model(x) if chosen is None else model(x)[chosen], rtol=1e-5, atol=1e-5)
        assert executor.output_shapes(x) == (tuple(found.shape),)
        torch.testing.assert_close(executor.align(x), x if chosen is None else x[chosen])


def test_a_fixed_microbatch_is_filled_up() -> None:
    model, x, scale = network(), drawn(7, 6), torch.tensor(1.0)
    with ttc.inference(model, batch=2, partial_batch="pad", **HOST) as executor:
        torch.testing.assert_close(executor(x, scale)[0], model(x, scale)[0], rtol=1e-5, atol=1e-5)
        executor(x[:1], scale)
        assert executor.compilations == 1
        assert len(executor.align(x)) == 7
    for batch in (0, "2", True):
        with pytest.raises(Error, match="microbatch of .* rows is not possible"):
            ttc.inference(model, batch=batch)
    with pytest.raises(Error, match="example inputs have the rows"):
        ttc.inference(model, batch=2, example_inputs=(x, scale))


def test_newest_weights_and_running_statistics_of_training() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4))
    x, y = drawn(8, 6), drawn(8, 4)
    with ttc.inference(model, **HOST) as executor, ttc.training(model, loss="mse", optimizer="sgd:lr=0.5", **HOST) as trained:
        before = executor(x)
        trained(x, y)
        after = executor(x)
        assert (after - before).abs().max() > 0.01
        trained.pull_weights()
        torch.testing.assert_close(after, model.eval()(x), rtol=1e-5, atol=1e-5)
        state = trained.state_dict()
        trained(x, y)
        trained.load_state_dict(state)
        torch.testing.assert_close(executor(x), after, rtol=0, atol=0)


def test_changes_on_the_host_come_when_they_are_pushed() -> None:
    model, x, scale = network(), drawn(4, 6), torch.tensor(1.0)
    with ttc.inference(model, **HOST) as executor:
        before = executor(x, scale)[0]
        with torch.no_grad():
            model.first.bias += 1
        with pytest.warns(TtcWarning, match="changed on the host"):
            torch.testing.assert_close(executor(x, scale)[0], before, rtol=0, atol=0)
        executor.push_weights()
        torch.testing.assert_close(executor(x, scale)[0], model(x, scale)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"accumulate": 2}, {"optimizer": "sgd"}, {"loss": "mse"}, {"partial_batch": "pad", "output": "sum"}])
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(Error) as raised:
        ttc.inference(network(), **options)
    assert raised.value.code == "E0101"


def test_a_file(tmp_path: Any) -> None:
    write_model(tmp_path / "m.onnx")
    x = rng_of_test().standard_normal((8, 6)).astype(np.float32)
    with ttc.inference(tmp_path / "m.onnx", iterations=2, **HOST) as executor:
        found = executor(x)
        assert executor.output_shapes(x) == (found.shape,)
        with pytest.raises(Error, match="microbatches of 4 x 2 iterations"):
            executor(x[:6])
    with ttc.inference(tmp_path / "m.onnx", **HOST) as executor:
        np.testing.assert_array_equal(np.concatenate([executor(x[:4]), executor(x[4:])]), found)


def test_what_the_host_changes_in_place_waits_for_push_weights() -> None:
    torch.manual_seed(0)
    model, x = torch.nn.Linear(4, 4), drawn(2, 4)
    with ttc.inference(model, **HOST) as executor:
        before = executor(x).clone()
        with torch.no_grad():
            model.weight.mul_(2)
            model.bias.add_(1)
        assert torch.equal(executor(x), before)
        executor.push_weights()
        torch.testing.assert_close(executor(x), model(x), rtol=1e-5, atol=1e-5)
