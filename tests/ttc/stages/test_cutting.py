"""Stages that one model is cut into compute together what it does, forward and back."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error, TtcWarning

torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
from tests.ttc.stages import staged  # noqa: E402


def inputs(rng: Any) -> tuple[Any, Any]:
    return torch.from_numpy(rng.standard_normal((3, 4)).astype("float32")), torch.arange(3)


@pytest.mark.parametrize("training", [True, False, None])
def test_stages_are_the_model(training: bool | None, rng: Any) -> None:
    model, twin = staged.Shared(whole=True), staged.Shared(whole=True)
    values = inputs(rng)
    parts = ttc.cut(model, values, training=training)
    assert len(parts) == 3
    for mode in (True, False) if training else (model.training if training is None else False,):
        for part in parts:
            part.train(mode)
        twin.train(mode)
        found, wanted = staged.run(parts, *values), twin(*values)
        assert found.keys() == wanted.keys()
        assert found["rows"] == wanted["rows"]
        torch.testing.assert_close(found["y"], wanted["y"])
        torch.testing.assert_close(found["later"], wanted["later"])
    torch.testing.assert_close(model.state_dict(), twin.state_dict())


def test_gradients_reach_the_models_own_parameters(rng: Any) -> None:
    model, twin = staged.Shared(), staged.Shared()
    values = inputs(rng)
    parts = ttc.cut(model, values, training=True)
    owners = [name for part in parts for name, _ in part.named_parameters()]
    assert sorted(owners) == sorted(name for name, _ in model.named_parameters())  # each is one stage's, a shared one the first's
    staged.run(parts, *values).square().sum().backward()
    twin(*values).square().sum().backward()
    for (name, own), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(own.grad, other.grad, msg=lambda text, name=name: f"{name}: {text}")


def test_in_inference_each_stage_has_a_shared_parameter_of_its_own(rng: Any) -> None:
    parts = ttc.cut(staged.Shared().eval(), inputs(rng))
    assert [sorted(name for name, _ in part.named_parameters() if "first" in name) for part in parts] == [
        ["first.bias", "first.weight"],
        [],
        ["first.weight"],
    ]


def test_a_value_that_is_written_to_in_place(rng: Any) -> None:
    model = staged.WritesInPlace()
    x, _ = inputs(rng)
    parts = ttc.cut(model, x)
    assert len(parts) == 3
    torch.testing.assert_close(staged.run(parts, x), model(x))


def test_what_flows_back_moves_or_is_refused(rng: Any) -> None:
    model = staged.FlowsBack()
    x, _ = inputs(rng)
    with pytest.raises(Error, match="value 'sin' of stage 1 flows back: op 'tanh' of stage 0 reads it") as raised:
        ttc.cut(model, x, strict=True)
    assert raised.value.code == "E0503"
    assert "staged.py" in str(raised.value.where)
    with pytest.warns(TtcWarning, match="2 such ops are of the later stage"):
        parts = ttc.cut(model, x)
    assert len(parts) == 2
    torch.testing.assert_close(staged.run(parts, x), model(x))


def test_a_stage_that_needs_nothing_of_the_one_before(rng: Any) -> None:
    class Apart(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            y = x.exp()
            ttc.stage(1).start()
            return y, self.weight * 2

    model = Apart()
    x, _ = inputs(rng)
    for found, wanted in zip(staged.run(ttc.cut(model, x, training=True), x), model(x), strict=True):
        torch.testing.assert_close(found, wanted)


class Counts(torch.nn.Module):
    """A buffer that the first stage reads, and the second changes."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Any
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        y = x + self.count
        ttc.stage(1).start()
        self.count.add_(1.0)
        return y * 2


def test_a_buffer_of_two_stages() -> None:
    with pytest.raises(Error, match="buffer 'count' is changed in one stage, and read in another") as raised:
        ttc.cut(Counts(), torch.zeros(2, 4))
    assert raised.value.code == "E0503"


def test_what_is_no_module() -> None:
    with pytest.raises(Error, match="a str cannot be cut") as raised:
        ttc.cut("model.onnx", None)  # pyright: ignore[reportArgumentType] - what is refused
    assert raised.value.code == "E0101"
