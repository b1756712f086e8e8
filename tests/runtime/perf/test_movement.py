"""Rates of DRAM against measurements, and what streams cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.runtime.perf.movement import (
    Load,
    Stream,
    dram_rate,
    packet_rate,
    passing_cycles,
    pipe_rate,
    prologue_cycles,
    reader_rate,
    stream_cycles,
    stream_load,
)
from ttc.runtime.perf.rates import rates_of

N150 = rates_of(load_target("n150"))


@pytest.mark.parametrize(
    ("target", "readers", "packet", "in_flight", "beside", "measured"),
    [
        ("n150", 18, 8192, 4, True, 267e9),  # the best measured
        ("p150", 24, 8192, 4, True, 500e9),  # readers beside their bank
        ("p150", 24, 16384, 2, False, 344e9),  # large packets, double-buffered, across the chip
        ("p150", 24, 2048, 1, False, 188e9),  # a tile at a time, each waited for
        ("e150", 8, 8192, 4, True, 90e9),
    ],
)
def test_dram_reads_as_fast_as_measured(target: str, readers: int, packet: int, in_flight: int, beside: bool, measured: float) -> None:
    rates = rates_of(load_target(target))
    found = dram_rate(rates, readers, rates.dram_channels, packet, in_flight, beside=beside) * rates.clock_hz
    assert found == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize(("size", "rate"), [(128, 5.5), (384, 14.05), (2048, 30.0), (8192, 30.0), (64, 2.75)])
def test_packets_follow_the_curve(size: int, rate: float) -> None:
    assert packet_rate(N150, size) == pytest.approx(rate)


def test_readers_that_wait_are_slower() -> None:
    one, two, many = (reader_rate(N150, 2048, n) for n in (1, 2, 16))
    assert one == pytest.approx(2048 / (270 + 2048 / 30))
    assert two == pytest.approx(2 * one)
    assert many == 28.1  # what a core can take


def test_more_readers_and_channels_never_read_more_slowly() -> None:
    found = [dram_rate(N150, readers, channels, 2080) for readers, channels in ((1, 1), (2, 1), (8, 1), (8, 2), (8, 6), (64, 6))]
    assert found == sorted(found)
    assert found[2] == pytest.approx(44.5)  # one channel
    assert found[-1] == 128.0  # the links


def test_a_gather_is_slower_the_more_cores_send() -> None:
    found = [pipe_rate(N150, Stream("core", 1, 1, sources=n, packet_bytes=2080)) for n in (1, 2, 5, 8, 50)]
    assert found == [28.0, 16.0, 13.0, 10.0, 10.0]


def test_stream_cycles() -> None:
    assert stream_cycles(N150, Stream("core", 2800.0, 2800.0)) == pytest.approx(100.0)
    assert stream_cycles(N150, Stream("core", 2800.0, 2800.0, send_bytes=5620.0)) == pytest.approx(200.0)
    assert stream_cycles(N150, Stream("dram", 28100.0, 28100.0, packet_bytes=8192)) == pytest.approx(1000.0)
    assert stream_cycles(N150, Stream("host", 6400.0, 6400.0, packet_bytes=64)) == pytest.approx(100 * (270 + 64 / 2.75) / 4)
    assert stream_cycles(N150, Stream("host", 28100.0, 28100.0, packet_bytes=8192)) == pytest.approx(1000.0)
    assert stream_cycles(N150, Stream("host", 28100.0, 3150000.0, packet_bytes=8192)) == pytest.approx(100000.0)  # the link
    shared = Stream("dram", 28100.0, 890000.0, cores=32, channels=1)
    assert stream_cycles(N150, shared) == pytest.approx(20000.0)  # 44.5 bytes a cycle
    assert stream_cycles(N150, Stream("chip", 200.0, 200.0, channels=0)) == pytest.approx(1.0)  # all 16 links
    assert stream_cycles(N150, Stream("dram", 100.0, 100.0, held=True)) == 0.0


def test_kernels_that_read_a_block_and_then_multicast_it() -> None:
    stream = Stream("dram", 28100.0, 281000.0, cores=10, copies=4, channels=12, packet_bytes=8192)
    assert passing_cycles(N150, stream) == pytest.approx(1000.0)
    assert passing_cycles(N150, replace(stream, copies=1)) == passing_cycles(N150, replace(stream, held=True)) == 0.0
    buda = rates_of(replace(load_target("n150"), kernels="buda"))
    assert passing_cycles(buda, stream) == 0.0
    assert stream_cycles(N150, stream) == pytest.approx(stream_cycles(buda, stream) + 1000.0)


def test_loads_of_what_ops_share() -> None:
    one = stream_load(N150, Stream("dram", 8900.0, 8900.0, channels=2))
    assert one == Load(channel=pytest.approx(100.0), links=pytest.approx(8900 / 128))
    assert one.cycles == pytest.approx(100.0)
    assert stream_load(N150, Stream("dram", 1.0, 1.0, held=True)) == Load()
    assert stream_load(N150, Stream("host", 31.5, 31.5)).host == pytest.approx(1.0)


def test_a_prologue_loads_what_is_held() -> None:
    rates = replace(N150, program_bytes=0, start_cycles=1000.0, prologue_cycles=0.0)
    held = [Stream("dram", 2810.0, 44500.0, channels=1, held=True), Stream("dram", 100.0, 100.0)]
    assert prologue_cycles(rates, held) == pytest.approx(1000.0)
