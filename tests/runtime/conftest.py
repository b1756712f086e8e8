"""Small programs built by hand, on target `host`, for tests of the runtime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Argument, Chip, Graph, Host, Instruction, Netlist, Op, Program, Queue
from ttc.dialects.netlist.sizes import queue_buffer_bytes
from ttc.runtime.manifest import Derived, Description, ManifestVariable
from ttc.runtime.tensors import TensorSource

HOST_CHIP = Chip(
    target="host",
    arch="host",
    chips=1,
    grid=None,
    tile=None,
    l1_usable_bytes=0,
    dst_tiles=0,
    dram_channels=1,
    dram_channel_bytes=1 << 30,
    dram_reserved_bytes=0,
    alignment_bytes=64,
    max_input_queues=0,
    formats=("Float32", "Float16_b", "Float64", "Int32", "Int64", "UInt8", "Bool"),
)


class Builder:
    """Collects queues and graphs; queues get addresses one after the other."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.graphs: dict[str, Graph] = {}
        self.programs: dict[str, Program] = {}
        self._address = 0

    def queue(self, name: str, kind: str, tensor: TensorType, *, entries: int = 1, key: str | None = None, source: str = "HOST") -> None:
        kept = kind in ("parameter", "constant", "state")
        size = queue_buffer_bytes(tensor, entries, None, HOST_CHIP)
        address, self._address = self._address, self._address + -(-size // 64) * 64
        lifetime = None if kept or kind == "stash" else (0, 0)
        self.queues[name] = Queue(
            name, kind, "ram" if kept else "queue", source, tensor, entries, "host", 0, (1, 1), None, ((0, address),), size, key, lifetime
        )  # fmt: skip

    def graph(self, name: str, ops: list[Op], writes: list[tuple[str, str]], input_count: int = 1) -> None:
        self.graphs[name] = Graph(name, 0, input_count, tuple(ops), tuple(writes))

    def program(self, name: str, arguments: list[Argument], results: list[Argument], graphs: list[str]) -> None:
        self.programs[name] = Program(name, tuple(arguments), tuple(results), tuple(Instruction("execute", (g,)) for g in graphs))

    def netlist(self) -> Netlist:
        return Netlist(HOST_CHIP, self.queues, self.graphs, self.programs)


def op(name: str, mnemonic: str, inputs: list[str], type_: TensorType, **attrs: Any) -> Op:
    """An op on the host whose work is one nn op over operands of its own type."""
    work = Work(f"nn.{mnemonic}", tuple(range(len(inputs))), dict(attrs), (type_,), None, (name,))
    return Op(name, mnemonic, tuple(inputs), Host(), None, Function((type_,) * len(inputs), (work,), (len(inputs),)))


VECTOR = TensorType((4,), "Float32")


@pytest.fixture
def counter() -> tuple[Netlist, dict[str, TensorSource], Description]:
    """Programs over one state: `step`: y = x + counter, counter += 1; `peek`: the counter; and, without state, `double`: z = x + x."""
    b = Builder()
    b.queue("x", "input", VECTOR)
    b.queue("counter", "state", VECTOR, key="counter.initial")
    b.queue("one", "constant", VECTOR, key="one")
    for name, source in (("y", "y_add"), ("next", "inc"), ("now", "copy"), ("z", "double_add")):
        b.queue(name, "output", VECTOR, source=source)
    b.graph(
        "step_0",
        [op("y_add", "add", ["x", "counter"], VECTOR), op("inc", "add", ["counter", "one"], VECTOR)],
        [("y_add", "y"), ("inc", "next")],
    )
    b.graph("peek_0", [op("copy", "identity", ["counter"], VECTOR)], [("copy", "now")])
    b.graph("double_0", [op("double_add", "add", ["x", "x"], VECTOR)], [("double_add", "z")])
    x = Argument("x", "input", "x", (4,), "float32")
    y, z, now = (replace(x, name=n, queue=n, kind="output") for n in ("y", "z", "now"))
    update = Argument("counter", "state", "next", (4,), "float32", updates="counter")
    b.program("step", [x], [y, update], ["step_0"])
    b.program("peek", [], [now], ["peek_0"])
    b.program("double", [x], [z], ["double_0"])
    tensors = {
        "counter.initial": TensorSource.of_array(np.zeros(4, np.float32), "Float32"),
        "one": TensorSource.of_array(np.ones(4, np.float32), "Float32"),
    }
    description = Description(
        "counter", "0.1.0", {"format": "Float32"}, {}, {"counter": ManifestVariable("counter.initial", (4,), "float32")}
    )
    return b.netlist(), tensors, description


@pytest.fixture
def affine() -> tuple[Netlist, dict[str, TensorSource], Description]:
    """`forward`: y = (x + scaled) * w, and `grow`: w = w + w.

    `scaled` is derived: 3 * b + w, of the parameters w (stored) and b (not stored).
    """
    b = Builder()
    b.queue("x", "input", VECTOR, entries=3)
    b.queue("w", "parameter", VECTOR, key="w")
    b.queue("scaled", "constant", VECTOR, key="scaled")
    b.queue("y", "output", VECTOR, entries=3, source="mul")
    b.graph("forward_0", [op("add", "add", ["x", "scaled"], VECTOR), op("mul", "mul", ["add", "w"], VECTOR)], [("mul", "y")], input_count=3)
    x = Argument("x", "input", "x", (3, 4), "float32", streamed=True)
    b.program("forward", [x], [replace(x, name="y", kind="output", queue="y")], ["forward_0"])
    b.queue("w2", "output", VECTOR, source="sum")
    b.graph("grow_0", [op("sum", "add", ["w", "w"], VECTOR)], [("sum", "w2")])
    b.program("grow", [], [Argument("w", "parameter", "w2", (4,), "float32", updates="w")], ["grow_0"])
    expression = Function(
        (),
        (
            Work("ttc.param", (), {"sym": "b", "key": "b"}, (VECTOR,)),
            Work("ttc.constant", (), {"values": (3.0,)}, (TensorType((), "Float32"),)),
            Work("nn.mul", (0, 1), {}, (VECTOR,)),
            Work("ttc.param", (), {"sym": "w", "key": "w"}, (VECTOR,)),
            Work("nn.add", (2, 3), {}, (VECTOR,)),
        ),
        (4,),
    )
    tensors = {
        "w": TensorSource.of_array(np.full(4, 2, np.float32), "Float32"),
        "scaled": TensorSource.of_array(np.full(4, 5, np.float32), "Float32"),
    }
    parameters = {"w": ManifestVariable("w", (4,), "float32"), "b": ManifestVariable("b", (4,), "float32")}
    return b.netlist(), tensors, Description("affine", "0.1.0", {}, parameters, {}, (Derived("scaled", expression),))
