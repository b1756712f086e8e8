"""What epochs add to a run, with the switches between them."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.passes.tile_to_netlist.switches import Switches
from ttc.runtime.perf.rates import rates_of

TARGET = load_target("n150")
RATES = rates_of(TARGET)


def test_an_epoch_on_a_chip_of_its_own_waits_for_programs() -> None:
    switches = Switches(TARGET)
    assert switches.added(1000.0, 8, whole=True) == pytest.approx(1000 + RATES.switch_of(8))
    assert switches.added(1000.0, 8, whole=False) == pytest.approx(1000 + RATES.switch_cycles)


def test_chips_in_turn_hide_what_the_others_compute_meanwhile() -> None:
    switch = RATES.switch_of(40)
    short, long = 0.5 * switch, 4 * switch
    found = Switches(TARGET, 2).added(np.array([short, long]), np.array([40, 40]), whole=False)
    np.testing.assert_allclose(found, [0.75 * switch + RATES.eth_hop, long + RATES.eth_hop])
    assert Switches(TARGET, 4).added(short, 40, whole=False) == pytest.approx(short + RATES.eth_hop)
