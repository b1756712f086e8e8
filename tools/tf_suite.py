"""Compile networks of keras.applications as TensorFlow saves them, run them, and compare with TensorFlow's own outputs.

    python tools/tf_suite.py [-k PATTERN] [--target host] [--json] [--bar 1.0] [--verbose]

Each network is built with random weights in a child process of its own, with limits on time and memory, saved in every format, compiled,
written as an archive, read back and run on two images.  A case is a network in a format; it passes if its outputs differ from
TensorFlow's by at most 1e-4 of the largest element, or of 1 if that is larger; quantized ones by two steps.  Exit status 1 if fewer than
the share `--bar` passed, or none were chosen.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import checkout  # noqa: F401
import ttc
from suite import Outcome, by_op, category_rows, host_ops, outcome_of, reasons
from tf_networks import FORMATS, NETWORKS, SAMPLES, Expected, build, outputs
from ttc.dialects.core.errors import Error

TIME_LIMIT_SECONDS = 1800
"""The seconds that a network may take in all its formats."""


def cases(pattern: str) -> dict[str, list[str]]:
    """Return formats by network, of those whose name `network:format` matches a regular expression."""
    found = {n: [f for f, form in FORMATS.items() if n in form.networks and re.search(pattern, f"{n}:{f}")] for n in NETWORKS}
    return {network: formats for network, formats in found.items() if formats}


def case_of(network: str, kind: str) -> Outcome:
    return Outcome(f"{network}:{kind}", kind, network, ordinary=True)


def run_network(network: str, formats: Sequence[str], target: str) -> Iterator[Outcome]:
    """Yield the outcomes of one network, in this process."""
    model, images = build(network)
    expected = Expected.of(outputs(model, images))
    with tempfile.TemporaryDirectory(prefix="tf-suite-") as name:
        for kind in formats:
            path = Path(name) / FORMATS[kind].file
            outcome, started = case_of(network, kind), time.perf_counter()
            try:
                wanted = FORMATS[kind].save(model, images, path) or expected
                started = time.perf_counter()
                found, ops = compiled(path, images, target)
                outcome = judged(replace(outcome, host_ops=ops), found, wanted)
            except Error as error:
                outcome = replace(outcome, status="unsupported" if error.code == "E0202" else "fail", reason=str(error)[:400])
            except Exception as error:  # noqa: BLE001 - whatever a case raises is its outcome
                outcome = replace(outcome, status="fail", reason=f"{type(error).__name__}: {error}"[:400])
            yield replace(outcome, seconds=round(time.perf_counter() - started, 1))


def compiled(path: Path, images: NDArray, target: str) -> tuple[list[NDArray], tuple[str, ...]]:
    """Return the outputs of a saved network's program, and the nn ops that it runs in host segments."""
    program = ttc.compile(path, target=target, batch=SAMPLES)
    archive = path.parent / "program.tti"
    program.save(archive)
    name = next(a.name for a in program.netlist.programs["forward"].arguments if a.kind == "input")
    with ttc.load(archive) as executor:
        return list(executor.run({name: images}).values()), host_ops(executor.netlist)


def judged(outcome: Outcome, found: Sequence[NDArray], expected: Expected) -> Outcome:
    """Return whether outputs pass, with the largest difference."""
    if [x.shape for x in found] != [x.shape for x in expected.outputs]:
        return replace(outcome, status="fail", reason=f"shapes {[x.shape for x in found]}, not {[x.shape for x in expected.outputs]}")
    pairs = zip(found, expected.outputs, expected.bounds, strict=True)
    differences = [(float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max()), bound) for a, b, bound in pairs]
    passed = all(difference <= bound for difference, bound in differences)
    text = ", ".join(f"{difference:.1e} of {bound:.1e}" for difference, bound in differences)
    return replace(outcome, status="pass" if passed else "fail", reason=f"differs by {text}")


def in_process(network: str, formats: Sequence[str], target: str) -> Iterator[Outcome]:
    """Yield the outcomes of one network, in a child process: TensorFlow keeps memory and threads."""
    command = [sys.executable, __file__, "--network", network, "--formats", ",".join(formats), "--target", target]
    try:
        child = subprocess.run(command, capture_output=True, timeout=TIME_LIMIT_SECONDS, check=False)
        lines, why = child.stdout.decode().splitlines(), f"its process ended with status {child.returncode}"
        why += f": {child.stderr.decode(errors='replace').strip()[-300:]}"
    except subprocess.TimeoutExpired as expired:
        lines, why = (expired.stdout or b"").decode().splitlines(), f"took more than {TIME_LIMIT_SECONDS} s"
    found = [outcome_of(line) for line in lines if line.startswith("{")]
    yield from found
    done = {item.name for item in found}
    yield from (replace(case_of(network, f), status="fail", reason=why) for f in formats if f"{network}:{f}" not in done)


def tables(outcomes: list[Outcome], *, verbose: bool) -> Iterator[str]:
    """Yield lines of the report."""
    yield from category_rows(outcomes)
    yield f"{sum(bool(item.host_ops) for item in outcomes)} ran in part in host segments"
    yield ""
    yield from by_op(outcomes)
    yield ""
    yield "reasons"
    yield from reasons(item for item in outcomes if item.status != "pass")
    if verbose:
        yield ""
        yield from (f"{i.status:12}{i.name:28}{i.seconds:7.1f} s  {i.reason}  {' '.join(i.host_ops)}".rstrip() for i in outcomes)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-k", dest="pattern", default="", help="regular expression for names of cases, network:format")
    parser.add_argument("--target", default="host")
    parser.add_argument("--bar", type=float, default=0.0, help="least share of cases that must pass")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.add_argument("--verbose", action="store_true", help="also list every case")
    parser.add_argument("--network", help=argparse.SUPPRESS)
    parser.add_argument("--formats", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.network:
        for outcome in run_network(options.network, options.formats.split(","), options.target):
            print(json.dumps(asdict(outcome)), flush=True)
        return 0
    outcomes = [item for network, formats in cases(options.pattern).items() for item in in_process(network, formats, options.target)]
    passed = sum(item.status == "pass" for item in outcomes)
    if options.json:
        print(json.dumps([asdict(item) for item in outcomes], indent=1))
    else:
        print("\n".join(tables(outcomes, verbose=options.verbose)))
    return 1 if not outcomes or passed / len(outcomes) < options.bar else 0


if __name__ == "__main__":
    sys.exit(main())
