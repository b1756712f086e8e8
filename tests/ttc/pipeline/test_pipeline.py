"""Pipelines give the numbers of one module, whatever their devices, modes and schedules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="stages are modules of PyTorch")

import ttc  # noqa: E402
from tests.ttc.pipeline.networks import BOUND, Whole, check_weights, microbatches, parts  # noqa: E402

PLACES = [["host"], ["cpu", "host"], ["n150:0", "cpu", "host"], ["cpu", "host", "n150:1", "cpu"]]
MODES = ["sequential", "threads", "processes"]


def trained(whole: Any, x: list[Any], t: list[Any], updates: int, optimizer: Any) -> list[float]:
    """Updates of the whole by PyTorch, each over an equal share of all rows; gives losses."""
    size, losses = len(x) // updates, []
    for number in range(updates):
        part = slice(number * size, (number + 1) * size)
        loss = torch.nn.functional.mse_loss(whole(torch.cat(x[part])), torch.cat(t[part]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("places", PLACES, ids=len)
@pytest.mark.parametrize("mode", MODES)
def test_training_is_that_of_one_module(places: list[str], mode: str, rng: np.random.Generator) -> None:
    stages = parts(len(places))
    whole = Whole(stages)
    x, t = microbatches(rng, 16)
    pairs = list(zip(places, stages, strict=True))
    with ttc.Pipeline(pairs, loss=torch.nn.MSELoss(), optimizer="adam:lr=0.01", mode=mode) as pipeline:
        for one, target in zip(x, t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        checkpoints = pipeline.run_training(epochs=2, steps=2, accumulate=2, microbatches=2, checkpoint_interval=3)
        found = checkpoints.get_all()
        losses = pipeline.losses.get_all()
        after = pipeline.run_inference(inputs=[x[0]]).get()
        assert [len(values) for values in found] == [len(places)] * 2
        optimizer = torch.optim.Adam(whole.parameters(), 0.01)
        wanted = trained(whole, x[:12], t[:12], 3, optimizer)
        check_weights(whole, list(found[0].values()))
        wanted += trained(whole, x[12:], t[12:], 1, optimizer)
        check_weights(whole, list(found[1].values()))
        check_weights(whole, list(pipeline.parameters().values()))
    np.testing.assert_allclose(losses, wanted, rtol=BOUND)
    with torch.no_grad():
        np.testing.assert_allclose(after, whole(x[0]), atol=BOUND)


@pytest.mark.parametrize("mode", MODES)
def test_outputs_and_gradients_step_by_step(mode: str, rng: np.random.Generator) -> None:
    stages = parts(3)
    whole = Whole(stages)
    x, t = microbatches(rng, 4)
    optimizer = torch.optim.SGD(whole.parameters(), 0.1, momentum=0.9)
    pairs = list(zip(["cpu", "n150", "cpu"], stages, strict=True))

    def sgd(parameters: Any) -> Any:
        return torch.optim.SGD(parameters, 0.1, momentum=0.9)

    with ttc.Pipeline(pairs, loss="mse", optimizer=sgd, mode=mode) as pipeline:
        for number in range(2):
            for one, target in zip(x, t, strict=True):
                pipeline.push(one)
                pipeline.push_target(target)
            outputs = pipeline.forward(3)
            first = pipeline.backward(2)
            outputs += pipeline.forward(1)
            pipeline.backward(2)
            optimizer.zero_grad()
            y = whole(torch.cat(x))
            loss = torch.nn.functional.mse_loss(y, torch.cat(t))
            loss.backward()
            assert first == pytest.approx(torch.nn.functional.mse_loss(y[:6], torch.cat(t[:2])).item(), rel=BOUND)
            np.testing.assert_allclose(torch.cat(outputs), y.detach(), atol=BOUND)
            for part, values in zip(whole.parts, pipeline.gradients().values(), strict=True):
                for name, parameter in part.named_parameters():
                    assert parameter.grad is not None
                    np.testing.assert_allclose(values[name], parameter.grad, atol=BOUND)
            assert pipeline.update(checkpoint=number == 1) == pytest.approx(loss.item(), rel=BOUND)
            optimizer.step()
        check_weights(whole, list(pipeline.checkpoints.get().values()))
        with pytest.raises(ttc.Error, match="there are no accumulated gradients"):
            pipeline.gradients()


def test_all_modes_and_schedules_give_the_same_bits(rng: np.random.Generator) -> None:
    x, t = microbatches(rng, 8)

    def weights(mode: str, schedule: str) -> list[Any]:
        stages = parts(4)
        devices = [ttc.Device("cpu"), ttc.Device("host", name="second")]
        pairs = list(zip([*devices, *devices], stages, strict=True))
        with ttc.Pipeline(pairs, loss="mse", optimizer="sgd:lr=0.1", mode=mode, schedule=schedule) as pipeline:
            for one, target in zip(x, t, strict=True):
                pipeline.push(one)
                pipeline.push_target(target)
            pipeline.run_training(steps=2, microbatches=4)
            assert pipeline.stages == ["cpu", "second", "cpu#2", "second#2"]
            return [value for values in pipeline.parameters().values() for value in values.values()]

    first = weights("sequential", "sequential")
    for mode, schedule in (("sequential", "1f1b"), ("threads", "gpipe"), ("threads", "interleaved"), ("threads", "1f1b")):
        for one, other in zip(first, weights(mode, schedule), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("place", ["cpu", "host"])
@pytest.mark.parametrize("weight", [None, [0.5, 1.0, 2.0, 0.25]])
def test_targets_that_do_not_count_fall_unevenly(place: str, weight: list[float] | None, rng: np.random.Generator) -> None:
    stages = parts(2)
    whole = Whole(stages)
    x, _ = microbatches(rng, 4)
    labels = [torch.tensor(row) for row in ([0, 1, -100], [-100, -100, -100], [3, 2, 1], [-100, 2, -100])]
    loss = torch.nn.CrossEntropyLoss(weight=None if weight is None else torch.tensor(weight))
    with ttc.Pipeline([("host", stages[0]), (place, stages[1])], loss=loss, optimizer="sgd:lr=0.5") as pipeline:
        for one, target in zip(x, labels, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        pipeline.run_training(microbatches=2, accumulate=2)
        wanted = loss(whole(torch.cat(x)), torch.cat(labels))
        assert pipeline.losses.get() == pytest.approx(wanted.item(), rel=BOUND)
        wanted.backward()
        torch.optim.SGD(whole.parameters(), 0.5).step()
        check_weights(whole, list(pipeline.parameters().values()))


@pytest.mark.parametrize("every", ["epoch", "update"])
def test_schedules_of_learning_rates(every: str, rng: np.random.Generator) -> None:
    stages = parts(2)
    whole = Whole(stages)
    x, t = microbatches(rng, 4)
    devices = ttc.Device("host"), ttc.Device("cpu", scheduler=lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5))
    pairs = list(zip(devices, stages, strict=True))
    with ttc.Pipeline(pairs, loss="mse", optimizer="sgd:lr=0.4", scheduler="step:step_size=1,gamma=0.5") as pipeline:
        for one, target in zip(x, t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        pipeline.run_training(epochs=2, steps=2, schedule_every=every)
        for number in range(4):
            rate = 0.4 * 0.5 ** (number if every == "update" else number // 2)
            trained(whole, [x[number]], [t[number]], 1, torch.optim.SGD(whole.parameters(), rate))
        check_weights(whole, list(pipeline.parameters().values()))


def test_gradients_of_all_stages_are_clipped_together(rng: np.random.Generator) -> None:
    stages = parts(2)
    whole = Whole(stages)
    x, t = microbatches(rng, 2)
    with ttc.Pipeline([("host", stages[0]), ("cpu", stages[1])], loss="mse", optimizer="sgd:lr=1", clip_norm=0.05) as pipeline:
        for one, target in zip(x, t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        pipeline.run_training(microbatches=2)
        torch.nn.functional.mse_loss(whole(torch.cat(x)), torch.cat(t)).backward()
        assert torch.nn.utils.clip_grad_norm_(whole.parameters(), 0.05) > 0.05
        torch.optim.SGD(whole.parameters(), 1.0).step()
        check_weights(whole, list(pipeline.parameters().values()))


def test_parameters_go_both_ways(rng: np.random.Generator) -> None:
    stages: Any = parts(2)
    x, _ = microbatches(rng, 1)
    with ttc.Pipeline([("host", stages[0]), ("cpu", stages[1])], loss="mse") as pipeline:
        pipeline.compile(x[0])
        changed = {name: np.full_like(value, 0.25) for name, value in pipeline.parameters("host").items()}
        pipeline.set_parameters(changed, "host")
        pipeline.set_parameters({"cpu": {"last.bias": np.ones(4, np.float32)}})
        assert float(pipeline.parameters()["host"]["first.weight"].max()) == 0.25
        assert stages[0].first.weight.max() != 0.25
        pipeline.pull_weights()
        assert float(stages[0].first.weight.max()) == 0.25
        np.testing.assert_array_equal(stages[1].last.bias.detach(), np.ones(4))
        for values, stage, code in (
            ({"first.wait": np.zeros(1)}, "host", "E0801"),
            ({"first.bias": np.zeros(4)}, "host", "E0801"),
            ({"a": np.zeros(4)}, "hast", "E0206"),
        ):
            with pytest.raises(ttc.Error) as caught:
                pipeline.set_parameters(values, stage)
            assert caught.value.code == code


def test_files_and_text(small_onnx: Path, tmp_path: Path, rng: np.random.Generator) -> None:
    """An ONNX model, IR text and an archive, behind each other."""
    x = rng.standard_normal((2, 8)).astype(np.float32)
    text = tmp_path / "twice.mlir"
    text.write_text("""module attributes {ttc.stage = "import"} {
  func.func @forward(%x: tensor<2x4xf32> {ttc.name = "x"}) -> (tensor<2x4xf32> {ttc.name = "y"}) {
    %0 = nn.add(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    func.return %0 : tensor<2x4xf32>
  }
}
""")
    ttc.compile(torch.nn.ReLU(), (torch.zeros(2, 8),), target="host").save(tmp_path / "relu.tti")
    pairs = [("host", tmp_path / "relu.tti"), ("n150:0", small_onnx), ("n150:1", text)]
    with ttc.Pipeline(pairs, taps={"n150:0": ["/fc/Add"]}) as pipeline:
        pipeline.push(x)
        y = pipeline.run_inference().get()
        tapped = pipeline.intermediates.get()
    whole = ttc.compile(small_onnx, {"x": x}, target="host")
    from ttc.runtime.executor import Executor

    with Executor(whole) as executor:
        (wanted,) = executor.run({"x": np.maximum(x, 0)}).values()
    np.testing.assert_allclose(y, 2 * wanted, atol=BOUND)
    assert tapped["n150:0"]["/fc/Add"].shape == (2, 4)


def test_a_file_is_trained_by_name(small_onnx: Path, rng: np.random.Generator) -> None:
    x = [rng.standard_normal((2, 8)).astype(np.float32) for _ in range(2)]
    last = torch.nn.Linear(4, 1)
    with ttc.Pipeline([("host", small_onnx), ("cpu", last)], loss=torch.nn.MSELoss(), optimizer="sgd:lr=0.5") as pipeline:
        for one in x:
            pipeline.push(x=one)
            pipeline.push_target(np.ones((2, 1), np.float32))
        pipeline.run_training(steps=2)
        first, second = pipeline.losses.get_all()
        assert second != first
        assert {"w", "b"} <= pipeline.parameters("host").keys()
        with pytest.raises(ttc.Error, match="has no input 'y'"):
            pipeline.push(y=x[0])


def test_a_keras_model(rng: np.random.Generator) -> None:
    keras: Any = pytest.importorskip("keras", reason="the extra tf is not installed")
    model, last = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5, activation="relu")]), torch.nn.Linear(5, 2)
    x = rng.standard_normal((3, 6)).astype(np.float32)
    with ttc.Pipeline([("host", model), ("cpu", last)]) as pipeline:
        pipeline.push(x)
        y = pipeline.run_inference().get()
    with torch.no_grad():
        np.testing.assert_allclose(y, last(torch.from_numpy(np.array(model(x)))), atol=BOUND)


def test_random_numbers_do_not_depend_on_the_mode(rng: np.random.Generator) -> None:
    x, t = microbatches(rng, 4)

    def losses(mode: str, schedule: str) -> list[float]:
        torch.manual_seed(0)
        stages = [torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.Dropout(0.5)) for _ in range(2)]
        stages[1] = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(64, 4))
        pairs = list(zip(["host", "cpu"], stages, strict=True))
        with ttc.Pipeline(pairs, loss="mse", optimizer="sgd:lr=0.1", mode=mode, schedule=schedule) as pipeline:
            for one, target in zip(x, t, strict=True):
                pipeline.push(one)
                pipeline.push_target(target)
            pipeline.run_training(steps=2, microbatches=2)
            return pipeline.losses.get_all()

    first = losses("sequential", "sequential")
    assert first[0] != first[1]
    assert losses("threads", "gpipe") == losses("sequential", "1f1b") == first


@pytest.mark.parametrize("against", ["torch", "golden"])
def test_stages_are_verified(against: str, rng: np.random.Generator) -> None:
    stages = parts(2)
    x, t = microbatches(rng, 2)
    with ttc.Pipeline([("n150", stages[0]), ("cpu", stages[1])], loss="mse", optimizer="adam", verify=against) as pipeline:
        for one, target in zip(x, t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        pipeline.run_training(microbatches=2)
        assert {verdict.stage for verdict in pipeline.verdicts} == {"n150", "cpu"}
        assert all(verdict.within for verdict in pipeline.verdicts)
        assert {verdict.what.split()[0] for verdict in pipeline.verdicts} == {"output", "gradient", "updated"}


def test_a_stage_out_of_its_bounds_is_an_error(rng: np.random.Generator) -> None:
    from ttc.pipeline.verified import Bounds, Verify

    x, _ = microbatches(rng, 1)
    strict = Bounds(1e-4, 1e-4, 0.9999)
    device = ttc.Device("n150", format="Bfp8_b")
    for raises in (True, False):
        with ttc.Pipeline([(device, parts(1)[0])], verify=Verify("torch", strict, raises)) as pipeline:
            pipeline.push(x[0])
            if raises:
                with pytest.raises(ttc.Error, match=r"stage 'n150': output 0 of microbatch 0: max abs .* PCC 0\.9") as caught:
                    pipeline.run_inference()
                assert caught.value.code == "E0812"
            else:
                pipeline.run_inference()
                assert [verdict.within for verdict in pipeline.verdicts] == [False]


def test_what_passes_between_stages_can_be_watched(rng: np.random.Generator) -> None:
    from queue import Queue

    stages = parts(3)
    x, t = microbatches(rng, 1)
    forward: list[Any] = [Queue(), None]
    backward: list[Any] = [Queue()]
    pairs = list(zip(["host", "cpu", "cpu"], stages, strict=True))
    with ttc.Pipeline(pairs, loss="mse", forward_queues=forward, backward_queues=backward) as pipeline:
        pipeline.push(x[0])
        pipeline.push_target(t[0])
        pipeline.run_training()
    np.testing.assert_allclose(forward[0].get()[0], x[0].relu())
    assert backward[0].get()[0].shape == (3, 6)


Call = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (lambda p: p.run_training(epochs=0), "E0101", "epochs is 0"),
        (lambda p: p.run_training(steps=0), "E0101", "steps is 0"),
        (lambda p: p.run_training(accumulate=0), "E0101", "accumulate is 0"),
        (lambda p: p.run_training(microbatches=-1), "E0101", "microbatches is -1"),
        (lambda p: p.run_training(checkpoint_interval=-1), "E0101", "checkpoint_interval is -1"),
        (lambda p: p.run_training(schedule_every="step"), "E0101", "schedule_every cannot be 'step'"),
        (lambda p: p.run_training(steps=2), "E0804", "queue 'inputs' has 1 microbatches, and 2 are asked for"),
        (lambda p: p.run_training(), "E0804", "queue 'targets' has 0 microbatches"),
        (lambda p: p.forward(2), "E0804", "queue 'inputs' has 1 microbatches"),
        (lambda p: p.backward(), "E0804", "0 microbatches have gone forward"),
        (lambda p: p.update(), "E0801", "there are no accumulated gradients"),
        (lambda p: p.run_inference(0), "E0101", "cannot run without end"),
        (lambda p: p.run_inference(2), "E0804", "has 1 microbatches, and 2 are asked for"),
        (lambda p: p.run_inference(3, inputs=[0]), "E0101", "3 microbatches are asked for, and 1 are given"),
        (lambda p: p.push(torch.zeros(4, 6)), "E0801", "input 0 is float32[4, 6], and was float32[3, 6] in the first microbatch"),
        (lambda p: p.push(torch.zeros(3, 6).half()), "E0801", "input 0 is float16"),
        (lambda p: p.push(torch.zeros(3, 6), torch.zeros(3, 6)), "E0801", "has 1 inputs, as the first had, not 2"),
        (lambda p: p.push(), "E0801", "at least one input"),
        (lambda p: p.push_target(torch.zeros(3), torch.zeros(3)), "E0801", "takes 1 target, not 2"),
        (lambda p: p.parameters("tt1"), "E0206", "there is no stage 'tt1'"),
    ],
)
def test_bad_calls(call: Call, code: str, words: str, rng: np.random.Generator) -> None:
    x, _ = microbatches(rng, 1)
    with ttc.Pipeline([("cpu", parts(1)[0])], loss="mse") as pipeline:
        pipeline.push(x[0])
        with pytest.raises(ttc.Error) as caught:
            call(pipeline)
        assert caught.value.code == code
        assert words in str(caught.value)
        assert pipeline.run_inference().get().shape == (3, 4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: ttc.Pipeline([]), "one stage at least"),
        (lambda m: ttc.Pipeline([m]), "a pair of a device and a module"),
        (lambda m: ttc.Pipeline([("n159", m)]), "n159"),
        (lambda m: ttc.Pipeline([("n150:x", m)]), "'n150:x' is no device"),
        (lambda m: ttc.Pipeline([(3, m)]), "a int is no device"),
        (lambda m: ttc.Pipeline([("cpu", "model.onnx")]), "does not run on the CPU in PyTorch"),
        (lambda m: ttc.Pipeline([("cpu", m)], optimizer="sgd"), "the pipeline has no loss"),
        (lambda m: ttc.Pipeline([("cpu", m)], loss="mze"), "did you mean 'mse'"),
        (lambda m: ttc.Pipeline([("cpu", m)], loss=3), "is no loss"),
        (lambda m: ttc.Pipeline([("cpu", m)], mode="thread"), "did you mean 'threads'"),
        (lambda m: ttc.Pipeline([("cpu", m)], schedule="zb"), "no schedule 'zb'"),
        (lambda m: ttc.Pipeline([("cpu", m)], room=0), "room for 0 items"),
        (lambda m: ttc.Pipeline([("cpu", m)], patience=0), "patience is 0"),
        (lambda m: ttc.Pipeline([("cpu", m)], clip_norm=-1.0, loss="mse"), "clip_norm is -1"),
        (lambda m: ttc.Pipeline([("cpu", m)], verify="tensorflow"), "cannot be verified against 'tensorflow'"),
        (lambda m: ttc.Pipeline([("cpu", m)], taps={"gpu": ["x"]}), "no stage 'gpu' to tap"),
        (lambda m: ttc.Pipeline([("cpu", m), ("host", m), ("cpu", m)], schedule="interleaved"), "do not come in turns"),
        (lambda m: ttc.Device("cpu", format="Float16"), "takes no options"),
        (lambda m: ttc.Device("n150", formt="Float16"), "did you mean 'format'"),
        (lambda m: ttc.Device("n150", target="host"), "no option of a device"),
        (
            lambda m: ttc.Pipeline([("cpu", m), ("host", m)], loss="mse", optimizer=torch.optim.SGD(m.parameters(), 0.1)),
            "an instance of torch.optim is of the parameters of one stage",
        ),
    ],
)
def test_bad_pipelines(make: Call, words: str) -> None:
    with pytest.raises(ttc.Error) as caught:
        make(parts(1)[0])
    assert words in str(caught.value)
    assert caught.value.code in ("E0101", "E0206")
