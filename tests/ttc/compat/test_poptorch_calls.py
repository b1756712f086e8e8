"""Arguments of models in every form in which PopTorch takes them."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")

from ttc.dialects.core.errors import Error  # noqa: E402


class Nested(torch.nn.Module):
    """Takes tensors in a tuple, a mapping, and by name."""

    def forward(self, pair: Any, table: Any, scale: Any = None, *, negative: bool = False) -> Any:
        found = pair[0] * 100 + pair[1] * 10 + table["x"]
        found = found if scale is None else found * scale
        return -found if negative else found


def test_tensors_in_tuples_lists_and_mappings(poptorch: Any) -> None:
    one, two, three = (torch.full((2, 2), float(n)) for n in (1, 2, 3))
    found = poptorch.inferenceModel(Nested())
    assert found((one, two), {"x": three}).tolist() == [[123, 123], [123, 123]]
    assert found((two, one), table={"x": three}).tolist() == [[213, 213], [213, 213]]
    model = Nested()
    listed = poptorch.inferenceModel(model)
    assert listed([one, two], {"x": three}, scale=two, negative=True).tolist() == [[-246, -246], [-246, -246]]
    assert "forward" not in vars(model)


def test_what_is_no_tensor_is_that_of_the_first_call(poptorch: Any) -> None:
    one = torch.ones(1, 2)
    found = poptorch.inferenceModel(Nested())
    assert found((one, one), {"x": one}, negative=True).tolist() == [[-111, -111]]
    for call in (lambda: found((one, one), {"x": one}), lambda: found([one, one], {"x": one}, negative=True), lambda: found(nothing=one)):
        with pytest.raises(Error) as raised:
            call()
        assert raised.value.code == "E0801"


def test_the_target_of_a_loss_stands_behind_nested_inputs(poptorch: Any) -> None:
    class Pair(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(1.0))

        def forward(self, pair: Any) -> Any:
            return pair[0] * self.weight + pair[1]

    model = Pair()
    trained = poptorch.trainingModel(model, 1, loss=torch.nn.MSELoss(), optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    ones = torch.ones(4, 1)
    out, loss = trained((ones, ones), 3 * ones)  # 1 + 1 - 3: a loss of 1, whose gradient is -2
    assert (out.tolist(), loss.item(), round(model.weight.item(), 6)) == ([[2.0]] * 4, 1.0, 1.2)


class Losses(torch.nn.Module):
    """A layer, and losses of it as they are asked for."""

    def __init__(self, losses: Any) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.linear, self.losses = torch.nn.Linear(6, 6), losses

    def forward(self, x: Any, target: Any) -> Any:
        y = self.linear(x)
        return y, *self.losses(torch.nn.functional.l1_loss(y, target), torch.nn.functional.mse_loss(y, target))


def test_two_losses_are_marked_and_none_is_an_error(poptorch: Any) -> None:
    x, target = torch.rand(2, 4, 6)
    for losses in (lambda a, b: (poptorch.identity_loss(a + b),), lambda a, b: (poptorch.identity_loss(a), poptorch.identity_loss(b))):
        model, reference = Losses(losses), Losses(lambda a, b: (a + b,))
        found = poptorch.trainingModel(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))(x, target)
        native, wanted = reference(x, target)
        wanted.backward()
        torch.testing.assert_close(found[0], native)
        torch.testing.assert_close(sum(found[1:]), wanted)
        torch.testing.assert_close(model.linear.weight, reference.linear.weight - 0.1 * reference.linear.weight.grad)
    for losses, message in ((lambda a, b: (a, b), "l1_loss, mse_loss; the loss is of one"), (lambda a, b: (), "is no loss")):
        with pytest.raises(Error, match=message) as raised:
            poptorch.trainingModel(Losses(losses))(x, target)
        assert raised.value.code == "E0206"
