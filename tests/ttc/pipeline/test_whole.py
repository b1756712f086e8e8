"""One model that a pipeline cuts into stages trains as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error, TtcWarning

torch: Any = pytest.importorskip("torch", reason="stages are modules of PyTorch")
from tests.ttc.stages import staged  # noqa: E402


@pytest.mark.parametrize("devices", [["host", "host", "host"], ["cpu", "n150:0", "cpu"]])
@pytest.mark.parametrize("mode", ["sequential", "processes"])
def test_a_model_that_is_cut_trains_as_the_whole(devices: list[str], mode: str, rng: Any) -> None:
    model, twin = staged.Shared(), staged.Shared()
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.01)
    places, x = torch.arange(3), torch.zeros(3, 4)
    with ttc.Pipeline(model, devices=devices, loss="mse", optimizer="sgd:lr=0.01", mode=mode) as pipeline:
        for _ in range(2 * 3):
            x, y = (torch.from_numpy(rng.standard_normal((3, 4)).astype("float32")) for _ in range(2))
            pipeline.push(x, places)
            pipeline.push_target(y)
            (torch.nn.functional.mse_loss(twin(x, places), y) / 3).backward()
            if len(pipeline.targets) % 3 == 0:
                optimizer.step()
                optimizer.zero_grad()
        pipeline.run_training(steps=2, microbatches=3)
        pipeline.pull_weights()
        outputs = pipeline.run_inference(inputs=[(x, places)]).get()
    torch.testing.assert_close(model.state_dict(), twin.state_dict(), rtol=2e-5, atol=2e-5)
    torch.testing.assert_close(outputs, twin.eval()(x, places), rtol=2e-5, atol=2e-5)


def test_a_plan_and_inputs_by_name(rng: Any) -> None:
    model = staged.Chain()
    x = torch.from_numpy(rng.standard_normal((3, 4)).astype("float32"))
    plan = {"layers.0-1": 0, "layers.2-3": 1, "head": 1}
    with ttc.Pipeline(model, devices=["host", "cpu"], plan=plan) as pipeline:
        pipeline.push(x=x)
        found = pipeline.run_inference().get()
        assert {stage: len(values) for stage, values in pipeline.parameters().items()} == {"host": 4, "cpu": 6}
    torch.testing.assert_close(found, model(x), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ttc.Pipeline(staged.Chain()), "takes a device for each"),
        (lambda: ttc.Pipeline(staged.Chain(), devices="host"), "takes a device for each"),
        (lambda: ttc.Pipeline([("host", staged.Chain())], devices=["host"]), "devices go with one model"),
        (lambda: ttc.Pipeline([("host", staged.Chain())], plan={"head": 1}), "a plan goes with one model"),
    ],
)
def test_what_does_not_go_together(make: Any, words: str) -> None:
    with pytest.raises(Error, match=words) as raised:
        make()
    assert raised.value.code == "E0101"


def test_as_many_devices_as_stages() -> None:
    with ttc.Pipeline(staged.Chain(), devices=["host", "host"]) as pipeline:
        pipeline.push(torch.zeros(3, 4))
        with pytest.raises(Error, match="cut into 1 stages, and there are 2 devices"):
            pipeline.run_inference()


def test_too_few_microbatches_are_told_or_refused(rng: Any) -> None:
    plan = {"layers.0-1": 0, "layers.2-3": 1, "head": 2}
    for strict in (False, True):
        with ttc.Pipeline(staged.Chain(), devices=["host"] * 3, plan=plan, loss="mse", optimizer="sgd", strict=strict) as pipeline:
            for _ in range(2):
                pipeline.push(torch.zeros(3, 4))
                pipeline.push_target(torch.zeros(3, 2))
            if strict:
                with pytest.raises(Error, match="2 microbatches do not fill 3 stages.* wait 50% of the time"):
                    pipeline.run_training(microbatches=2)
            else:
                with pytest.warns(TtcWarning, match="2 microbatches do not fill 3 stages"):
                    pipeline.run_training(microbatches=2)
