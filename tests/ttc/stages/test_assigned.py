"""Stages by names: dotted names, ranges, expressions and classes."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error

torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
from tests.ttc.stages import staged  # noqa: E402


@pytest.mark.parametrize(
    ("plan", "owned"),
    [
        ({"layers.0-1": 0, "layers.2-3": 1, "head": 2}, [["0.0", "1.0"], ["2.0", "3.0"], ["head"]]),
        ({"re:layers\\.[0-2]": 0, "layers.3": 1}, [["0.0", "1.0", "2.0"], ["3.0", "head"]]),
        ({"layers": 0, "layers.2": 4, "layers.3": 4, "head": 9}, [["0.0", "1.0"], ["2.0", "3.0"], ["head"]]),
        ({"layers.*": 0, "layers.3.0": 1, "layers.3.1": 1, "head": 1}, [["0.0", "1.0", "2.0"], ["3.0", "head"]]),
        ({"kind:Sequential": 0, "head": 1}, [["0.0", "1.0", "2.0", "3.0"], ["head"]]),
    ],
)
def test_plans(plan: dict[str, int], owned: list[list[str]], rng: Any) -> None:
    model = staged.Chain()
    x = torch.from_numpy(rng.standard_normal((3, 4)).astype("float32"))
    parts = ttc.cut(model, x, plan)
    found = [[n.removesuffix(".weight").removeprefix("layers.") for n, _ in part.named_parameters() if "weight" in n] for part in parts]
    assert found == owned
    torch.testing.assert_close(staged.run(parts, x), model(x))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"layer.0": 0}, "the model has no such module"),
        ({"re:(": 0}, "no regular expression"),
        ({"head": -1}, "cannot be of stage -1"),
        ({"head": True}, "cannot be of stage True"),
        ({0: 1}, "names modules, not 0"),
        ({}, "no plan of stages"),
        ([("head", 1)], "a list is no plan of stages"),
    ],
)
def test_what_is_no_plan(plan: Any, words: str) -> None:
    with pytest.raises(Error) as raised:
        ttc.cut(staged.Chain(), torch.zeros(3, 4), plan)
    assert raised.value.code == "E0101"
    assert words in str(raised.value)
