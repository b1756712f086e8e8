"""`make bench-training`: whole training steps of ours against PyTorch eager, PyTorch's own compiler, and JAX.

    python tools/bench_training.py [--networks mlp,tiny] [--way step|torch.compile] [--peers eager,inductor,jax] [--precision bfloat16]
                                   [--rounds 9] [--threads 2] [--cold] [--json]

For each network every way lives in a process of its own, and they take turns (A B C A B C ...), each turn after uncounted steps; between
its turns a process is stopped.  A step is forward, loss, backward and AdamW (fused=True in PyTorch).  `step` is our whole program;
`torch.compile` leaves the optimizer to PyTorch.  In bfloat16 PyTorch runs under autocast.  What is compared is the median over the turns of
the median of a turn's steps; with --fastest, on a machine that is not quiet, the fastest (`chrt -r 1` before the command makes it quiet).
The losses of the first steps are compared with those of eager.  Memory is the peak over what the process had with the network made.

Inductor needs a C++ compiler; JAX is in the extra `peers`; where a peer fails it is named and left out.  --cold: compilers find their
caches empty.  Exit status 1 if a way of ours fails, or its losses differ.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_measure import Failed, Resident
from bench_peers import words

WORKER = Path(__file__).with_name("training_worker.py")
PEERS = ("eager", "inductor", "jax")
OURS = ("step", "torch.compile")
NETWORKS = (
    *("tiny", "mlp", "cnn", "resnet18", "vit", "bert", "gpt2", "llama"),
    *("distilbert", "regnet", "segmentation", "lstm", "convnext"),
)
WORST = {"float32": 1.0, "bfloat16": 1.05}
"""The most time of a step of ours, in steps of the fastest peer, by precision."""
MEAN, TINY = 0.85, 0.45
"""The most time of a step for the geometric mean over networks, and for the network whose step is mostly overhead."""
LEAST_ROUNDS = 9
TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2}
"""The tolerances of losses, relative to eager's, or to 1 where that is less."""
CACHES = ("TTC_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
"""Variables that say where compilers keep what they made."""


@dataclass
class Steps:
    """The measurements of one network, by way of training.

    Args:
        seconds: of a step, turn by turn: the median of each.
        fastest: step of all.
        losses: of the first steps.
        failed: what a way said that ended with an error.
        first: seconds to the end of the first step.
        peak: bytes of memory at the peak.
    """

    network: str
    precision: str = "float32"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    fastest: dict[str, float] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)

    @property
    def bar(self) -> float:
        """Return how long a step of ours may take, in steps of the fastest peer."""
        return TINY if self.network == "tiny" else WORST[self.precision]

    def milliseconds(self, way: str, *, fastest: bool = False) -> float:
        """Return the milliseconds of the median step, or of the fastest."""
        return 1e3 * (self.fastest[way] if fastest else median(self.seconds[way]))

    def ratio(self, way: str, *, fastest: bool = False) -> float | None:
        """Return the ratio of a way's time to that of the fastest peer; None where either is missing."""
        peers = [self.milliseconds(peer, fastest=fastest) for peer in PEERS if peer in self.seconds]
        return self.milliseconds(way, fastest=fastest) / min(peers) if peers and way in self.seconds else None

    def difference(self, way: str) -> float:
        """Return the largest difference between a loss and eager's, relative to that, or to 1; infinite where either is missing."""
        wanted, found = self.losses.get("eager", []), self.losses.get(way, [])
        if not wanted or len(wanted) != len(found):
            return float("inf")
        return max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(found, wanted, strict=True))


def measure(network: str, ways: Sequence[str], rounds: int, threads: int, precision: str = "float32") -> Steps:
    """Measure all ways of training a network in turns."""
    found = Steps(network, precision)
    with ExitStack() as stack:
        residents: dict[str, Resident] = {}
        for way in ways:
            try:
                command = [sys.executable, str(WORKER), way, network, str(threads), precision]
                residents[way] = stack.enter_context(Resident(command, threads))
                first = residents[way].first
                found.losses[way], found.first[way], found.peak[way] = first["losses"], first["first"], first["peak"]
            except Failed as reason:
                found.failed[way] = str(reason)
        for _ in range(rounds):
            for way, resident in residents.items():
                turn = resident.turn()
                found.seconds.setdefault(way, []).append(median(turn))
                found.fastest[way] = min(*turn, found.fastest.get(way, turn[0]))
    return found


# ---- what is printed ------------------------------------------------------------------------------------------------------------


def report(found: Sequence[Steps], way: str, peers: Sequence[str] = PEERS, *, fastest: bool = False) -> str:
    """Return tables of milliseconds of each way with ours to the fastest peer, of memory, and of seconds to the end of the first step."""
    ways = (*peers, way)
    lines = [f"{'ms a step':12}" + "".join(f"{name:>15}" for name in ways) + f"{'ratio':>8}{'bar':>6}{'losses differ':>15}"]
    for item in found:
        cells = [f"{item.milliseconds(name, fastest=fastest):.4g}" if name in item.seconds else "-" for name in ways]
        ratio = item.ratio(way, fastest=fastest)
        verdict = "-" if ratio is None else f"{ratio:.3f}{'!' if ratio > item.bar else ''}"
        lines.append(
            f"{item.network:12}" + "".join(f"{cell:>15}" for cell in cells) + f"{verdict:>8}{item.bar:>6}{item.difference(way):>15.1e}"
        )
    ratios = [ratio for item in found if (ratio := item.ratio(way, fastest=fastest)) is not None]
    if len(ratios) > 1:
        lines.append(f"geometric mean {geometric_mean(ratios):.3f} (bar {MEAN}), worst {max(ratios):.3f}")
    peaks = {item.network: {name: size / 1e6 for name, size in item.peak.items()} for item in found}
    for title, figures in (("MB at the peak", peaks), ("s to step 1", {item.network: item.first for item in found})):
        lines.append(f"{title:15}" + "".join(f"{name:>15}" for name in ways))
        rows = ((name, row) for name, row in figures.items() if row)
        lines += [f"{network:15}" + "".join(f"{row[n]:>15.3g}" if n in row else f"{'-':>15}" for n in ways) for network, row in rows]
    lines += [f"{item.network}: {name} failed: {reason}" for item in found for name, reason in item.failed.items()]
    return "\n".join(lines)


def document(found: Sequence[Steps], way: str, machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return all results as plain data."""
    rows = [
        {**asdict(item), "ratio": item.ratio(way), "bar": item.bar, "difference": {w: item.difference(w) for w in item.losses}}
        for item in found
    ]
    return {"machine": dict(machine), "way": way, "networks": rows}


def wrong(found: Sequence[Steps], way: str) -> list[str]:
    """Return networks where our way failed, or where the losses of one of the ways are not eager's."""
    failed = [f"{item.network}: {way} failed" for item in found if way in item.failed]
    pairs = [(item, name) for item in found for name in item.losses]
    return failed + [
        f"{item.network}: losses of {name} differ" for item, name in pairs if not item.difference(name) <= TOLERANCES[item.precision]
    ]


# ---- the command line -----------------------------------------------------------------------------------------------------------


def rounds(text: str) -> int:
    """Read a number of rounds, at least LEAST_ROUNDS."""
    if not text.isdecimal() or int(text) < LEAST_ROUNDS:
        raise argparse.ArgumentTypeError(f"it is at least {LEAST_ROUNDS}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--networks", type=words(NETWORKS), default=NETWORKS, help=", ".join(NETWORKS))
    found.add_argument("--way", choices=OURS, default=OURS[0], help="how ours trains")
    found.add_argument("--peers", type=words(PEERS), default=PEERS, help=", ".join(PEERS))
    found.add_argument("--precision", choices=tuple(WORST), default="float32")
    found.add_argument("--rounds", type=rounds, default=LEAST_ROUNDS)
    found.add_argument("--threads", type=int, default=2)
    found.add_argument("--cold", action="store_true", help="begin with empty caches of compiled code")
    found.add_argument("--fastest", action="store_true", help="compare the fastest steps instead of medians")
    found.add_argument("--json", action="store_true")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parser().parse_args(arguments)
    found: list[Steps] = []
    for network in options.networks:
        print(f"{network} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            if options.cold:
                os.environ.update(dict.fromkeys(CACHES, folder))
            found.append(measure(network, (*options.peers, options.way), options.rounds, options.threads, options.precision))
    machine = {"cores": os.cpu_count(), "threads": options.threads, "rounds": options.rounds, "cold": options.cold}
    if options.json:
        print(json.dumps(document(found, options.way, machine), indent=1))
    else:
        print(report(found, options.way, options.peers, fastest=options.fastest))
    for line in wrong(found, options.way):
        print(line, file=sys.stderr)
    return 1 if wrong(found, options.way) else 0


if __name__ == "__main__":
    sys.exit(main())
