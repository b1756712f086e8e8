"""Schedules that cannot be are errors before anything runs, and each evaluates."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.ttc.dist.equal import batches, network
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner, partition
from ttc.dist.schedules import check_schedule


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("interleave", 2, 1, 2), "no schedule 'interleave'"),
        (("1f1b", 3, 2, 2), "3 stages do not divide among 2 processes"),
        (("1f1b", 0, 2, 2), "0 stages do not divide"),
        (("gpipe", 4, 2, 2), "schedule gpipe does not fit 4 stages in 2 processes"),
        (("interleaved", 2, 2, 2), "schedule interleaved does not fit 2 stages in 2 processes"),
        (("interleaved", 4, 2, 5), "cannot have 5 microbatches in 2 processes"),
    ],
)
def test_schedules_that_cannot_be(arguments: tuple[str, int, int, int], what: str) -> None:
    with pytest.raises(Error, match=what) as caught:
        check_schedule(*arguments)
    assert caught.value.code == "E0101"


@pytest.mark.parametrize("trained", [False, True])
def test_several_stages_of_a_process_are_evaluated(alone: Mesh, trained: bool) -> None:
    model = network()
    runner = Runner(stages=partition(model, 3), mesh=alone, loss=nn.CrossEntropyLoss(), microbatches=4, schedule="interleaved", target=None)
    ((x, target),) = batches(3, 1)
    if trained:
        runner.step(x, target=target)
    for rows in (16, 7, 1):
        torch.testing.assert_close(runner.eval(x[:rows]), model(x[:rows]).detach())
    result = runner.step(x, target=target)
    torch.testing.assert_close(result.loss, nn.functional.cross_entropy(model(x), target).detach())
