"""A strategy of stages trains as one process does, and reloads; options and models that cannot be are errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule

from tests.ttc.dist.started import started
from tests.ttc.lightning.modules import Images, SmallGPT, images, texts, trainer
from ttc.dialects.core.errors import Error
from ttc.lightning import PipelineStrategy

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")


def equal(folder: Path, processes: int, *cases: str) -> None:
    status, printed = started("../lightning/piping.py", processes, str(folder), *cases)
    assert status == 0, printed
    assert [f"process {rank} is equal" in printed for rank in range(processes)] == [True] * processes


@WHOLE
@pytest.mark.parametrize(("processes", "case"), [(2, "uniform"), (2, "interleaved"), (4, "replicas")])
def test_processes_equal_one(tmp_path: Path, processes: int, case: str) -> None:
    equal(tmp_path, processes, case)


@pytest.mark.parametrize("options", [{"replicas": 0}, {"chunks": "2"}])
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(Error, match="E0101"):
        PipelineStrategy(**options)


def refused(model: LightningModule, data: Any, strategy: PipelineStrategy, code: str) -> str:
    try:
        with pytest.raises(Error) as caught:
            trainer("ttc", strategy=strategy).fit(model, data)
    finally:
        torch.distributed.destroy_process_group()
    assert caught.value.code == code
    return f"{caught.value} {caught.value.hint}"


def test_models_that_cannot_be(rng: np.random.Generator) -> None:
    assert "no attribute 'loss'" in refused(Images(), images(rng), PipelineStrategy(), "E0101")
    assert "no attribute 'net'" in refused(SmallGPT(), texts(rng), PipelineStrategy(loss="training_step"), "E0101")
    block = PipelineStrategy("block", "training_step")
    assert "is no Sequential" in refused(SmallGPT(), texts(rng), block, "E0101")


def test_a_batch_that_is_no_pair(rng: np.random.Generator) -> None:
    strategy = PipelineStrategy("block", "training_step", order=["wide"])
    assert "a pair of inputs and targets" in refused(SmallGPT(), texts(rng), strategy, "E0801")
