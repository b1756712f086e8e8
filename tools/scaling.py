"""What pipelines, replicas and shards give in 8, 64 and 512 processes, from times and link rates that are measured here.

    python tools/scaling.py [--rounds 5] [--check] [--network LATENCY:RATE] [--json FILE]

A block of a transformer, and messages between two processes, are measured; the pipeline's simulator and rings of messages do the rest
(tools/scaling_model.py).  --check runs steps in 2, 3 and 4 processes, and compares.  --network takes another link than this machine's
own: seconds and bytes a second, such as 2e-5:1.2e10 for Ethernet of 100 Gbit/s.  Exit status 1 if --check finds a step further than
--most from what was predicted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scaling_model import Layout, Link, Measured, Predicted, layouts, predicted

WORKER = Path(__file__).with_name("scaling_worker.py")
SECONDS = 900
PROCESSES = (8, 64, 512)
BLOCKS, MICROBATCHES = 64, 1024
"""The size of the model and of the step that are worked out; those that are checked by running them are smaller."""
CHECKED = (Layout(2, 1, False), Layout(1, 2, False), Layout(1, 2, True), Layout(3, 1, False), Layout(4, 1, False), Layout(2, 2, False))
CHECKED_BLOCKS, CHECKED_MICROBATCHES = 8, 8


def ask(what: str, processes: int, rounds: int, *arguments: str) -> dict[str, Any]:
    """Let processes measure something; returns what the first one found."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--rdzv-backend", "c10d"]
        command += ["--rdzv-endpoint", "localhost:0", str(WORKER), what, "--result", str(result), "--rounds", str(rounds), *arguments]
        subprocess.run(command, check=True, timeout=SECONDS, env={**os.environ, "OMP_NUM_THREADS": "1", "TTC_THREADS": "1"})
        return json.loads(result.read_text())


def checked(link: Link, rounds: int) -> Iterator[tuple[Layout, float, float]]:
    """Run steps of few processes; gives each layout with the seconds that were predicted, and those that were measured.

    One process is measured before each of them anew: what else runs on the machine changes.
    """
    for layout in CHECKED:
        measured = Measured(**ask("one", 1, rounds))
        arguments = ["--pipe", str(layout.pipe), "--data", str(layout.data), *(["--shared"] if layout.shared else [])]
        arguments += ["--blocks", str(CHECKED_BLOCKS), "--microbatches", str(CHECKED_MICROBATCHES)]
        found = ask("step", layout.processes, rounds, *arguments)["seconds"]
        cores = min(len(os.sched_getaffinity(0)), layout.processes)
        yield layout, predicted(measured, link, layout, CHECKED_BLOCKS, CHECKED_MICROBATCHES, cores).seconds, found


def kind_of(layout: Layout) -> str:
    """Return whether a layout has a pipeline, replicas, or both, and whether replicas share."""
    if layout.data == 1:
        return "pipeline"
    return f"{'pipeline and ' if layout.pipe > 1 else ''}{'shards' if layout.shared else 'replicas'}"


def best(measured: Measured, link: Link, processes: int) -> dict[str, tuple[Layout, Predicted]]:
    """Return the fastest layout of each kind."""
    kinds: dict[str, tuple[Layout, Predicted]] = {}
    for layout in layouts(processes, BLOCKS, MICROBATCHES):
        found = predicted(measured, link, layout, BLOCKS, MICROBATCHES)
        kind = kind_of(layout)
        if kind not in kinds or found.seconds < kinds[kind][1].seconds:
            kinds[kind] = layout, found
    return kinds


def table(measured: Measured, link: Link) -> str:
    """Return a table of Markdown: how many times the speed of one process, and which share of the processes' time is used."""
    alone = predicted(measured, link, Layout(1, 1, False), BLOCKS, MICROBATCHES).seconds
    lines = [
        "| processes | layout | a step | times one | used | waits | exchanges | a process holds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for processes in PROCESSES:
        for layout, found in best(measured, link, processes).values():
            speed = alone / found.seconds
            cells = (processes, layout, f"{found.seconds:.3g} s", f"{speed:.3g}", f"{speed / processes:.0%}", f"{found.waiting:.0%}")
            lines.append(f"| {' | '.join(map(str, cells))} | {found.exchanging:.0%} | {found.state_bytes / 1e6:.3g} MB |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--most", type=float, default=1.5, help="times what was predicted, or its inverse, that a checked step may take")
    parser.add_argument("--network", action="append", default=[], metavar="LATENCY:RATE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="measurements are read from there if it exists, else written")
    options = parser.parse_args(arguments)
    links = [Link(*map(float, text.split(":"))) for text in options.network]
    if options.json is not None and options.json.exists():
        known = json.loads(options.json.read_text())
    else:
        known = {"one": ask("one", 1, options.rounds), "link": ask("between", 2, options.rounds)}
        if options.json is not None:
            options.json.write_text(json.dumps(known))
    measured, link = Measured(**known["one"]), Link(**known["link"])
    passes = f"forward {measured.forward * 1e3:.2f} ms, backward {measured.backward * 1e3:.2f} ms, update {measured.update * 1e3:.2f} ms"
    print(f"a block: {passes}; a step beside its blocks: {measured.step * 1e3:.1f} ms")
    for one in (link, *links):
        print(f"\nlinks of {one.latency * 1e6:.0f} us and {one.rate / 1e9:.2f} GB/s; {BLOCKS} blocks, {MICROBATCHES} microbatches\n")
        print(table(measured, one))
    if not options.check:
        return 0
    print("\n| processes | layout | predicted | measured | ratio |\n|---|---|---|---|---|")
    far = False
    for layout, wanted, found in checked(link, options.rounds):
        ratio = found / wanted
        far = far or not 1 / options.most <= ratio <= options.most
        print(f"| {layout.processes} | {layout} | {wanted * 1e3:.0f} ms | {found * 1e3:.0f} ms | {ratio:.2f} |", flush=True)
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
