"""Options that make training programs: what goes together, and what they are called."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions, resolve
from ttc.settings.train_options import TrainOptions


def test_text_is_read_once() -> None:
    found = resolve(TrainOptions, {"loss": "Cross-Entropy:label_smoothing=0.1", "optimizer": "sgd: lr=0.1"})
    assert (found.loss, found.optimizer, found.wanted) == ("cross_entropy:label_smoothing=0.1", "sgd:lr=0.1", True)
    assert not TrainOptions().wanted
    assert TrainOptions(training=True).wanted


def test_they_are_recorded() -> None:
    trained = TrainOptions(loss="mse", groups=(("sgd", "w"),), clip_norm=1.0)
    given = {"loss": "mse", "clip_norm": 1.0, "groups": (("sgd", "w"),)}
    assert trained.recorded() == {**given, "microbatches": 1, "batch_norm": "batch", "recompute": "auto"}
    assert CompileOptions(training=trained).recorded().items() >= trained.recorded().items()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"optimizer": "sgd"}, "--optimizer makes a training program, which has a loss: there is none"),
        (
            {"training": True, "optimizer": "sgd", "microbatches": 2},
            "--microbatches makes a training program, which has a loss: there is none",
        ),
        ({"loss": "mse", "memory": 100, "recompute": "none"}, "--memory is what is kept where gradients compute some values again"),
        ({"input_gradients": True}, "--input-gradients makes a training program, which has a loss: there is none"),
        ({"loss": "mse", "clip_norm": 1.0}, "--clip-norm goes with an optimizer, and there is none"),
        ({"loss": "mse", "microbatches": 4}, "--microbatches goes with an optimizer, and there is none"),
    ],
)
def test_what_does_not_go_together(given: dict[str, object], message: str) -> None:
    with pytest.raises(Error) as caught:
        assert TrainOptions(**given).wanted  # pyright: ignore[reportArgumentType]
    assert (caught.value.code, caught.value.message) == ("E0101", message)


@pytest.mark.parametrize("given", [{"loss": "mes"}, {"optimizer": "adamx"}, {"clip_norm": 0}, {"clip_norm": "nan"}, {"microbatches": 0}])
def test_bad_values(given: dict[str, object]) -> None:
    with pytest.raises(Error) as caught:
        resolve(TrainOptions, given)
    assert caught.value.code == "E0101"
