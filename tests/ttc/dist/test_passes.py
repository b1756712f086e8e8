"""Replicas wait for one of them that compiles for shapes that are new to it alone, and for none that hangs."""

from __future__ import annotations

import os

import pytest
import torch
from torch.distributed.distributed_c10d import _get_default_store

from tests.ttc.dist.started import started
from ttc.dist import Mesh
from ttc.dist.passes import SharedPasses

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")


def waits(*arguments: str) -> None:
    status, printed = started("waiting.py", 2, *arguments)
    assert status == 0, printed
    assert all(f"process {rank} is equal" in printed for rank in range(2))


def test_a_process_with_new_shapes_is_waited_for() -> None:
    waits("1")


@WHOLE
@pytest.mark.parametrize("arguments", [("2",), ("3",), ("1", "alone")])
def test_a_process_that_compiles_is_waited_for(arguments: tuple[str, ...]) -> None:
    waits(*arguments)


def test_one_process_waits_for_nobody(alone: Mesh) -> None:
    passes = SharedPasses(alone, "one")
    assert [passes.begin(is_new) for is_new in (True, False)] == [True, False]
    with passes.alone():
        assert not _get_default_store().check(["ttc/compiles/0"])


class Both:
    """Two processes, of which this one is both."""

    def __init__(self, mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
        mesh.patience = 0.05
        self.store = _get_default_store()
        self.passes = [SharedPasses(mesh, "both") for _ in range(2)]


def test_passes_tell_whether_any_compiles_and_leave_two_keys(alone: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both(alone, monkeypatch)
    for number, (one, other) in enumerate([(False, False), (True, False), (False, True)], 1):
        both.store.add(f"ttc/both/pass {number}", 1 + (1 << 32) * one)  # the other one, which waits
        assert both.passes[0].begin(other) is (one or other)
    assert [both.store.check([f"ttc/both/pass {n}"]) for n in (1, 2, 3)] == [False, False, True]
    assert [both.store.check([f"ttc/both/pass {n}/begins"]) for n in (1, 2, 3)] == [False, False, True]


def test_a_process_that_does_not_come_is_not_waited_for(alone: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both(alone, monkeypatch)
    with pytest.raises(RuntimeError):
        both.passes[0].begin(False)
