"""Measured bandwidths of DRAM against the performance model.

    python tools/dram.py [--json]

Each measurement is a pattern of access: how many cores read, in packets of how many bytes, how many of them asked for at a time, beside
their bank or across the chip.  Exits with 1 if one is off by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass

from ttc.dialects.core.machines.targets import load_target
from ttc.runtime.perf.movement import dram_rate
from ttc.runtime.perf.rates import rates_of

BAR = 0.05


@dataclass(frozen=True)
class Point:
    """A measurement in GB/s, and the pattern it was made with."""

    target: str
    pattern: str
    readers: int
    packet_bytes: int
    in_flight: int
    beside: bool
    measured: float


POINTS = (
    Point("n150", "best, readers beside their bank", 18, 8192, 4, True, 267.0),
    Point("p150", "readers beside their bank", 24, 16384, 4, True, 500.0),
    Point("p150", "packets of 16 KB, two at a time, across the chip", 24, 16384, 2, False, 344.0),
    Point("p150", "tiles of 2 KB, each waited for", 24, 2048, 1, False, 188.0),
    Point("e150", "best, readers beside their bank", 8, 8192, 4, True, 90.0),
)


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON only")
    as_json = parser.parse_args().json
    rows: list[dict[str, object]] = []
    worst = 0.0
    for point in POINTS:
        rates = rates_of(load_target(point.target))
        rate = dram_rate(rates, point.readers, rates.dram_channels, point.packet_bytes, point.in_flight, beside=point.beside)
        estimate = rate * rates.clock_hz / 1e9
        error = estimate / point.measured - 1
        worst = max(worst, abs(error))
        rows.append({**asdict(point), "estimate": round(estimate, 1), "error": round(error, 4)})
        if not as_json:
            print(f"{point.target:5} {point.pattern:50} measured {point.measured:5.0f} GB/s  estimate {estimate:6.1f}  {error:+.1%}")
    if as_json:
        print(json.dumps({"points": rows, "worst": round(worst, 4)}, indent=2))
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
