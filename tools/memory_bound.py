"""DRAM that models take against the least they could: `python tools/memory_bound.py MODEL.onnx... [--json]`.

Compiles each model for n150 and e150 with tensors in Float32 and in Bfp8_b, and compares the peak of all channels of a chip with the most
bytes that are alive at one time.  Exit status 1 if a peak is more than 1.10 times that.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

TARGETS = ("n150", "e150")
FORMATS = ("Float32", "Bfp8_b")
MOST = 1.10
"""The largest ratio of peak to lower bound that is still good."""


def measure(model: Path, target: str, format_: str, placement: str) -> dict[str, object]:
    """Return peak and bound of one compilation, the worst chip of several."""
    import ttc
    from ttc.dialects.netlist.occupancy import occupancy

    netlist = ttc.compile(model, target=target, format=format_, dram_placement=placement).netlist
    worst = max(occupancy(netlist), key=lambda use: use.peak_bytes / max(use.bound_bytes, 1))
    figures = {"peak_bytes": worst.peak_bytes, "bound_bytes": worst.bound_bytes, "ratio": worst.peak_bytes / max(worst.bound_bytes, 1)}
    return {"model": model.stem, "target": target, "format": format_, **figures}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--placement", default="traffic")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [measure(model, target, format_, given.placement) for model in given.models for target in TARGETS for format_ in FORMATS]
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        for row in rows:
            print(f"{row['model']:16} {row['target']:6} {row['format']:8} peak {row['peak_bytes']:>14,}  ratio {row['ratio']:.3f}")
    return int(any(float(str(row["ratio"])) > MOST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
