"""Reductions."""

from __future__ import annotations

import pytest

from tests.passes.tile.vocabulary import expand, one_op


def fragment(fn: str, axes: tuple[int, ...], *, keepdims: bool, fold: int, format_: str = "Float32") -> str:
    shape = (2, 3, 4, 5)
    kept = [1 if i in axes else d for i, d in enumerate(shape) if keepdims or i not in axes]
    result = f"{format_}[{', '.join(map(str, kept))}]"
    return one_op("tile.reduce", [f"{format_}[2, 3, 4, 5; {fold}]"], result, {"fn": fn, "axes": axes, "keepdims": keepdims})


@pytest.mark.parametrize("fn", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("axes", [(3,), (2,), (1, 2), (0, 2), (1,), (0, 1, 2), (0, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize(("keepdims", "fold"), [(True, 1), (False, 3)])
def test_reduce(fn: str, axes: tuple[int, ...], keepdims: bool, fold: int) -> None:
    expand(fragment(fn, axes, keepdims=keepdims, fold=fold))


@pytest.mark.parametrize("fn", ["sum", "max", "min"])
@pytest.mark.parametrize("axes", [(3,), (0, 2), (1, 2)])
def test_integers(fn: str, axes: tuple[int, ...]) -> None:
    expand(fragment(fn, axes, keepdims=True, fold=1, format_="Int32"), 0)


def test_a_maximum_along_one_dimension_stays() -> None:
    assert expand(fragment("max", (3,), keepdims=True, fold=1)).names() == ["tile.reduce"]


def test_a_vector() -> None:
    expand(one_op("tile.reduce", ["Float32[7]"], "Float32[]", {"fn": "mean", "axes": (0,), "keepdims": False}))
