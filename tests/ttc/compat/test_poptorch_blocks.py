"""Annotations of layers and inside a model say the same stages."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")

from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.marks.stages import stages_begun  # noqa: E402


def layers() -> list[Any]:
    torch.manual_seed(5)
    return [torch.nn.Linear(4, 4) for _ in range(3)]


def annotated(poptorch: Any) -> Any:
    """Layers that are wrapped one by one, as `poptorch.IPU` around each."""
    first, second, third = layers()
    return torch.nn.Sequential(first, poptorch.IPU(1, second), torch.nn.ReLU(), poptorch.IPU(2, layer_to_call=third))


def marked(poptorch: Any) -> Any:
    """The same layers, and annotations between statements of forward."""

    class Marked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(layers())

        def forward(self, x: Any) -> Any:
            poptorch.IPU(0)
            x = self.layers[0](x)
            poptorch.IPU(1)
            x = torch.relu(self.layers[1](x))
            poptorch.IPU(2)
            return self.layers[2](x)

    return Marked()


@pytest.mark.parametrize("form", [annotated, marked], ids=["around layers", "in forward"])
def test_both_forms_of_annotations_train_as_pytorch_does(poptorch: Any, form: Any) -> None:
    model = form(poptorch)
    first, second, third = layers()
    reference = torch.nn.Sequential(first, second, torch.nn.ReLU(), third)
    x, target = torch.linspace(-1, 1, 8).reshape(2, 4), torch.ones(2, 4)
    trained = poptorch.trainingModel(model, 1, loss=torch.nn.MSELoss(), optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    expected = torch.optim.SGD(reference.parameters(), lr=0.1)
    for _ in range(3):
        out, loss = trained(x, target)
        expected.zero_grad()
        native = reference(x)
        wanted = torch.nn.functional.mse_loss(native, target)
        wanted.backward()
        expected.step()
        torch.testing.assert_close((out, loss), (native.detach(), wanted.detach()), rtol=1e-5, atol=1e-5)
    assert stages_begun()[-2:] == (1, 2)
    for found, known in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", [annotated, marked], ids=["around layers", "in forward"])
def test_what_stands_before_the_first_annotation_is_a_stage(poptorch: Any, form: Any) -> None:
    model = form(poptorch)
    with pytest.raises(Error, match=r"number of pipeline stages \(3\), and is 2"):
        poptorch.inferenceModel(model, poptorch.Options().deviceIterations(2))(torch.ones(2, 4))
    found = poptorch.inferenceModel(model, poptorch.Options().deviceIterations(3))(torch.ones(3, 4))
    torch.testing.assert_close(found, model(torch.ones(3, 4)), rtol=1e-5, atol=1e-5)
