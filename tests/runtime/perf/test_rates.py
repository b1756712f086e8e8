"""Rates of machines, from their descriptions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import arch_names, load_target, target_names
from ttc.dialects.netlist.chips import chip
from ttc.runtime.perf.rates import machine, rates_of


@pytest.mark.parametrize("name", [name for name in target_names() if name != "host"])
def test_every_machine_has_rates(name: str) -> None:
    rates = rates_of(load_target(name))
    assert rates.dram_channels * rates.dram_channel * rates.clock_hz == pytest.approx(load_target(name).dram_bytes_per_second)
    assert 0 < rates.gather_floor <= rates.gather <= rates.pipe <= rates.link
    assert [size for size, _ in rates.packets] == sorted(size for size, _ in rates.packets)


def test_a_channel_sends_what_its_nodes_can() -> None:
    n150 = load_target("n150")
    assert rates_of(n150).dram_channel == pytest.approx(44.5)
    assert rates_of(replace(n150, dram_ports=1)).dram_channel == 23.2


def test_programs_of_fused_kernels_have_no_overlay() -> None:
    for name in ("n150", "p150", "e150"):
        fused, buda = (rates_of(replace(load_target(name), kernels=kernels)) for kernels in ("fused", "buda"))
        assert (fused.program_bytes, buda.program_bytes) == (69 << 10, 120 << 10)
        assert fused.program_bytes - 4 * 1024 == fused.kernel_bytes > buda.kernel_bytes
        assert replace(fused, program_bytes=0, kernel_bytes=0, ahead=False) == replace(buda, program_bytes=0, kernel_bytes=0)


def test_the_host_has_none() -> None:
    with pytest.raises(Error) as raised:
        rates_of(load_target("host"))
    assert raised.value.code == "E0101"


def test_machine_of_a_netlist() -> None:
    e75 = load_target("e75")
    assert machine(chip(e75)) == e75
    harvested = machine(replace(chip(e75), grid=(7, 12)))
    assert (harvested.grid, harvested.clock_hz) == ((7, 12), 1e9)
    found = machine(replace(chip(e75), target="mine", grid=(4, 6), dram_channels=4))
    assert (found.arch, found.grid, found.dram_channels, found.clock_hz) == ("grayskull", (4, 6), 4, 1.2e9)
    assert {machine(replace(chip(e75), target="other", arch=arch)).arch for arch in arch_names()} == set(arch_names())
    with pytest.raises(Error) as raised:
        machine(replace(chip(e75), target="other", arch="none"))
    assert raised.value.code == "E0101"
