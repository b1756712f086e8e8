"""Processes that end, hang or fail are named; torchrun starts all again, which go on from the last checkpoint."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.ttc.dist.equal import batches, network
from tests.ttc.dist.started import started
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, failures
from ttc.dist.failures import naming

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")


def test_communication_that_fails_names_a_process(alone: Mesh) -> None:
    with pytest.raises(Error, match="all processes wait for each other in step 3") as caught, naming(alone, "step 3"):
        raise RuntimeError("[gloo] Connection closed by peer")
    assert caught.value.code == "E0811"


def test_an_error_of_the_script_stays_what_it_is(alone: Mesh) -> None:
    with pytest.raises(ZeroDivisionError), naming(alone, "step 3"):
        _ = 1 / 0


def test_a_process_that_is_killed_once(tmp_path: Path) -> None:
    """Both go on from the checkpoint after the fourth update, with the numbers of one process."""
    status, printed = started("elastic.py", 2, str(tmp_path), restarts=1)
    assert status == 0, printed
    assert [int(n) for n in re.findall(r"begins after (\d)", printed)] == [0, 0, 4, 4]
    found = [(int(update), float(loss)) for update, loss in re.findall(r"loss (\d) (\S+)", printed)]
    assert [update for update, _ in found] == [0, 1, 2, 3, 4, 5]
    alone = network()
    optimizer = torch.optim.AdamW(alone.parameters(), 1e-2)
    for (x, target), (_, loss) in zip(batches(5, 6), found, strict=True):
        optimizer.zero_grad()
        wanted = nn.functional.cross_entropy(alone(x), target)
        wanted.backward()
        optimizer.step()
        assert loss == pytest.approx(float(wanted.detach()), abs=1e-5)


def test_a_process_that_hangs_is_named() -> None:
    status, printed = started("failing.py", 2, "hangs")
    assert status == 1
    assert "E0811" in printed
    assert "process 1 has ended or hangs in step 3" in printed


@WHOLE
@pytest.mark.parametrize("how", ["killed", "raises"])
def test_a_process_that_fails_is_named(how: str) -> None:
    status, printed = started("failing.py", 2, how)
    assert status == 1
    wanted = {"killed": "Signal 9 (SIGKILL) received", "raises": "there is no third step"}
    assert wanted[how] in printed
    assert "rank      : 1 (local_rank: 1)" in printed


def test_a_store_that_has_ended(alone: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that failed before, and goes on, fails in what it does next, not in taking back what it said."""

    class Ended:
        def set(self, *_: str) -> None:
            raise RuntimeError("Broken pipe")

        delete_key = set

    monkeypatch.setattr(failures, "_get_default_store", Ended)
    with pytest.raises(ZeroDivisionError), naming(alone, "step 1"):
        _ = 1 / 0
    with pytest.raises(Error, match="E0811.*in step 2"), naming(alone, "step 2"):
        raise RuntimeError("[gloo] Connection closed by peer")


def test_a_failure_is_forgotten_once(alone: Mesh) -> None:
    store = torch.distributed.distributed_c10d._get_default_store()
    with pytest.raises(ZeroDivisionError), naming(alone, "step 1"):
        _ = 1 / 0
    assert store.get("ttc/notes/0") == b"failed in step 1: division by zero"
    with naming(alone, "step 2"):
        assert not store.check(["ttc/notes/0"])
