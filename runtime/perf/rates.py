"""Rates of a machine's DRAM, NoC, Ethernet and host link, in bytes a cycle of its worker cores."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import Target, arch_names, complete, load_target, target_names, target_of
from ttc.dialects.netlist.model import Chip


@dataclass(frozen=True, slots=True)
class Rates:
    """What moving data costs on one chip.  Rates are bytes a cycle, costs are cycles.

    Args:
        clock_hz: of the worker cores.
        packets: (bytes of a packet, rate of a flow of them), by growing packets.
        pipe, gather, gather_floor: of an op-to-op pipe from one core, from several, from `gather_sources` or more.
        inject_core, absorb_core: that one core can send and take.
        inject_dram: that one node of a DRAM channel can send.
        dram_channels, dram_channel: number of channels, and the rate of one: the best measured, as far as its NoC nodes send it.
        link, dram_links: of one link, and how many links carry what DRAM sends to cores that do not lie beside it.
        read_latency: of a packet from afar; in_flight: packets that a reader has asked for at a time.
        eth, eth_links: of one Ethernet link, and the links of a chip.
        eth_hop: cycles of each step to a chip beside another that a value takes beside its bytes.
        host: of the link to the host.
        program_bytes: that a core loads for an op, from channels of DRAM beside it; kernel_bytes: of them, the same for all its cores.
        start_cycles: from a core's start to its first packet.
        microbatch_cycles, pipe_cycles: of every op and microbatch, and besides for each of its inputs and outputs: pointers, handshakes.
        prologue_cycles: of an epoch's start, for every buffer that is filled before it.
        cores: of a chip.
        ahead: whether cores load in turn, kernels all cores of an op together, and for their next op while one runs.
    """

    clock_hz: float
    packets: tuple[tuple[int, float], ...]
    pipe: float
    gather: float
    gather_floor: float
    gather_sources: int
    inject_core: float
    inject_dram: float
    absorb_core: float
    dram_channels: int
    dram_channel: float
    link: float
    dram_links: int
    read_latency: float
    in_flight: int
    eth: float
    eth_links: int
    eth_hop: float
    host: float
    program_bytes: int
    kernel_bytes: int
    start_cycles: float
    microbatch_cycles: float
    pipe_cycles: float
    prologue_cycles: float
    cores: int
    ahead: bool = False

    def program_cycles(self, cores: int) -> float:
        """Return cycles of all ways from DRAM that programs of so many cores take."""
        return cores * self.program_bytes / (self.dram_channels * self.dram_channel)

    @property
    def own_part(self) -> float:
        """The part of a program that is a core's own: the kernels are the same for all cores of an op."""
        return 1.0 - self.kernel_bytes / self.program_bytes

    def switch_of(self, cores: int) -> float:
        """Return cycles from the end of an epoch to the first packet of the next if so many cores load programs, and nothing else runs."""
        return max(self.program_cycles(cores), self.program_bytes / self.absorb_core) + self.start_cycles

    @property
    def switch_cycles(self) -> float:
        """Cycles of a switch in which all cores load programs."""
        return self.switch_of(self.cores)


@cache
def rates_of(target: Target) -> Rates:
    """Return the rates of a target with cores.  Raises E0101 for one without."""
    if target.grid is None or not target.noc_packets:
        raise Error("E0101", f"target {target.name} has no cores whose time could be estimated")
    table = _table(target.arch, target.kernels)
    known = {field.name for field in fields(Rates)}
    channel = min(target.dram_bytes_per_cycle, max(target.dram_ports, 1) * table["inject_dram"])
    return Rates(
        clock_hz=target.clock_hz,
        packets=target.noc_packets,
        pipe=target.noc_bytes_per_cycle,
        link=target.noc_link_bytes_per_cycle,
        dram_channels=target.dram_channels,
        dram_channel=channel,
        eth=target.eth_bytes_per_cycle,
        eth_links=target.eth_links,
        eth_hop=table["eth_hop_seconds"] * target.clock_hz,
        host=table["pcie_bytes_per_second"] / target.clock_hz,
        cores=target.cores,
        ahead=target.kernels == "fused",
        **{key: value for key, value in table.items() if key in known},
    )


@cache
def machine(chip: Chip) -> Target:
    """Return the target a netlist was placed for, by name, or else its architecture with the netlist's grid and DRAM. Raises E0101."""
    if chip.target in target_names():
        found = load_target(chip.target)
        if found.arch == chip.arch and found.grid is not None and chip.grid is not None:  # rows may have been harvested
            return replace(found, grid=chip.grid, kernels=chip.kernels)
    if chip.grid is None or chip.arch not in arch_names():
        raise Error("E0101", f"target '{chip.target[:40]}' has no cores whose time could be estimated")
    raw = {"name": chip.target, "arch": chip.arch, "chips": chip.chips, "grid": list(chip.grid), "dram_channels": chip.dram_channels}
    raw["kernels"] = chip.kernels
    return target_of(complete(raw, f"target {chip.target[:40]}"), f"target {chip.target[:40]}")


@cache
def _table(arch: str, kernels: str) -> dict[str, Any]:
    """Figures of an architecture and a kind of kernels; those of wormhole_b0, and of kernels `buda`, where it has none of its own."""
    text = (resources.files("ttc.runtime.perf") / "data" / "movement.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    return {**table["wormhole_b0"], **table.get(arch, {}), **table.get(kernels, {})}
