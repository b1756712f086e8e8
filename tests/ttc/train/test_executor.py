"""`ttc.training` on modules of PyTorch, against PyTorch's own steps."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test
from tests.ttc.train.digits import write_model
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.train.executor import TrainingExecutor

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
ROWS, FEATURES, CLASSES = 8, 5, 3


def network() -> Any:
    generator = torch.Generator().manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 6), torch.nn.Tanh(), torch.nn.Linear(6, CLASSES))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
    return model


def rows(count: int = ROWS) -> tuple[Any, Any]:
    draws = rng_of_test()
    x = draws.standard_normal((count, FEATURES)).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(draws.integers(0, CLASSES, count))


def adam(model: Any) -> Any:
    return torch.optim.AdamW(model.parameters(), lr=0.05)


def executor_of(model: Any, optimizer: Any, **options: Any) -> TrainingExecutor:
    return ttc.training(model, loss=torch.nn.CrossEntropyLoss(), optimizer=optimizer, target="host", threads=1, **options)


def torch_step(model: Any, optimizer: Any, x: Any, target: Any) -> float:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    return loss.item()


def assert_same(model: Any, expected: Any, tolerance: float = 1e-5) -> None:
    for (name, found), wanted in zip(model.named_parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance, msg=lambda text, name=name: f"{name}: {text}")


@pytest.fixture(scope="module")
def trained() -> tuple[Any, TrainingExecutor]:
    """A module with an executor that was called once: tests bring both to a state of their own."""
    torch.manual_seed(0)
    model = network()
    executor = executor_of(model, "adamw:lr=0.05", example_inputs=(torch.zeros(ROWS, FEATURES),))
    return model, executor


@pytest.mark.parametrize(("accumulate", "iterations"), [(1, 1), (2, 2)])
def test_weights_are_those_of_plain_steps(accumulate: int, iterations: int) -> None:
    model, expected = network(), network()
    optimizer, reference = adam(model), adam(expected)
    schedulers = [torch.optim.lr_scheduler.StepLR(o, step_size=2, gamma=0.3) for o in (optimizer, reference)]
    parameters = list(model.parameters())
    with executor_of(model, optimizer, accumulate=accumulate, iterations=iterations) as executor, warnings.catch_warnings():
        warnings.simplefilter("error")  # of schedulers that are stepped before their optimizer
        for _ in range(5):
            x, target = rows(ROWS * accumulate * iterations)
            outputs, loss = executor(x, target)
            losses = [torch_step(expected, reference, *part) for part in zip(x.chunk(iterations), target.chunk(iterations), strict=True)]
            for scheduler in schedulers:
                scheduler.step()
            assert executor.losses.tolist() == pytest.approx(losses, rel=1e-5)
            assert loss.item() == pytest.approx(np.mean(losses), rel=1e-5)
            assert (outputs.shape, loss.shape) == ((len(x), CLASSES), ())
        executor.pull_weights()
    assert [id(p) for p in model.parameters()] == [id(p) for p in parameters]
    assert_same(model, expected)


@pytest.mark.parametrize("staged", [False, True])
def test_a_fixed_microbatch_goes_as_often_as_there_are_rows(staged: bool) -> None:
    model, (x, target) = network(), rows(24)
    expected = copy.deepcopy(model)
    optimizer = torch.optim.SGD(expected.parameters(), lr=0.1)
    torch_step(expected, optimizer, x, target)
    where: dict[str, Any] = {"devices": ["host"] * 2, "plan": {"0": 0, "2": 1}} if staged else {"target": "host"}
    given = {"loss": "cross_entropy", "optimizer": "sgd:lr=0.1", "batch": 3, "replicas": 2, "accumulate": 2}
    with ttc.training(model, **given, **where, output="last", loss_rows="output") as executor:
        shapes = executor.output_shapes(x, target)
        outputs, losses = executor(x, target)
        assert shapes == ((tuple(outputs.shape),), tuple(losses.shape))
        assert len(outputs) == 2 * 3
        assert executor.align(target).tolist() == [*target[9:12], *target[21:24]]
        assert len(executor.losses) == 8
        executor.pull_weights()
    assert_same(model, expected)


def test_an_update_in_steps() -> None:
    model, expected = network(), network()
    x, target = rows(2 * ROWS)
    reference = torch.optim.SGD(expected.parameters(), lr=0.1)
    with executor_of(model, "sgd:lr=0.1") as executor:
        for part in range(2):
            piece = slice(part * ROWS, (part + 1) * ROWS)
            torch.testing.assert_close(executor.forward(x[piece]), network()(x[piece]))
            loss = executor.backward(target[piece])
            assert loss.item() == pytest.approx(torch.nn.functional.cross_entropy(network()(x[piece]), target[piece]).item(), rel=1e-5)
        torch_step(expected, reference, x, target)
        grads = executor.grads()
        for name, parameter in expected.named_parameters():
            torch.testing.assert_close(grads[name], parameter.grad, rtol=1e-4, atol=1e-6)
        executor.update()
        executor.pull_weights()
        assert_same(model, expected)
        for call in (executor.update, executor.grads, executor.backward):
            with pytest.raises(Error, match="no accumulated gradients|no inputs to go back to"):
                call()


def test_weights_go_both_ways_but_never_at_once(trained: tuple[Any, TrainingExecutor]) -> None:
    model, executor = trained
    executor.pull_weights()
    before = model[0].bias.detach().clone()
    executor(*rows())
    torch.testing.assert_close(model[0].bias, before, rtol=0, atol=0)
    model[2].bias.data.fill_(0.5)  # which PyTorch does not count
    for call in (executor.pull_weights, executor.push_weights):
        with pytest.raises(Error, match="changed by training and on the host") as caught:
            call()
        assert caught.value.code == "E0809"
    model[2].bias.data.copy_(executor.state_dict()["2.bias"])
    model.load_state_dict({name: executor.state_dict()[name] for name in model.state_dict()})
    executor.pull_weights()
    with torch.no_grad():
        model[2].bias.fill_(0.25)
    with pytest.warns(TtcWarning, match="changed on the host"):
        executor.forward(rows()[0])
    executor.push_weights()
    assert executor.session.parameters()["2.bias"].tolist() == [0.25] * CLASSES


def test_a_state_that_is_loaded_gives_the_same_bits(trained: tuple[Any, TrainingExecutor]) -> None:
    _, executor = trained
    batches = [rows() for _ in range(4)]
    for batch in batches[:2]:
        executor(*batch)
    state = executor.state_dict()
    there = [executor(*batch)[1].item() for batch in batches[2:]]
    executor.load_state_dict(state)
    assert [executor(*batch)[1].item() for batch in batches[2:]] == there
    with pytest.raises(Error, match="the state lacks"):
        executor.load_state_dict({name: value for name, value in state.items() if name != "0.weight"})


def test_another_optimizer_goes_on_with_the_weights() -> None:
    model, expected = network(), network()
    x, target = rows()
    first, second = (torch.optim.SGD(expected.parameters(), lr=lr) for lr in (0.1, 0.3))
    with executor_of(model, "sgd:lr=0.1") as executor:
        executor(x, target)
        session = executor.session
        executor.optimizer = "sgd:lr=0.3"
        assert executor.session is session, "a learning rate is a number that comes in"
        executor(x, target)
        for reference in (first, second):
            torch_step(expected, reference, x, target)
        executor.optimizer = "adam:lr=0.05"
        assert executor.session is not session
        executor(x, target)
        torch_step(expected, torch.optim.Adam(expected.parameters(), lr=0.05), x, target)
        with pytest.raises(Error, match="no optimizer"):
            executor.optimizer = "adem"
        assert executor.optimizer == "adam:lr=0.05"
        executor.pull_weights()
    assert_same(model, expected)


def test_what_an_optimizer_has_gathered_goes_on() -> None:
    model, expected = network(), network()
    optimizer, reference = adam(model), adam(expected)
    batches = [rows() for _ in range(4)]
    for x, target in batches[:2]:
        torch_step(model, optimizer, x, target)
    for x, target in batches:
        torch_step(expected, reference, x, target)
    with executor_of(model, optimizer) as executor:
        for batch in batches[2:]:
            executor(*batch)
        executor.pull_weights()
    assert_same(model, expected)


def test_dropout_draws_anew_each_update_and_again_from_a_state() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 64), torch.nn.Dropout(0.5), torch.nn.Linear(64, CLASSES))
    x, target = rows()
    with executor_of(model, "sgd:lr=0.0") as executor:
        executor(x, target)
        state = executor.state_dict()
        first, second = (executor(x, target)[1].item() for _ in range(2))
        executor.load_state_dict(state)
        assert first != second
        assert [executor(x, target)[1].item() for _ in range(2)] == [first, second]
        torch.testing.assert_close(executor.forward(x), executor.forward(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda executor: executor(torch.zeros(12, FEATURES), torch.zeros(12, dtype=torch.int64)), "12 rows are no multiple of 8"),
        (lambda executor: executor(torch.zeros(8, FEATURES), torch.zeros(16, dtype=torch.int64)), "'input' has 8 rows, and 'target' 16"),
        (lambda executor: executor(torch.zeros(8, FEATURES)), "takes 2 arrays, not 1"),
        (lambda executor: executor(torch.zeros(8, FEATURES + 1), torch.zeros(8, dtype=torch.int64)), "has shape"),
        (lambda executor: executor(torch.zeros(8, FEATURES), torch.zeros(8)), "is of type float32"),
    ],
)
def test_arrays_that_do_not_fit(trained: tuple[Any, TrainingExecutor], call: Callable[[TrainingExecutor], Any], message: str) -> None:
    before = trained[1].session.parameters()
    with pytest.raises(Error, match=message) as caught:
        call(trained[1])
    assert caught.value.code == "E0801"
    assert all(np.array_equal(value, before[name]) for name, value in trained[1].session.parameters().items())


@pytest.mark.parametrize("optimizer", [None, "sgd"])
def test_a_call_without_a_loss(optimizer: str | None) -> None:
    x, target = rows()
    with ttc.training(network(), optimizer=optimizer, target="host") as executor:
        for arrays in ((x,), (x, target)):
            with pytest.raises(Error, match="there is none") as caught:
                executor(*arrays)
            assert caught.value.code == "E0101"
            assert "loss=" in str(caught.value)


def test_options() -> None:
    for options in ({"output": "al"}, {"accumulate": 0}, {"microbatches": 2}, {"targte": "host"}):
        with pytest.raises(Error) as caught:
            ttc.training(network(), loss="mse", optimizer="sgd", **options)(*rows())
        assert caught.value.code == "E0101"
    with pytest.raises(Error, match="no multiple of 6"):
        executor_of(network(), "sgd", accumulate=3, iterations=2)(*rows())


def test_what_needs_a_session(tmp_path: Any) -> None:
    executor = executor_of(network(), "sgd")
    with pytest.raises(Error, match="not compiled yet"):
        executor.state_dict()
    executor.close()
    with pytest.raises(Error, match="closed"):
        executor(*rows())


def test_a_file(tmp_path: Any) -> None:
    write_model(tmp_path / "m.onnx")
    options = {"loss": "cross_entropy", "optimizer": "sgd:lr=0.1", "target": "host", "threads": 1, "output": "loss"}
    with ttc.training(tmp_path / "m.onnx", **options) as executor:
        draws = rng_of_test()
        x, target = draws.standard_normal((4, 6)).astype(np.float32), draws.integers(0, 3, 4)
        outputs, first = executor(x, target)
        losses = [float(executor(x, target)[1]) for _ in range(20)]
        assert outputs == ()
        assert (type(first), first.shape) == (np.ndarray, ())
        assert losses[-1] < 0.7 * float(first)
        with pytest.raises(Error, match="no parameters on the host"):
            executor.pull_weights()


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_parameters_of_16_bits_gather_small_updates(engine: str) -> None:
    """Each update is far below the parameters' precision; their sum is not lost."""
    narrow = network().bfloat16()
    start = {name: p.detach().float() for name, p in narrow.named_parameters()}
    expected = network()
    expected.load_state_dict(start)
    x, target = rows()

    class Narrow(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = narrow

        def forward(self, x: Any) -> Any:
            return self.inner(x.bfloat16()).float()

    reference = torch.optim.SGD(expected.parameters(), lr=1e-3)
    with executor_of(Narrow(), "sgd:lr=0.001", engine=engine) as executor:
        for _ in range(20):
            executor(x, target)
            torch_step(expected, reference, x, target)
        states = executor.session.states()
        executor.pull_weights()
    for name, wanted in expected.named_parameters():
        master = torch.from_numpy(np.array(states[f"optimizer.master.inner.{name}"]))
        moved = (wanted - start[name]).norm()
        assert (master - wanted).norm() <= 0.02 * moved
        torch.testing.assert_close(dict(narrow.named_parameters())[name].detach(), master.bfloat16(), rtol=0, atol=0)


def test_dropout_between_recurrent_layers_draws_anew_each_update() -> None:
    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.head = torch.nn.GRU(FEATURES, 6, 2, dropout=0.5), torch.nn.Linear(6, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.head(self.cells(x)[0])

    x, target = rows()
    with executor_of(Recurrent(), "sgd:lr=0") as executor:
        assert len({float(executor(x, target)[1]) for _ in range(3)}) == 3


def test_a_loss_of_torch_that_has_no_record_is_traced() -> None:
    model, expected = torch.nn.Linear(FEATURES, 1), torch.nn.Linear(FEATURES, 1)
    expected.load_state_dict(model.state_dict())
    x, counts = rows()[0], torch.ones(ROWS, 1)
    loss = torch.nn.PoissonNLLLoss()
    with ttc.training(model, loss=loss, optimizer="sgd:lr=0.1", target="host", threads=1) as executor:
        found = executor(x, counts)[1]
        executor.pull_weights()
    wanted = loss(expected(x), counts)
    wanted.backward()
    torch.optim.SGD(expected.parameters(), lr=0.1).step()
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    assert_same(model, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acumulate": 2}, "there is no option 'acumulate'\nhint: did you mean 'accumulate'?"),
        ({"engine": "both"}, "engine 'both' is of ttc run, which compares the engines"),
    ],
)
def test_an_option_that_is_not_there_is_refused_before_the_first_call(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ttc.Error) as caught:
        ttc.training(torch.nn.Linear(3, 2), loss="mse", optimizer="sgd", target="host", **options)
    assert caught.value.code == "E0101"
    assert message in str(caught.value)


@pytest.mark.parametrize("staged", [False, True])
def test_cross_entropy_takes_probabilities_as_pytorch_does(staged: bool) -> None:
    model, (x, _) = network(), rows()
    target = torch.rand(ROWS, CLASSES, generator=torch.Generator().manual_seed(2)).softmax(1)
    loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([0.5, 1.0, 2.0]), label_smoothing=0.1)
    expected = copy.deepcopy(model)
    wanted = loss(expected(x), target)
    wanted.backward()
    torch.optim.SGD(expected.parameters(), lr=0.1).step()
    where: dict[str, Any] = {"devices": ["host"] * 2, "plan": {"0": 0, "2": 1}} if staged else {"target": "host"}
    with ttc.training(model, loss=loss, optimizer="sgd:lr=0.1", accumulate=2, **where) as executor:
        _, found = executor(x, target)
        executor.pull_weights()
        with pytest.raises(Error, match="float32"):
            executor(x, torch.zeros(ROWS, dtype=torch.int64))
    assert_same(model, expected)
    assert float(found) == pytest.approx(float(wanted), rel=1e-5)


@pytest.mark.parametrize("label", [-1, CLASSES])
def test_a_label_that_is_no_class_is_an_error_and_changes_nothing(trained: tuple[Any, TrainingExecutor], label: int) -> None:
    _, executor = trained
    x, target = rows()
    target[2] = label
    before = executor.state_dict()
    with pytest.raises(Error, match=f"index 3 is outside a dimension of {CLASSES}") as raised:
        executor(x, target)
    assert raised.value.code == "E0802"
    for name, value in executor.state_dict().items():
        assert torch.equal(value, before[name])
