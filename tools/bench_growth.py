"""How compilation and running grow with a model: chains, wide ops, many inputs and outputs, each at n, 2n and 4n.

    python tools/bench_growth.py [--json] [--size 1000] [--target host --target n300] [--kind chain_relu ...] [--bar 1.3] [--large]

For each kind of model and each target it prints the seconds of processor time that import to archive take, and loading with one run, and by
which exponent of n each grows between the last two sizes.  An exponent above the bar, where the time is no longer negligible, is flagged;
exits with 1 if there is one.  Each measurement is a process with a cache of its own, in which a tiny model of the kind goes first: kernels
and modules are then at hand, and no plan that an earlier process kept is taken instead of loading.  With --large, 4n is the largest size
that models of each kind are meant to have.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save

import checkout  # noqa: F401  the packages of this checkout
from ttc.compiler.driver import compile_path
from ttc.loading import load
from ttc.options import CompileOptions
from ttc.runtime.engines.native.codegen.cache import VARIABLE as CACHE

SIZE = 1000
BAR = 1.3
NEGLIGIBLE_SECONDS = 0.5
"""The seconds below which a time is mostly what every process does, whatever the model is."""
SECONDS = 300
"""The seconds of wall time that one measurement may take."""
TINY = 3
"""The size of the model that goes first."""
TARGETS = ("host", "n150", "n300")
LARGE = {"chain": 50_000, "inputs": 100_000, "wide": 100_000, "split": 20_000, "fan": 20_000, "nested": 8_192}
"""The largest size of each kind, by the first word of its name."""
Times = tuple[float, float]
"""The seconds of one model: from import to archive, and of load and run."""

node: Callable[..., NodeProto] = helper.make_node


def model(nodes: Sequence[NodeProto], inputs: dict[str, list[int]], outputs: Sequence[str], **constants: Any) -> ModelProto:
    """Return a model of float32 inputs of these shapes; constants by name."""
    values = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    given = [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()]
    taken = [helper.make_tensor_value_info(name, 1, None) for name in outputs]
    graph = helper.make_graph(list(nodes), "growth", given, taken, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def chain(n: int, link: Callable[[int, str, str], NodeProto], shape: Sequence[int] = (4,), **constants: Any) -> ModelProto:
    """Return a model of n ops one after another.  link: makes the i-th, from the value it reads to the value it makes."""
    names = ["x", *(f"t{i}" for i in range(n - 1)), "y"]
    return model([link(i, a, b) for i, (a, b) in enumerate(zip(names, names[1:], strict=False))], {"x": list(shape)}, ["y"], **constants)


def wide(op: str, n: int, *, inputs: bool, **attributes: Any) -> ModelProto:
    """Return one op of n operands: as many inputs of the model, or always the same."""
    names = [f"x{i}" for i in range(n)] if inputs else ["x"] * n
    return model([node(op, names, ["y"], **attributes)], dict.fromkeys(names, [2]), ["y"])


def pieces(n: int, *, joined: bool) -> ModelProto:
    """Return a split into n, each part a result of its own, or all joined again."""
    parts, results = [f"p{i}" for i in range(n)], [f"y{i}" for i in range(n)]
    nodes = [node("Split", ["x"], parts, axis=0, num_outputs=n), *(node("Sigmoid", [p], [y]) for p, y in zip(parts, results, strict=True))]
    return model([*nodes, node("Concat", results, ["y"], axis=0)] if joined else nodes, {"x": [n]}, ["y"] if joined else results)


def fan(n: int, *, joined: bool) -> ModelProto:
    """Return a model in which n ops read one value, each a result of its own, or all summed."""
    results = [f"y{i}" for i in range(n)]
    nodes = [node("Sigmoid", ["x"], ["s"]), *(node("Add", ["s", f"c{i % 7}"], [y]) for i, y in enumerate(results))]
    constants = {f"c{i}": np.array([i], np.float32) for i in range(7)}
    return model([*nodes, node("Sum", results, ["y"])] if joined else nodes, {"x": [4]}, ["y"] if joined else results, **constants)


def mixed(i: int, a: str, b: str) -> NodeProto:
    """Return a link of a chain in which ops of several kinds take turns."""
    ops: list[tuple[str, list[str], dict[str, Any]]] = [
        ("Relu", [a], {}),
        ("Mul", [a, "x"], {}),
        ("Reshape", [a, "square"], {}),
        ("Transpose", [a], {"perm": [1, 0]}),
        ("Reshape", [a, "flat"], {}),
        ("Max", [a, "x"], {}),
        ("Tanh", [a], {}),
        ("Sub", [a, "c"], {}),
    ]
    op, operands, attributes = ops[i % len(ops)]
    return node(op, operands, [b], **attributes)


def nested(n: int) -> ModelProto:
    """Return a model of n ops If, in the branches of each other: each holds half of the rest in either, so that they nest log2(n) deep."""
    value = helper.make_tensor_value_info("y", 1, [4])

    def decided(count: int) -> NodeProto:
        if not count:
            return node("Sigmoid", ["x"], ["y"])
        halves = {"then_branch": (count - 1) // 2, "else_branch": count // 2}
        return node("If", ["c"], ["y"], **{name: helper.make_graph([decided(half)], name, [], [value]) for name, half in halves.items()})

    made = model([decided(n)], {"x": [4]}, ["y"])
    made.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    return made


SHAPES: dict[str, Any] = {"flat": np.array([4]), "square": np.array([2, 2])}
KINDS: dict[str, Callable[[int], ModelProto]] = {
    "chain_identity": lambda n: chain(n, lambda _, a, b: node("Identity", [a], [b])),
    "chain_sigmoid": lambda n: chain(n, lambda _, a, b: node("Sigmoid", [a], [b])),
    "chain_add": lambda n: chain(n, lambda _, a, b: node("Add", [a, "x"], [b])),
    "chain_add_constant": lambda n: chain(n, lambda _, a, b: node("Add", [a, "c"], [b]), c=np.float32(1)),
    "chain_cast": lambda n: chain(n, lambda i, a, b: node("Cast", [a], [b], to=1 if i % 2 else 10)),
    "chain_reshape": lambda n: chain(n, lambda i, a, b: node("Reshape", [a, "flat" if i % 2 else "square"], [b]), **SHAPES),
    "chain_transpose": lambda n: chain(n, lambda _, a, b: node("Transpose", [a], [b], perm=[1, 2, 0]), (2, 3, 4)),
    "chain_slice": lambda n: chain(n, lambda _, a, b: node("Slice", [a, "o", "e"], [b]), (n + 4,), o=np.array([1]), e=np.array([1 << 40])),
    "chain_softmax": lambda n: chain(n, lambda _, a, b: node("Softmax", [a], [b])),
    "chain_matmul": lambda n: chain(n, lambda _, a, b: node("MatMul", [a, "w"], [b]), (1, 4), w=np.eye(4, dtype=np.float32)),
    "chain_conv": lambda n: chain(
        n, lambda _, a, b: node("Conv", [a, "w"], [b]), (1, 4, 4, 4), w=np.eye(4, dtype=np.float32)[..., None, None]
    ),
    "chain_mixed": lambda n: chain(n, mixed, c=np.float32(1), **SHAPES),
    "nested_if": nested,
    "wide_concat": lambda n: wide("Concat", n, inputs=False, axis=0),
    "wide_sum": lambda n: wide("Sum", n, inputs=False),
    "wide_max": lambda n: wide("Max", n, inputs=False),
    "wide_mean": lambda n: wide("Mean", n, inputs=False),
    "inputs_concat": lambda n: wide("Concat", n, inputs=True, axis=0),
    "inputs_max": lambda n: wide("Max", n, inputs=True),
    "inputs_sum": lambda n: wide("Sum", n, inputs=True),
    "split_joined": lambda n: pieces(n, joined=True),
    "split_outputs": lambda n: pieces(n, joined=False),
    "fan_summed": lambda n: fan(n, joined=True),
    "fan_outputs": lambda n: fan(n, joined=False),
}


def timed(kind: str, size: int, target: str) -> Times:
    """Compile a model, save it, load it and run it once, in this process, after a tiny one of its kind."""
    _timed_once(kind, TINY, target)
    return _timed_once(kind, size, target)


def _timed_once(kind: str, size: int, target: str) -> Times:
    """Compile a model, save it, load it and run it once."""
    with tempfile.TemporaryDirectory() as folder:
        path, archive = Path(folder) / "m.onnx", Path(folder) / "m.tti"
        save(KINDS[kind](size), path)
        start = time.process_time()
        result = compile_path(path, CompileOptions(target=target))
        result.save(archive)
        middle = time.process_time()
        with load(archive, threads=1) as executor:
            arguments = executor.netlist.programs["forward"].arguments
            executor.run({a.name: np.zeros(a.shape, a.dtype) for a in arguments if a.kind == "input"})
        return middle - start, time.process_time() - middle


def _use_cache(folder: str) -> None:
    """Keep kernels and plans in that folder, in this process."""
    os.environ[CACHE] = folder


def measure(kind: str, size: int, target: str) -> Times | str:
    """Return what `timed` gives in a process of its own, or why it gives nothing."""
    with tempfile.TemporaryDirectory() as cache, multiprocessing.get_context("spawn").Pool(1, _use_cache, (cache,)) as pool:
        try:
            return pool.apply_async(timed, (kind, size, target)).get(SECONDS)
        except multiprocessing.TimeoutError:
            return f"more than {SECONDS} s"
        except Exception as error:  # noqa: BLE001 - one line of the table
            return str(error).partition("\n")[0][:120]


def exponent(before: float, after: float) -> float:
    """Return by which power of n a time grows, from that at n to that at 2n."""
    return log2(max(after, 1e-9) / max(before, 1e-9))


def flagged(before: float, after: float, bar: float) -> bool:
    """Return whether a time grows faster than the bar allows, and matters."""
    return after > NEGLIGIBLE_SECONDS and exponent(before, after) > bar


def row(kind: str, target: str, found: Sequence[Times | str], bar: float) -> tuple[str, bool]:
    """Return a line of the table, and whether something in it is flagged."""
    refused = next((f for f in found if isinstance(f, str)), None)
    if refused is not None:
        return f"{kind:20}{target:7}{refused}", refused.startswith("more than")
    text, steep = f"{kind:20}{target:7}", False
    for times in zip(*[f for f in found if not isinstance(f, str)], strict=True):
        wrong = flagged(times[-2], times[-1], bar)
        steep |= wrong
        text += "".join(f"{seconds:8.2f}" for seconds in times) + f"   n^{exponent(times[-2], times[-1]):.2f}{'!' if wrong else ' '}  "
    return text.rstrip(), steep


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table or JSON; 1 if something is flagged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--size", type=int, default=SIZE, metavar="N", help=f"the smallest size (default: {SIZE})")
    parser.add_argument("--large", action="store_true", help="up to the largest size of each kind, instead of --size")
    parser.add_argument("--target", action="append", metavar="NAME", help=f"default: {', '.join(TARGETS)}")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="default: all")
    parser.add_argument("--bar", type=float, default=BAR, metavar="X", help=f"largest exponent (default: {BAR})")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    failed = False
    if not options.json:
        print(f"{'':27}seconds at n, 2n and 4n, n = {'largest / 4' if options.large else options.size}: import to archive; load and run")
    for target in options.target or TARGETS:
        for kind in options.kind or KINDS:
            smallest = LARGE[kind.partition("_")[0]] // 4 if options.large else options.size
            sizes = [smallest, 2 * smallest, 4 * smallest]
            found = [measure(kind, size, target) for size in sizes]
            line, steep = row(kind, target, found, options.bar)
            failed |= steep
            rows.append({"kind": kind, "target": target, "sizes": sizes, "found": found, "flagged": steep})
            if not options.json:
                print(line, flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
