"""A mesh says where a process is; sizes that cannot be are errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, mesh


def test_one_process_is_first_and_last(alone: Mesh) -> None:
    assert [alone.size(name) for name in ("data", "pipe", "tensor", "shard")] == [1, 1, 1, 1]
    assert alone.is_first("pipe")
    assert alone.is_last("shard")
    assert alone.ranks("pipe") == [0]
    assert alone.replicas() == 1


@pytest.mark.parametrize("sizes", [{"pipe": 2}, {"data": 3, "pipe": 1}, {"rows": 1}, {"pipe": 0}, {"pipe": True}, {"pipe": "1"}])
def test_sizes_that_cannot_be(alone: Mesh, sizes: dict[str, int]) -> None:
    with pytest.raises(Error, match="E0101"):
        mesh(**sizes)


def test_dimensions_that_are_not_there(alone: Mesh) -> None:
    with pytest.raises(Error, match="E0101"):
        alone.group("tensor")
    with pytest.raises(Error, match="E0101"):
        alone.size("rows")


def test_patience_is_as_before_after_a_block(alone: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[timedelta | None] = []
    monkeypatch.setattr(alone, "wait", lambda seconds=None: given.append(seconds))
    with pytest.raises(ZeroDivisionError), alone.waiting(timedelta(seconds=600)):
        _ = 1 / 0
    assert given == [timedelta(seconds=600), None]


@pytest.fixture
def sixteen() -> Iterator[None]:
    """Fixture of process 0 of 16, whose messages go nowhere."""
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=16)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:Set timeout is now only supported")
@pytest.mark.parametrize(
    ("sizes", "ranks"),
    [
        ({"pipe": 2, "tensor": 2, "data": 4}, {"pipe": [0, 8], "tensor": [0, 4], "data": [0, 1, 2, 3]}),
        ({"data": 4, "pipe": 2, "tensor": 2}, {"tensor": [0, 1], "pipe": [0, 2], "data": [0, 4, 8, 12]}),
        ({"pipe": 2, "tensor": 2}, {"tensor": [0, 1], "pipe": [0, 2], "data": [0, 4, 8, 12]}),
    ],
    ids=["stages outermost", "replicas outermost", "replicas are what is left"],
)
def test_dimensions_are_laid_out_outermost_first(sixteen: None, sizes: dict[str, int], ranks: dict[str, list[int]]) -> None:
    """The groups that TorchDistPackage's documents give for 16 processes."""
    made = mesh(**sizes)
    assert {name: list(made.ranks(name)) for name in ranks} == ranks
