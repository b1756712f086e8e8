"""What one process cannot run is an error of all, before anything runs."""

from __future__ import annotations

import pytest
import torch

from tests.ttc.dist.started import started
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh
from ttc.dist.agreement import BatchOffer, agree


def test_processes_that_agree(alone: Mesh) -> None:
    assert agree(BatchOffer(7, None, 8, True)) == 7


def test_a_refusal(alone: Mesh) -> None:
    with pytest.raises(Error, match="no rows"):
        agree(BatchOffer(7, Error("E0801", "no rows"), 0, False))


@pytest.mark.parametrize(
    ("others", "what"),
    [((0, 1, 0, 0, 0, 0), "another process cannot run"), ((0, 0, 4, 16, 1, 1), "replicas have different numbers of rows")],
)
def test_what_another_process_says(alone: Mesh, monkeypatch: pytest.MonkeyPatch, others: tuple[int, ...], what: str) -> None:
    monkeypatch.setattr("ttc.dist.agreement.dist.all_reduce", lambda sums: sums.add_(torch.tensor(others)))
    with pytest.raises(Error, match=what) as caught:
        agree(BatchOffer(7, None, 8, False))
    assert caught.value.code == "E0801"


def test_two_processes_know_of_each_other() -> None:
    status, printed = started("given.py", 2)
    assert status == 0, printed
    assert [f"process {rank} is right" in printed for rank in range(2)] == [True, True]
