"""Random graphs of many ops: views of views, regions to fuse, values that live long, results in places where others want them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import TypeAlias

import numpy as np

from tests.runtime.conftest import Builder
from tests.runtime.engines.native.guarded import Graph
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist.model import Host, Op
from ttc.dialects.tile.facts import facts
from ttc.runtime.tensors import TensorSource

MAX_ELEMENTS = 6000
_Shape: TypeAlias = tuple[int, ...]
_Choice: TypeAlias = "tuple[str, list[str], dict[str, Plain]]"
UNARY = ("tanh", "relu", "sigmoid", "neg", "abs", "exp")
BINARY = ("add", "mul", "sub", "maximum", "minimum")


class _Network:
    """Ops over values of known types, each op an op of the netlist."""

    def __init__(self, rng: Random, lies: float) -> None:
        self.rng, self.lies = rng, lies
        self.types: dict[str, TensorType] = {}
        self.ops: list[Op] = []

    def value(self, rank: int | None = None) -> str:
        names = [n for n, t in self.types.items() if rank is None or len(t.shape) == rank]
        if names and self.rng.random() < 0.4:
            return names[-1]
        return self.rng.choice(names[-6:] if self.rng.random() < 0.7 else names) if names else self.rng.choice(list(self.types))

    def shape(self, name: str) -> _Shape:
        return self.types[name].shape

    def add(self, op: str, reads: list[str], attrs: dict[str, Plain]) -> None:
        """The op, if its operands fit; with some probability its type is not what it gives."""
        try:
            shape = self.shape(reads[0]) if op.startswith("nn.") else facts()[op].shape(*(self.shape(n) for n in reads), **attrs)
        except (Error, ArithmeticError, LookupError, ValueError):
            return
        assert isinstance(shape, tuple)
        if self.rng.random() < self.lies and shape:
            at = self.rng.randrange(len(shape))
            shape = (*shape[:at], self.rng.choice((1, 2, shape[at] + 1, shape[at] * 3, shape[at] - 1, 0, 1 << 33)), *shape[at + 1 :])
        if prod(shape) > MAX_ELEMENTS and self.lies == 0:
            return
        format = self.rng.choice(("Float32",) * 5 + ("Float16_b", "Half", "Bfp8_b")) if op in ("map", "cast", "matmul") else "Float32"
        type_, name = TensorType(shape, format), f"v{len(self.ops)}"
        function = Function(
            tuple(self.types[n] for n in reads),
            (Work(op if op.startswith("nn.") else f"tile.{op}", tuple(range(len(reads))), attrs, (type_,)),),
            (len(reads),),
        )
        rounding = self.rng.choice(("rne", "rne", "rne", "none"))
        self.ops.append(Op(name, op.removeprefix("nn."), tuple(reads), Host(), None, function, rounding=rounding))  # pyright: ignore[reportArgumentType]
        self.types[name] = type_


def network(seed: int, *, count: int = 14, lies: float = 0.0) -> Graph:
    """About so many ops over inputs and constants; several results.  lies: how often an op gives another shape than it announces."""
    rng = Random(seed)
    net, b = _Network(rng, lies), Builder()
    numbers = np.random.default_rng(seed)
    tensors, entries = dict[str, TensorSource](), dict[str, np.ndarray]()
    for i in range(5):
        shape = tuple(rng.choice((1, 2, 3, 5, 8, 17)) for _ in range(rng.choice((1, 2, 2, 3, 3, 4))))
        type_, held = TensorType(shape, rng.choice(("Float32", "Float32", "Float16_b"))), i > 2
        name = f"{'w' if held else 'x'}{i}"
        source = TensorSource.of_array((numbers.standard_normal(shape) * 0.5).astype(np.float32), type_.format)
        b.queue(name, "constant" if held else "input", type_, key=name if held else None)
        net.types[name] = type_
        if held:
            tensors[name] = source
        else:
            entries[name] = source.value()
    for _ in range(count * 3):
        if len(net.ops) < count:
            net.add(*rng.choice(_CHOICES)(net))
    if not net.ops:
        net.add("map", ["x0"], {"fn": "neg"})
    names = [op.name for op in net.ops]
    written = dict.fromkeys([names[-1], *rng.sample(names, min(3, len(names)))])
    outputs = {"y" if i == 0 else f"y{i}": name for i, name in enumerate(written)}
    for queue, name in outputs.items():
        b.queue(queue, "output", net.types[name], source=name)
    b.graph("g", net.ops, [(name, queue) for queue, name in outputs.items()])
    return Graph(f"network {seed}", b.netlist(), tensors, entries, 3e-2)


def _unary(net: _Network) -> _Choice:
    return "map", [net.value()], {"fn": net.rng.choice(UNARY)}


def _in_python(net: _Network) -> _Choice:
    return net.rng.choice(("nn.cos", "nn.identity")), [net.value()], {}


def _binary(net: _Network) -> _Choice:
    first = net.value()
    alike = [n for n, t in net.types.items() if t.shape == net.shape(first)]
    return "map", [first, net.rng.choice(alike) if net.rng.random() < 0.7 else net.value()], {"fn": net.rng.choice(BINARY)}


def _cast(net: _Network) -> _Choice:
    return "cast", [net.value()], {}


def _matmul(net: _Network) -> _Choice:
    a = net.value()
    fits = [n for n, t in net.types.items() if len(t.shape) > 1 and t.shape[-2] == net.shape(a)[-1]] if net.shape(a) else []
    return "matmul", [a, net.rng.choice(fits or [net.value()])], {"transpose_a": False, "transpose_b": False}


def _gram(net: _Network) -> _Choice:
    a = net.value()
    return "matmul", [a, a], {"transpose_a": (first := net.rng.random() < 0.5), "transpose_b": not first}


def _transpose(net: _Network) -> _Choice:
    x = net.value()
    order = list(range(len(net.shape(x))))
    net.rng.shuffle(order)
    return "transpose", [x], {"perm": tuple(order)}


def _reshape(net: _Network) -> _Choice:
    x = net.value()
    shape = net.shape(x)
    choices = [(prod(shape),), (1, *shape), (*shape, 1), shape[::-1], (shape[0], prod(shape[1:])) if shape else (1,)]
    return "reshape", [x], {"shape": net.rng.choice(choices)}


def _slice(net: _Network) -> _Choice:
    x = net.value()
    starts, sizes, steps = [], [], []
    for size in net.shape(x):
        step = net.rng.choice((1, 1, 1, 2, -1))
        count = net.rng.randint(1, max(-(-size // abs(step)), 1))
        reach = (count - 1) * abs(step)
        low = net.rng.randint(0, max(size - 1 - reach, 0))
        starts.append(low if step > 0 else low + reach)
        sizes.append(count)
        steps.append(step)
    return "slice", [x], {"starts": tuple(starts), "sizes": tuple(sizes), "steps": tuple(steps)}


def _concat(net: _Network) -> _Choice:
    x = net.value()
    alike = [n for n, t in net.types.items() if t.shape == net.shape(x)]
    return "concat", [x, *net.rng.choices(alike, k=net.rng.choice((1, 2)))], {"axis": net.rng.randrange(max(len(net.shape(x)), 1))}


def _softmax(net: _Network) -> _Choice:
    return net.rng.choice(("softmax", "log_softmax")), [net.value()], {"axis": net.rng.choice((-1, -1, 0))}


def _norm(net: _Network) -> _Choice:
    return "layer_norm", [net.value()], {"axis": -1, "eps": 1e-3}


def _reduce(net: _Network) -> _Choice:
    x = net.value()
    axis = net.rng.randrange(max(len(net.shape(x)), 1))
    return "reduce", [x], {"fn": net.rng.choice(("sum", "mean", "max", "min")), "axes": (axis,), "keepdims": net.rng.random() < 0.5}


def _stacks(net: _Network) -> _Choice:
    if net.rng.random() < 0.5:
        return "hslice", [net.value()], {"n": net.rng.choice((1, 2, 3, 5))}
    x = net.value(3)
    return "hstack", [x], {"n": net.shape(x)[-3] if len(net.shape(x)) > 2 else 1}


def _pad(net: _Network) -> _Choice:
    x = net.value()
    amounts = [tuple(net.rng.choice((0, 0, 1, 2)) for _ in net.shape(x)) for _ in range(2)]
    return "pad", [x], {"before": amounts[0], "after": amounts[1], "value": 0.5}


def _broadcast(net: _Network) -> _Choice:
    x = net.value()
    return "broadcast", [x], {"shape": (2, *(3 if size == 1 else size for size in net.shape(x)))}


def _pool(net: _Network) -> _Choice:
    attrs: dict[str, Plain] = {"kernel": (2, 2), "strides": (1, 2), "pads": (1, 0, 0, 1), "dilations": (1, 1), "ceil_mode": False}
    return "max_pool2d", [net.value(4)], attrs


def _conv(net: _Network) -> _Choice:
    x = net.value(4)
    fits = [n for n, t in net.types.items() if len(t.shape) == 4 and len(net.shape(x)) == 4 and t.shape[2] == net.shape(x)[3]]
    attrs: dict[str, Plain] = {"strides": (1, 1), "pads": (2, 2, 2, 2), "dilations": (1, 1), "groups": 1}
    return "conv2d", [x, net.rng.choice(fits or [x])], attrs


_CHOICES: tuple[Callable[[_Network], _Choice], ...] = (
    *(_unary, _unary, _in_python, _binary, _binary, _binary, _cast, _matmul, _matmul, _gram, _transpose, _transpose, _reshape, _reshape),
    *(_slice, _slice, _concat, _concat, _softmax, _norm, _reduce, _stacks, _stacks, _pad, _broadcast, _pool, _conv),
)
