"""Training steps of our netlists beside those of the reference compiler's own, by the performance model.

    python tools/reference_training.py FOLDER

FOLDER is `verif/graph_tests/netlists/pybuda_pregenerated` of tt-buda's backend.  Its two training netlists are of a feed-forward block of a
transformer (128 rows, 128 and 512 features) and of three products (64x64, two samples), both for Grayskull in Float16_b with SGD.  The
same networks are compiled for e150, gradients of outputs coming in as they do there.  A step is `run_fwd`, `run_bwd` and `run_opt` of the
reference's, `backward` and `optimizer` of ours, as our `backward` computes forward, too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import checkout  # noqa: F401
import ttc
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.runtime.perf.run import run_cost

BAR = 0.8
"""The most that ours may take, as a share of the reference's."""


class Products(nn.Module):
    """a W1 (b W2) + b W2, for a and b [samples, 64, 64]."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.randn(64, 64)) for _ in range(2))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Return [samples, 64, 64]."""
        product = b @ self.second
        return a @ self.first @ product + product


def networks() -> dict[str, tuple[str, nn.Module, tuple[Tensor, ...]]]:
    """Return the networks: the reference's file, the network, and inputs."""
    block = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
    pair = torch.zeros(2, 64, 64), torch.zeros(2, 64, 64)
    return {
        "feed-forward": ("feedforward_train/grayskull/feedforward_training_netlist.yaml", block, (torch.zeros(128, 128),)),
        "products": ("simple_train/grayskull/simple_training_netlist.yaml", Products(), pair),
    }


def cycles(netlist: Any, programs: tuple[str, ...]) -> float:
    """Return the cycles of programs that run one after another."""
    return sum(run_cost(netlist, name).cycles for name in programs)


def main() -> int:
    """Run the tool; returns 1 if ours takes more than its bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    within = True
    print("| network | the reference's cycles | ours | ratio |\n|---|---|---|---|")
    for name, (file, network, inputs) in networks().items():
        theirs = cycles(to_netlist(read_netlist((folder / file).read_bytes(), file)), ("run_fwd", "run_bwd", "run_opt"))
        chosen: Any = {"training": True, "optimizer": "sgd:lr=0.01", "format": "Float16_b"}
        ours = cycles(ttc.compile(network, inputs, target="e150", **chosen).netlist, ("backward", "optimizer"))
        within = within and ours <= BAR * theirs
        print(f"| {name} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} |")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
