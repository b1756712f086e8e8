"""Precisions that a Trainer takes, and those that it refuses with the reason."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lightning.pytorch.plugins.precision import MixedPrecision, Precision
from lightning.pytorch.strategies import SingleDeviceStrategy

from tests.ttc.lightning.modules import MIXED, Images, fitted, images
from ttc.dialects.core.errors import Error
from ttc.lightning import TTCAccelerator, TTCPrecision
from ttc.lightning.precision import PRECISIONS, REFUSED, use_precision


def test_every_precision_of_lightning_is_taken_or_refused() -> None:
    from typing import get_args

    from lightning.fabric.connector import _PRECISION_INPUT_STR  # pyright: ignore[reportPrivateImportUsage]

    assert {*PRECISIONS, *REFUSED} == set(get_args(_PRECISION_INPUT_STR))


@pytest.mark.parametrize("precision", REFUSED)
def test_a_refused_one_says_why(precision: str) -> None:
    with pytest.raises(Error) as caught:
        TTCPrecision(precision)
    assert caught.value.code == "E0101"
    assert REFUSED[precision] in caught.value.message


def test_a_trainer_refuses_it(rng: np.random.Generator) -> None:
    with pytest.raises(Error, match="E0101.*no precision '16-true'"):
        fitted(Images, "ttc", images(rng, 8), precision="16-true")


def test_a_misspelt_one() -> None:
    with pytest.raises(Error, match="E0101.*'bf16_mixed'(.|\n)*bf16-mixed"):
        TTCPrecision("bf16_mixed")


def test_plugins_of_others_stay() -> None:
    class Own(Precision):
        """Written by a user."""

    own = Own()
    strategy = SingleDeviceStrategy(precision_plugin=own)
    use_precision(strategy)
    assert strategy.precision_plugin is own
    strategy = SingleDeviceStrategy(precision_plugin=MixedPrecision("bf16-mixed", "cpu"))
    use_precision(strategy)
    assert isinstance(strategy.precision_plugin, TTCPrecision)
    assert strategy.precision_plugin.precision == "bf16-mixed"


def test_everything_in_bfloat16(rng: np.random.Generator) -> None:
    data = images(rng)
    _, wanted = fitted(Images, "cpu", data, precision="bf16-true")
    model, losses = fitted(Images, TTCAccelerator(fallback=False), data, precision="bf16-true")
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    assert len(losses) == 4
    np.testing.assert_allclose(losses, wanted, atol=MIXED)
