"""Parts of tensors and writes at computed places, of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import Together, agree, randn, run  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.importers.torch.exported import import_exported  # noqa: E402

AT = torch.tensor([2, 0, 2])
PLACES = torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])
SOURCE = torch.arange(8.0).reshape(2, 4)


def test_parts() -> None:
    functions = {
        "slices": lambda x: (x[1:, ::2], x[:, -2:], x[..., 1:-1], x.narrow(1, 1, 2), x[:, 5:]),
        "selects": lambda x: (x[0], x[:, -1], x.select(2, 1), x[1, 2, 3]),
        "gathers": lambda x: (x[AT], x[:, AT], x.index_select(1, AT), x[0].gather(0, PLACES), x.take(AT), x[0].take_along_dim(PLACES, 0)),
        "gathers_nothing": lambda x: (x[0, 0].gather(0, PLACES[:, :0]), x.gather(1, PLACES[:, :0])),
        "indices": lambda x: (x[AT, AT], x[:, AT, AT], x[AT, :, AT], x[:, AT[:, None], AT], x[0, AT, None, 1]),
        "known_mask": lambda x: x[torch.tensor([True, False, True])],
        "diagonals": lambda x: (x.diagonal(), x.diagonal(1, 1, 2), x[0].trace(), torch.diag(x[0, 0]), torch.diag_embed(x[0, 0], 1)),
        "windows": lambda x: (x.unfold(2, 2, 1), x.as_strided((2, 3), (4, 2), 1), F.unfold(x[None], 2)),
        "embedding": lambda x: (F.embedding(PLACES, x[0]), F.one_hot(AT, 4)),
        "search": lambda x: (torch.bucketize(x, torch.tensor([-1.0, 0, 1])), torch.searchsorted(x.sort(-1)[0], x, right=True)),
        "isin": lambda x: torch.isin(AT, torch.tensor([0, 1])),
    }
    agree(functions, randn(3, 3, 4))


def test_writes() -> None:
    functions = {
        "views": lambda x: (
            torch.select_scatter(x, SOURCE[0], 0, 1),
            torch.slice_scatter(x, SOURCE, 0, 1),
            torch.slice_scatter(x, SOURCE.reshape(4, 2)[:3], 1, 0, 4, 2),
        ),
        "diagonal": lambda x: (torch.diagonal_scatter(x, SOURCE[0, :3]), torch.as_strided_scatter(x, SOURCE[0, :2], (2,), (3,), 1)),
        "index_put": lambda x: (
            x.index_put((AT,), SOURCE[0]),
            x.index_put((AT, AT), SOURCE[0, :3], accumulate=True),
            x.index_put((AT[:1],), SOURCE[0]),
        ),
        "put_along": lambda x: (
            torch.ops.aten.index_put(x, [None, AT[:2]], SOURCE.reshape(4, 2)[:3]),
            torch.ops.aten.index_put(x, [None, AT[:2] - 4], torch.tensor(7.0)),
            torch.ops.aten.index_put(x, [None, AT], SOURCE[0, :3], True),
            torch.ops.aten.index_put(x, [None, AT[0]], SOURCE[0, :3]),
            torch.ops.aten.index_put(x[None], [None, None, AT[1:2]], SOURCE[1, :3, None]),
        ),
        "scatter": lambda x: (x.scatter(0, PLACES, SOURCE), x.scatter(0, PLACES[:, :2], 7.0), x.scatter_add(0, PLACES, SOURCE)),
        "reduce": lambda x: tuple(x.scatter_reduce(0, PLACES, SOURCE, how) for how in ("sum", "prod", "mean", "amax", "amin")),
        "reduce_alone": lambda x: tuple(x.scatter_reduce(0, PLACES, SOURCE, how, include_self=False) for how in ("sum", "mean", "amax")),
        "index_add": lambda x: (
            x.index_add(0, AT[:2], SOURCE, alpha=2),
            x.index_copy(0, AT[:2], SOURCE),
            x.index_fill(1, AT, 9.0),
            x.index_fill(-1, AT[0], x[0, 0]),
        ),
        "index_reduce": lambda x: torch.index_reduce(x, 0, AT[:2], SOURCE, "amax"),
        "put": lambda x: (x.put(AT[:2], SOURCE[0, :2]), x.put(AT, SOURCE[0, :3], accumulate=True)),
        "masked": lambda x: (
            x.masked_scatter(x > 0, torch.arange(12.0)),
            x[0].masked_scatter(x > 0, x),
            x.index_put((x > 0,), torch.tensor(5.0)),
        ),
        "in_place": lambda x: assigned(x.clone()),
    }
    agree(functions, randn(3, 4))


def assigned(x: Any) -> Any:
    x[1:, ::2] = 3.0
    x[:, AT] = SOURCE[0, :3]
    x[0] += 1
    x[:, 1].mul_(2)
    return x


def test_as_many_as_the_data_decides() -> None:
    functions = {
        "nonzero": lambda x: (torch.nonzero(x), *torch.nonzero(x, as_tuple=True)),
        "masked_select": lambda x: x.masked_select(x > 0),
        "mask": lambda x: x[x > 1],
        "unique": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        "consecutive": lambda x: torch.unique_consecutive(x.flatten(), return_counts=True),
        "static": lambda x: torch.nonzero_static(x, size=9, fill_value=-2),
    }
    agree(functions, torch.tensor([[2, 0, 0, 1], [1, 2, 0, 3]]))


def test_what_becomes_of_as_many_as_the_data_decides() -> None:
    functions = {
        "reduced": lambda x: (x[x > 0].sum(), x[x > 0].mean(), x[x > 0].max(), x[x > 0].norm(), torch.nonzero(x).sum(1)),
        "places": lambda x: (*torch.where(x > 0), *torch.nonzero(x).split(1, 1), torch.nonzero(x)[:, 0], torch.nonzero(x)[:, -1]),
        "at_places": lambda x: (x[torch.where(x > 0)], x[torch.where(x[:, 0] > 0)[0]]),
        "joined": lambda x: (torch.cat([x[x > 0], x[x < 0]]), x[x > 0].unsqueeze(1) * 2),
        "linear": lambda x: F.linear(x[x[:, 0] > 0], torch.ones(2, 4)).softmax(-1),
        "parts": lambda x: (parts := x[x[:, 0] > -9], parts[1:], parts[::2], parts[:, ::3], parts[-1], parts.narrow(0, 0, 2))[1:],
        "columns": lambda x: (x[x[:, 0] > 0][:, 1:3] @ torch.ones(2, 2), x[x[:, 0] > 0].narrow(1, -2, 2), x[x[:, 0] > 0].t()),
        "rows": lambda x: x[x > -9].view(3, -1)[:, -1],
        "masks": lambda x: torch.nonzero(x)[torch.nonzero(x)[:, 0] > 0],
        "normalized": lambda x: (F.layer_norm(x[x[:, 0] > 0], (4,)), F.rms_norm(x[x[:, 0] > 0], (4,)), torch.zeros_like(x[x > 0])),
        "put": lambda x: (
            x.index_put((torch.where(x[:, 0] > 0)[0],), torch.tensor(3.0)),
            x.index_put((torch.where(x[:, 0] > 0)[0],), x[x[:, 0] > 0] * 2, accumulate=True),
            torch.ops.aten.index_put(x[:, None], [None, None, torch.where(x[0] > 0)[0]], torch.tensor(3.0)),
            x.index_put(torch.where(x > 0), torch.ones(1)),
        ),
        "added": lambda x: x.index_add(0, torch.where(x[:, 0] > 0)[0], 2 * x[torch.where(x[:, 0] > 0)[0]]),
    }
    agree(functions, randn(3, 4))


def test_bags() -> None:
    offsets = torch.tensor([0, 2, 2])
    functions = {
        mode: lambda w, mode=mode: F.embedding_bag(torch.tensor([1, 3, 0, 2, 1]), w, offsets, mode=mode) for mode in ("sum", "mean", "max")
    }
    agree(functions, randn(4, 3))


NEGATIVE = {
    "gather": lambda x, i: x.gather(1, i[:, None]),
    "index_select": lambda x, i: x.index_select(1, i),
    "cross_entropy": F.cross_entropy,
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_a_negative_index_is_no_element_from_the_end(name: str) -> None:
    tensors = randn(3, 4), torch.tensor([0, 3, 1])
    program = torch.export.export(Together({name: NEGATIVE[name]}), tensors)
    assert np.allclose(run(program, tensors)[name], NEGATIVE[name](*tensors), atol=1e-6)
    with pytest.raises(Error, match="index 4 is outside a dimension of 4 elements") as caught:
        run(program, (tensors[0], torch.tensor([0, -1, 1])))
    assert caught.value.code == "E0802"


def test_a_class_that_is_ignored_may_be_negative() -> None:
    agree({"loss": lambda x, i: F.cross_entropy(x, i, ignore_index=-1)}, randn(3, 4), torch.tensor([0, -1, 1]))


def test_places_that_ops_find_are_not_looked_at() -> None:
    program = torch.export.export(Together({"best": lambda x: x.gather(1, x.argmax(1, keepdim=True))}), (randn(3, 4),))
    module, _ = import_exported(program)
    assert "nn.gather_elements" in str(module)
    assert "nn.less" not in str(module)


def test_places_of_each_dimension_are_gathered_by_dimension() -> None:
    """A window's places, as `unfold` has them, move nothing but along their dimensions."""
    rows, columns = torch.tensor([[0], [2], [-1]]), torch.tensor([1, 0])
    functions = {
        "all": lambda x: x[rows, columns],
        "last": lambda x: x[:, rows, columns[None]],
        "whole": lambda x: x[torch.arange(3)[:, None, None], torch.arange(3)[None, None, :]],
        "apart": lambda x: x[rows, :, columns],
        "crosswise": lambda x: x[columns, rows],
        "together": lambda x: x[:, AT, torch.tensor([0, -1, 3])],
    }
    agree(functions, randn(3, 3, 4))
    program = torch.export.export(Together({name: functions[name] for name in ("last", "together")}), (randn(3, 3, 4),))
    text = str(import_exported(program)[0])
    assert text.count("nn.gather(") == 3
    assert "gather_nd" not in text
    assert "transpose" not in text
