"""Cycles that moving data takes: streams into and out of the cores of an op, and the DRAM that ops share.

A `Stream` is one input or output of an op for one microbatch.  `stream_cycles` says how long it keeps the op's busiest core; what ops
share (channels of DRAM, the links from DRAM, the host's link) is a `Load`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ttc.runtime.perf.rates import Rates

Kind = Literal["dram", "host", "core", "chip"]


@dataclass(frozen=True, slots=True)
class Stream:
    """Data that one input of an op takes, or its output gives, for one microbatch.

    Args:
        kind: what is at the other end: `dram`, `host` memory, `core`s of another op, cores of another `chip`.
        core_bytes: that pass through the busiest core of the op; nothing if they stay in L1 (`held`).
        total_bytes: that pass through the other end, all cores together; what is multicast counts once.
        cores: of the op, that ask for different data.
        sources: buffers or cores that the share of one core lies in.
        copies: cores that each part goes to.
        channels: of DRAM, that the data lies in; between chips the Ethernet links, 0: all of a chip.
        packet_bytes: contiguous bytes of a transfer.
        send_bytes: that the busiest core at the other end sends or takes, each multicast once.
        held: loaded once before the epoch starts.
        load_rate: bytes a cycle at which it is loaded then if nothing else is; 0: as cores anywhere on the chip get it.
        side: between chips, the neighbour over whose links it leaves or comes; -1: the netlist does not say.
    """

    kind: Kind
    core_bytes: float
    total_bytes: float
    cores: int = 1
    sources: int = 1
    copies: int = 1
    channels: int = 1
    packet_bytes: float = 2048.0
    send_bytes: float = 0.0
    held: bool = False
    load_rate: float = 0.0
    side: int = -1


@dataclass(frozen=True, slots=True)
class Load:
    """The cycles that shared resources are busy: the busiest channel of DRAM, the links from DRAM, the host's link, Ethernet."""

    channel: float = 0.0
    links: float = 0.0
    host: float = 0.0
    eth: float = 0.0

    @property
    def cycles(self) -> float:
        return max(self.channel, self.links, self.host, self.eth)


def packet_rate(rates: Rates, packet_bytes: float) -> float:
    """Return bytes a cycle of one flow of packets of that size: the measured curve, straight between its points."""
    below = (0.0, 0.0)
    for size, rate in rates.packets:
        if packet_bytes <= size:
            part = (packet_bytes - below[0]) / (size - below[0])
            return below[1] + part * (rate - below[1])
        below = (float(size), rate)
    return below[1]


def reader_rate(rates: Rates, packet_bytes: float, in_flight: int, latency: float | None = None) -> float:
    """Return bytes a cycle of one core that reads from DRAM and has so many packets asked for at a time; 1 waits for each."""
    rate = packet_rate(rates, packet_bytes)
    period = (rates.read_latency if latency is None else latency) + packet_bytes / rate
    return min(rate, rates.absorb_core, in_flight * packet_bytes / period)


def dram_rate(
    rates: Rates, readers: int, channels: int, packet_bytes: float, in_flight: int | None = None, *, beside: bool = False
) -> float:
    """Return bytes a cycle that reader cores together get from so many channels.

    beside: each reads from the channel next to it, so that nothing crosses the chip; otherwise all of it passes the links from DRAM.
    """
    one = reader_rate(rates, packet_bytes, rates.in_flight if in_flight is None else in_flight)
    found = min(readers * one, channels * rates.dram_channel)
    return found if beside else min(found, rates.dram_links * rates.link)


def stream_cycles(rates: Rates, stream: Stream) -> float:
    """Return the cycles a microbatch that a stream keeps the op's busiest core, or the other end, busy if nothing else moves."""
    if stream.held or not stream.core_bytes:
        return 0.0
    match stream.kind:
        case "dram":
            one = stream.core_bytes / reader_rate(rates, stream.packet_bytes, rates.in_flight)
            all_ = stream.total_bytes / dram_rate(rates, stream.cores, stream.channels, stream.packet_bytes)
            return max(one, all_) + passing_cycles(rates, stream)
        case "host":
            one = stream.core_bytes / reader_rate(rates, stream.packet_bytes, rates.in_flight)
            return max(one, stream.total_bytes / rates.host)
        case "chip":
            return stream.total_bytes / max(rates.eth * (stream.channels or rates.eth_links), 1e-9)
        case "core":
            return max(stream.core_bytes / pipe_rate(rates, stream), stream.send_bytes / rates.inject_core)


def passing_cycles(rates: Rates, stream: Stream) -> float:
    """Return the cycles a microbatch in which a core that read a part from DRAM passes it on to others and reads nothing.

    Kernels of TT-Metalium read a block, and then multicast it; firmware that goes with kernels `buda` does both at a time.
    """
    return stream.core_bytes / rates.inject_core if rates.ahead and stream.copies > 1 and not stream.held else 0.0


def pipe_rate(rates: Rates, stream: Stream) -> float:
    """Return bytes a cycle of an op-to-op pipe into one core: less for small packets, and for what several cores send."""
    flow = min(packet_rate(rates, stream.packet_bytes), rates.pipe)
    if stream.sources <= 1:
        return flow
    part = min((stream.sources - 2) / max(rates.gather_sources - 2, 1), 1.0)
    return min(flow, rates.gather + part * (rates.gather_floor - rates.gather))


def stream_load(rates: Rates, stream: Stream) -> Load:
    """Return what a stream takes of the resources that ops share, in cycles a microbatch; nothing if it is held."""
    if stream.held:
        return Load()
    match stream.kind:
        case "dram":
            channel = stream.total_bytes / max(stream.channels, 1) / rates.dram_channel
            return Load(channel=channel, links=stream.total_bytes / (rates.dram_links * rates.link))
        case "host":
            return Load(host=stream.total_bytes / rates.host)
        case "chip":
            return Load(eth=stream.total_bytes / max(rates.eth * (stream.channels or rates.eth_links), 1e-9))
        case "core":
            return Load()


def prologue_cycles(rates: Rates, streams: Iterable[Stream]) -> float:
    """Return cycles before an epoch's first microbatch in which the streams that are held are loaded."""
    held = [stream for stream in streams if stream.held]
    total = sum(stream.total_bytes for stream in held if not stream.load_rate)
    widest = max((stream.channels for stream in held), default=1)
    slowest = max((stream.core_bytes / rates.absorb_core for stream in held), default=0.0)
    shared = total / crossing_rate(rates, widest) + sum(stream.total_bytes / stream.load_rate for stream in held if stream.load_rate)
    return max(slowest, shared) + rates.prologue_cycles * len(held)


def crossing_rate(rates: Rates, channels: int) -> float:
    """Return bytes a cycle that cores anywhere on the chip get from so many channels."""
    return min(channels * rates.dram_channel, rates.dram_links * rates.link)
