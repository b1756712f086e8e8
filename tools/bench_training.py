"""`make bench-training`: whole training steps through our compiler against PyTorch eager and PyTorch's own compiler.

    python tools/bench_training.py [--networks mlp,tiny] [--way torch.compile] [--rounds 9] [--threads 2] [--json]

For each network every way lives in a process of its own, and they take turns (A B C A B C ...), each turn after uncounted steps; between
its turns a process is stopped.  A step is forward, loss, backward and AdamW with fused=True, the same optimizer for all ways.  What is
compared is the median over the turns of the median of a turn's steps; with --fastest, on a machine that is not quiet, the fastest
(`chrt -r 1` before the command makes it quiet).  The losses of the first steps are compared with those of eager.

Inductor needs a C++ compiler; where a peer fails it is named and left out.  Exit status 1 if a way of ours fails, or its losses differ.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_measure import Failed, Resident
from bench_peers import words

WORKER = Path(__file__).with_name("training_worker.py")
PEERS = ("eager", "inductor")
OURS = ("torch.compile",)
BARS = {"mlp": 1.05, "tiny": 1.6, "cnn": 1.2, "resnet18": 1.2, "vit": 1.05, "bert": 1.05, "gpt2": 1.05, "llama": 1.05}
"""What a step of ours may take, in steps of the faster peer, by network."""
LEAST_ROUNDS = 9
TOLERANCE = 1e-4
"""Of losses, relative to eager's, or to 1 where that is less."""


@dataclass
class Steps:
    """What was found of one network, by way.

    Args:
        seconds: of a step, turn by turn: the median of each.
        fastest: step of all.
        losses: of the first steps.
        failed: what a way said that ended with an error.
    """

    network: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    fastest: dict[str, float] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def milliseconds(self, way: str, *, fastest: bool = False) -> float:
        """The milliseconds of the median step, or of the fastest."""
        return 1e3 * (self.fastest[way] if fastest else median(self.seconds[way]))

    def ratio(self, way: str, *, fastest: bool = False) -> float | None:
        """Its time to that of the faster peer; None where one of both is missing."""
        peers = [self.milliseconds(peer, fastest=fastest) for peer in PEERS if peer in self.seconds]
        return self.milliseconds(way, fastest=fastest) / min(peers) if peers and way in self.seconds else None

    def difference(self, way: str) -> float:
        """The largest between a loss and eager's, relative to that, or to 1; infinite where either is missing."""
        wanted, found = self.losses.get("eager", []), self.losses.get(way, [])
        if not wanted or len(wanted) != len(found):
            return float("inf")
        return max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(found, wanted, strict=True))


def measure(network: str, ways: Sequence[str], rounds: int, threads: int) -> Steps:
    """All ways in turns."""
    found = Steps(network)
    with ExitStack() as stack:
        residents: dict[str, Resident] = {}
        for way in ways:
            try:
                command = [sys.executable, str(WORKER), way, network, str(threads)]
                residents[way] = stack.enter_context(Resident(command, threads))
                found.losses[way] = residents[way].first["losses"]
            except Failed as reason:
                found.failed[way] = str(reason)
        for _ in range(rounds):
            for way, resident in residents.items():
                turn = resident.turn()
                found.seconds.setdefault(way, []).append(median(turn))
                found.fastest[way] = min(*turn, found.fastest.get(way, turn[0]))
    return found


# ---- what is printed ------------------------------------------------------------------------------------------------------------


def report(found: Sequence[Steps], way: str, *, fastest: bool = False) -> str:
    """A line for each network: milliseconds of each way, ours to the faster peer, its bar, and the difference of losses."""
    ways = (*PEERS, way)
    lines = [f"{'ms a step':10}" + "".join(f"{name:>15}" for name in ways) + f"{'ratio':>8}{'bar':>6}{'losses differ':>15}"]
    for item in found:
        cells = [f"{item.milliseconds(name, fastest=fastest):.4g}" if name in item.seconds else "-" for name in ways]
        ratio, bar = item.ratio(way, fastest=fastest), BARS[item.network]
        verdict = "-" if ratio is None else f"{ratio:.3f}{'!' if ratio > bar else ''}"
        lines.append(f"{item.network:10}" + "".join(f"{cell:>15}" for cell in cells) + f"{verdict:>8}{bar:>6}{item.difference(way):>15.1e}")
    lines += [f"{item.network}: {name} failed: {reason}" for item in found for name, reason in item.failed.items()]
    return "\n".join(lines)


def document(found: Sequence[Steps], way: str, machine: Mapping[str, Any]) -> dict[str, Any]:
    """All of it as plain data."""
    rows = [
        {**asdict(item), "ratio": item.ratio(way), "bar": BARS[item.network], "difference": {w: item.difference(w) for w in item.losses}}
        for item in found
    ]
    return {"machine": dict(machine), "way": way, "networks": rows}


def wrong(found: Sequence[Steps], way: str) -> list[str]:
    """Networks where our way failed, or where the losses of one of the ways are not eager's."""
    failed = [f"{item.network}: {way} failed" for item in found if way in item.failed]
    pairs = [(item, name) for item in found for name in item.losses]
    return failed + [f"{item.network}: losses of {name} differ" for item, name in pairs if not item.difference(name) <= TOLERANCE]


# ---- the command line -----------------------------------------------------------------------------------------------------------


def rounds(text: str) -> int:
    """At least LEAST_ROUNDS."""
    if not text.isdecimal() or int(text) < LEAST_ROUNDS:
        raise argparse.ArgumentTypeError(f"it is at least {LEAST_ROUNDS}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--networks", type=words(tuple(BARS)), default=tuple(BARS), help=", ".join(BARS))
    found.add_argument("--way", choices=OURS, default=OURS[0], help="how ours trains")
    found.add_argument("--rounds", type=rounds, default=LEAST_ROUNDS)
    found.add_argument("--threads", type=int, default=2)
    found.add_argument("--fastest", action="store_true", help="compare the fastest steps instead of medians")
    found.add_argument("--json", action="store_true")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parser().parse_args(arguments)
    found: list[Steps] = []
    for network in options.networks:
        print(f"{network} ...", file=sys.stderr, flush=True)
        found.append(measure(network, (*PEERS, options.way), options.rounds, options.threads))
    machine = {"cores": os.cpu_count(), "threads": options.threads, "rounds": options.rounds}
    print(
        json.dumps(document(found, options.way, machine), indent=1) if options.json else report(found, options.way, fastest=options.fastest)
    )
    for line in wrong(found, options.way):
        print(line, file=sys.stderr)
    return 1 if wrong(found, options.way) else 0


if __name__ == "__main__":
    sys.exit(main())
