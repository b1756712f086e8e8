"""Draws of random numbers come back from text, and text draws nothing else."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dynamo.draw_texts import draw_of, text_of  # noqa: E402
from ttc.dynamo.draws import Draw, Like  # noqa: E402

aten = torch.ops.aten
KEYWORDS = {"dtype": torch.float32, "layout": torch.strided, "device": torch.device("cpu"), "pin_memory": False}


@pytest.mark.parametrize(
    "draw",
    [
        Draw(aten.bernoulli_.float, (Like((2, 3), (3, 1), torch.bool), 0.5), {}),
        Draw(aten.rand.default, ([2, 3],), KEYWORDS),
        Draw(aten.randint.low, (3, 7, [4]), {**KEYWORDS, "dtype": torch.int64}),
        Draw(aten.normal_functional.default, (Like((3, 2), (1, 3), torch.float32), 0.0, 2.0), {}),
    ],
    ids=["bernoulli", "rand", "randint", "normal"],
)
def test_draws_come_back(draw: Draw) -> None:
    torch.manual_seed(1)
    wanted = draw()
    torch.manual_seed(1)
    found = draw_of(text_of(draw))()
    assert torch.equal(found, wanted)
    assert found.stride() == wanted.stride()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '["aten.add.Tensor", [1, 2], {}]',
        '["os.system.default", ["ls"], {}]',
        '["aten.rand.default", [{"dtype": "load"}], {}]',
        '["aten.rand.default", [{"like": [1]}], {}]',
        '["aten.rand.default", [{"eval": "1"}], {}]',
        '["aten.rand", [], {}]',
    ],
)
def test_other_text(text: str) -> None:
    with pytest.raises(Error, match="E0703"):
        draw_of(text)


def test_arguments_that_no_text_holds() -> None:
    with pytest.raises(Error, match="E0202"):
        text_of(Draw(aten.rand.default, ([2],), {"generator": torch.Generator()}))
