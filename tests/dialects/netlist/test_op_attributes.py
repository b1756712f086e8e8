"""What settings of an op say, and settings that say nothing."""

from __future__ import annotations

import pytest

from ttc.dialects.netlist.model import Settings
from ttc.dialects.netlist.op_attributes import adds_up_in_l1, attributes_of, is_approximate
from ttc.passes.netlist.accumulate_in_l1 import IN_L1
from ttc.passes.netlist.approximate_exp import APPROXIMATE


def test_what_passes_write_is_read() -> None:
    assert (adds_up_in_l1(IN_L1), is_approximate(IN_L1)) == (True, False)
    assert (adds_up_in_l1(APPROXIMATE), is_approximate(APPROXIMATE)) == (False, True)


@pytest.mark.parametrize(
    "settings", [(), (("untilize_output", True),), (("attributes", "text"),), (("attributes", (("l1_acc",), "approximate_mode")),)], ids=str
)
def test_settings_without_attributes(settings: Settings) -> None:
    assert attributes_of(settings) == {}
    assert not adds_up_in_l1(settings)
    assert not is_approximate(settings)


def test_only_true_is_true() -> None:
    said: Settings = (("attributes", (("l1_acc", 1), ("approximate_mode", "true"))),)
    assert attributes_of(said) == {"l1_acc": 1, "approximate_mode": "true"}
    assert not adds_up_in_l1(said)
    assert not is_approximate(said)
