"""Small programs as every engine runs them, for tests of whole plans and executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.runtime.conftest import Builder
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist.model import Argument, Host, Op
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description
from ttc.runtime.program import Program, build_program
from ttc.runtime.tensors import TensorSource


def tensor(*shape: int, format: str = "Float32") -> TensorType:
    """A type in rows."""
    return TensorType(shape, format)


@dataclass(frozen=True)
class Step:
    """One op: its name, the op of its work by full name, what it reads, its type; source names that it has beside its name."""

    name: str
    op: str
    reads: Sequence[str]
    type: TensorType
    attrs: Mapping[str, Plain] | None = None
    rounding: str = "rne"
    sources: tuple[str, ...] = ()


def program(
    inputs: Mapping[str, TensorType],
    held: Mapping[str, tuple[NDArray, str]],
    steps: Sequence[Step],
    outputs: Mapping[str, str],
    engine: str,
    threads: int = 2,
) -> Program:
    """A program `forward` of one graph.

    Args:    held: values and formats of tensors that the program holds.  outputs: the op of each.
    """
    b, types = Builder(), dict(inputs)
    for name, type_ in inputs.items():
        b.queue(name, "input", type_)
    for name, (value, format) in held.items():
        types[name] = TensorType(value.shape, format)
        b.queue(name, "constant", types[name], key=name)
    ops = typed_ops(steps, types)
    for name, source in outputs.items():
        b.queue(name, "output", types[source], source=source)
    b.graph("g", ops, [(source, name) for name, source in outputs.items()])
    b.program(
        "forward",
        [_argument(n, "input", n, t) for n, t in inputs.items()],
        [_argument(n, "output", n, types[s]) for n, s in outputs.items()],
        ["g"],
    )
    tensors = {name: TensorSource.of_array(value, format) for name, (value, format) in held.items()}
    return build_program(b.netlist(), Description("test", "0.1.0", {}), tensors, engine=engine, threads=threads)


def typed_ops(steps: Sequence[Step], types: dict[str, TensorType]) -> list[Op]:
    """Ops on the host.  types: of the queues they read; those of the steps are added."""
    ops: list[Op] = []
    for s in steps:
        types[s.name] = s.type
        work = Work(s.op, tuple(range(len(s.reads))), dict(s.attrs or {}), (s.type,), None, (s.name, *s.sources))
        function = Function(tuple(types[name] for name in s.reads), (work,), (len(s.reads),))
        ops.append(Op(s.name, s.op.partition(".")[2], tuple(s.reads), Host(), None, function, rounding=s.rounding))  # pyright: ignore[reportArgumentType]
    return ops


def _argument(name: str, kind: str, queue: str, type_: TensorType) -> Argument:
    format_ = format_named(type_.format)
    dtype = format_.array_dtype if type_.format == "String" else format_.compute
    return Argument(name, kind, queue, type_.shape, str(dtype))  # pyright: ignore[reportArgumentType]


def network(engine: str, threads: int = 2, seed: int = 3) -> Program:
    """x[6, 33] through two layers, with softmax at the end: y[6, 17]; of several jobs and tasks, and one step in Python."""
    rng = np.random.default_rng(seed)
    held = {
        "w1": (rng.standard_normal((33, 301)).astype(np.float32), "Float32"),
        "b1": (rng.standard_normal(301).astype(np.float32), "Float32"),
        "w2": (rng.standard_normal((301, 17)).astype(np.float32), "Float32"),
    }
    plain: dict[str, Plain] = {"transpose_a": False, "transpose_b": False}
    steps = [
        Step("h", "tile.matmul", ("x", "w1", "b1"), tensor(6, 301), plain),
        Step("r", "tile.map", ("h",), tensor(6, 301), {"fn": "tanh"}),
        Step("s", "nn.neg", ("r",), tensor(6, 301)),
        Step("z", "tile.matmul", ("s", "w2"), tensor(6, 17), plain),
        Step("p", "tile.softmax", ("z",), tensor(6, 17), {"axis": -1}),
    ]
    return program({"x": tensor(6, 33)}, held, steps, {"y": "p", "sums": "z"}, engine, threads)


def executors(*arguments: object, **named: object) -> tuple[Executor, Executor]:
    """Sessions of the native and of the reference engine on a program; arguments as `program` takes them."""
    native, reference = (program(*arguments, engine, **named) for engine in ("native", "reference"))  # pyright: ignore
    return Executor(native), Executor(reference)
