"""Small random modules of dialect nn, whose results depend little on rounding: what property tests of the pipeline start from.

`modules()` is a hypothesis strategy.  A module has one to three inputs and up to a dozen steps, each an op or a pattern that passes look
for, on values made before; weights are random by a seed that the module names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.attributes import LiteralAttr, WeightAttr
from ttc.dialects.core.ir.entries import Port, finish_function, make_function, set_module_attr
from ttc.dialects.core.ir.leaves import ConstantOp, ParamOp
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.nn.base import ops

FLOAT = np.dtype(np.float32)
MAX_SIZE = 9
MAX_ELEMENTS = 2048
"""Of a value."""
MAX_STEPS = 12
UNARY = ("relu", "tanh", "sigmoid", "neg", "abs", "silu", "gelu_tanh", "erf", "sin", "cos", "identity", "softplus", "hard_swish")
WITH_ARGS: dict[str, dict[str, Any]] = {
    "gelu": {"approximate": "none"},
    "leaky_relu": {"alpha": 0.1},
    "elu": {"alpha": 1.0},
    "hard_sigmoid": {"alpha": 0.2, "beta": 0.5},
    "clip": {"min": -1.0, "max": 2.0},
}
BINARY = ("add", "mul", "sub", "maximum", "minimum")


@dataclass
class Network:
    """A module that grows: a function's body, and the floating-point values in it that steps may read."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    function: Any
    values: list[SSAValue]
    made: int = 0
    outputs: list[SSAValue] = field(default_factory=list)

    def among(self, choices: Sequence[Any]) -> Any:
        """One of the choices; the first is the simplest."""
        return self.draw(st.sampled_from(choices))

    def size(self, least: int, most: int) -> int:
        """A number in [least, most]."""
        return self.draw(st.integers(least, most))

    def flag(self) -> bool:
        """A truth."""
        return self.draw(st.booleans())

    def pick(self, fits: Callable[[tuple[int, ...]], bool] = lambda shape: True) -> SSAValue | None:
        """A value of a shape that fits, the last one is the simplest; None if there is none."""
        found = [value for value in reversed(self.values) if fits(shape_of(value))]
        return self.among(found) if found else None

    def op(self, mnemonic: str, *operands: SSAValue | None, **attrs: Any) -> SSAValue:
        """The first result of a new op at the end."""
        return self.op_all(mnemonic, *operands, **attrs)[0]

    def op_all(self, mnemonic: str, *operands: SSAValue | None, **attrs: Any) -> Sequence[SSAValue]:
        """All results of a new op at the end."""
        made = ops()[mnemonic].build(*operands, location=self._location(mnemonic), **attrs)
        self.function.body.block.add_op(made)
        return made.results

    def weight(self, *shape: int) -> SSAValue:
        """A constant or a parameter."""
        kind, spec, key = self.among((ConstantOp, ParamOp)), Spec(shape, FLOAT), f"w{self.made}"
        named = {"sym": key} if kind is ParamOp else {}
        return self._leaf(kind.make((), {"value": WeightAttr.of(key, spec), **named}, [tensor_type(spec)], self._location("weight")))

    def literal(self, value: float | Sequence[int], dtype: str = "float32") -> SSAValue:
        """A small constant."""
        array = np.asarray(value, dtype)
        type_ = tensor_type(Spec(array.shape, array.dtype))
        return self._leaf(ConstantOp.make((), {"value": LiteralAttr.of(array)}, [type_], self._location("literal")))

    def _leaf(self, op: Any) -> SSAValue:
        self.function.body.block.add_op(op)
        return op.results[0]

    def _location(self, stem: str) -> Any:
        self.made += 1
        return named_location(f"/{stem}_{self.made}")


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value's type."""
    return spec_of(value.type).shape


def has_rank(*ranks: int) -> Callable[[tuple[int, ...]], bool]:
    """Whether a shape is of one of the ranks."""
    return lambda shape: len(shape) in ranks


# ---- steps: each gives a value, or None where nothing fits -------------------------------------------------------------------------


def unary(n: Network) -> SSAValue | None:
    name = n.among((*UNARY, *WITH_ARGS))
    return n.op(name, n.pick(), **WITH_ARGS.get(name, {}))


def tame(n: Network) -> SSAValue | None:
    """Functions that are not smooth everywhere, where they are."""
    x, name = n.pick(), n.among(("exp", "sqrt", "rsqrt", "log", "reciprocal"))
    if name == "exp":
        return n.op("exp", n.op("tanh", x))
    return n.op(name, n.op("add", n.op("abs", x), n.literal(0.5)))


def binary_weight(n: Network) -> SSAValue | None:
    """With a constant that broadcasts to the value, or makes it larger."""
    x = n.pick()
    assert x is not None
    shape = [1 if n.flag() else size for size in shape_of(x)][n.size(0, len(shape_of(x))) :]
    w = n.literal(n.among((2.0, 1.0, 0.0, 0.5, -1.0))) if n.flag() else n.weight(*shape)
    return n.op(n.among(BINARY), *((x, w) if n.flag() else (w, x)))


def binary(n: Network) -> SSAValue | None:
    """Of two values that broadcast: residuals among them."""
    a = n.pick()
    assert a is not None
    b = n.pick(lambda shape: broadcast(shape_of(a), shape))
    return n.op(n.among(BINARY), a, b)


def divide(n: Network) -> SSAValue | None:
    a = n.pick()
    assert a is not None
    b = n.pick(lambda shape: broadcast(shape_of(a), shape))
    return n.op("div", a, n.literal(n.among((2.0, 3.0)))) if n.flag() else n.op("div", a, n.op("add", n.op("abs", b), n.literal(1.0)))


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast, to something small."""
    try:
        return math.prod(np.broadcast_shapes(a, b)) <= MAX_ELEMENTS
    except ValueError:
        return False


def reduction(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    if x is None:
        return None
    axes = n.draw(st.lists(st.integers(0, len(shape_of(x)) - 1), min_size=1, unique=True))
    return n.op(n.among(("reduce_mean", "reduce_sum", "reduce_max", "reduce_min")), x, axes=tuple(axes), keepdims=n.flag())


def softmax(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    return x and n.op(n.among(("softmax", "log_softmax")), x, axis=n.size(-1, len(shape_of(x)) - 1))


def layer_norm(n: Network) -> SSAValue | None:
    x = n.pick(lambda shape: len(shape) > 0 and shape[-1] > 1)
    if x is None:
        return None
    scale, bias = n.weight(shape_of(x)[-1]), n.weight(shape_of(x)[-1])
    if n.flag():
        return n.op("layer_norm", x, scale, bias, axis=-1, eps=1e-2)
    centred = n.op("sub", x, n.op("reduce_mean", x, axes=(-1,), keepdims=True))
    variance = n.op("reduce_mean", n.op("mul", centred, centred), axes=(-1,), keepdims=True)
    root = n.op("sqrt", n.op("add", variance, n.literal(1e-2)))
    return n.op("add", n.op("mul", n.op("div", centred, root), scale), bias)


def matmul(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(2, 3, 4))
    if x is None:
        return None
    *_, rows, columns = shape_of(x)
    across, turned, wide = n.flag(), n.flag(), n.size(1, MAX_SIZE)
    inner = rows if across else columns
    w = n.weight(*((wide, inner) if turned else (inner, wide)))
    if not across and not turned and n.flag():
        return n.op("add", n.op("matmul", x, w, None, transpose_a=False, transpose_b=False), n.weight(wide))
    bias = n.weight(wide) if n.flag() else None
    return n.op("matmul", x, w, bias, transpose_a=across, transpose_b=turned)


def attention(n: Network) -> SSAValue | None:
    """softmax(x y^T / sqrt d) y of two values alike, the transpose by itself or as a flag."""
    x = n.pick(has_rank(2, 3, 4))
    y = x and n.pick(lambda shape: shape == shape_of(x))
    if x is None or y is None:
        return None
    *outer, depth = range(len(shape_of(x)))
    if n.flag():
        turned = n.op("transpose", y, perm=(*outer[:-1], depth, outer[-1]))
        scores = n.op("matmul", x, turned, None, transpose_a=False, transpose_b=False)
    else:
        scores = n.op("matmul", x, y, None, transpose_a=False, transpose_b=True)
    scaled = n.op("mul", scores, n.literal(1 / math.sqrt(shape_of(x)[-1])))
    return n.op("matmul", n.op("softmax", scaled, axis=-1), y, None, transpose_a=False, transpose_b=False)


def conv2d(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(4))
    if x is None:
        return None
    _, channels, height, width = shape_of(x)
    kernel = n.size(1, min(3, height)), n.size(1, min(3, width))
    groups = n.among(tuple(g for g in (1, channels) if channels % g == 0))
    made = groups * n.size(1, 3)
    return batch_norm(n, n.op(
        "conv2d", x, n.weight(made, channels // groups, *kernel), n.weight(made) if n.flag() else None,
        strides=(n.size(1, 2), n.size(1, 2)), pads=tuple(n.size(0, 1) for _ in range(4)), dilations=(1, 1), groups=groups, layout="nchw",
    ))  # fmt: skip


def batch_norm(n: Network, x: SSAValue) -> SSAValue:
    """Maybe normalize channels by constants."""
    if n.flag():
        return x
    return n.op("batch_norm", x, *[n.weight(shape_of(x)[1]) for _ in range(4)], eps=1e-3, axis=1)


def pool(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(4))
    if x is None:
        return None
    _, _, height, width = shape_of(x)
    kernel = (height, width) if n.flag() else (n.size(1, min(3, height)), n.size(1, min(3, width)))
    pads = tuple(n.size(0, 1) if k > 1 else 0 for k in (*kernel, *kernel))
    attrs = {"kernel": kernel, "strides": (n.size(1, 2), n.size(1, 2)), "pads": pads, "dilations": (1, 1), "ceil_mode": n.flag()}
    if n.flag():
        return n.op("max_pool2d", x, layout="nchw", **attrs)
    return n.op("avg_pool2d", x, layout="nchw", count_include_pad=n.flag(), **attrs)


def reshape(n: Network) -> SSAValue | None:
    x = n.pick()
    assert x is not None
    rest, shape = math.prod(shape_of(x)), []
    for _ in range(n.size(0, 3)):
        shape.append(n.among([size for size in range(1, MAX_SIZE + 1) if rest % size == 0]))
        rest //= shape[-1]
    return n.op("reshape", x, shape=(*shape, rest) if rest > 1 or not shape else tuple(shape))


def transpose(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    return x and n.op("transpose", x, perm=tuple(n.draw(st.permutations(range(len(shape_of(x)))))))


def slice_(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    if x is None:
        return None
    parts = [part(n, size) for size in shape_of(x)]
    starts, sizes, steps = zip(*parts, strict=True)
    return n.op("slice", x, starts=starts, sizes=sizes, steps=steps)


def part(n: Network, size: int) -> tuple[int, int, int]:
    """Start, size and step of a part of a dimension."""
    if n.flag():
        return 0, size, 1
    first = n.size(0, size - 1)
    last = n.size(0, size - 1)
    step = n.among((1, 2)) * (1 if last >= first else -1)
    return first, (last - first) // step + 1, step


def concat(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    if x is None:
        return None
    shape = shape_of(x)
    axis = n.size(0, len(shape) - 1)
    y = n.pick(
        lambda other: len(other) == len(shape) and all(i == axis or a == b for i, (a, b) in enumerate(zip(shape, other, strict=True)))
    )
    w = [n.weight(*shape)] if n.flag() else []
    return n.op("concat", x, y, *w, axis=axis)


def split(n: Network) -> SSAValue | None:
    """All parts can be read, the first one is given."""
    x = n.pick(lambda shape: len(shape) > 0 and shape[-1] > 1)
    if x is None:
        return None
    size = shape_of(x)[-1]
    first = n.size(1, size - 1)
    given, *rest = n.op_all("split", x, axis=-1, sizes=(first, size - first))
    n.values += rest
    return given


def pad(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    if x is None:
        return None
    before, after = ([n.size(0, 2) for _ in shape_of(x)] for _ in range(2))
    return n.op("pad", x, before=tuple(before), after=tuple(after), value=n.among((0.0, 1.5)), mode="constant")


def expand(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(0, 1, 2, 3))
    return x and n.op("expand", x, shape=(n.size(1, 4), *[n.size(1, 4) if size == 1 else size for size in shape_of(x)]))


def gather(n: Network) -> SSAValue | None:
    x = n.pick(has_rank(1, 2, 3, 4))
    if x is None:
        return None
    axis = n.size(0, len(shape_of(x)) - 1)
    places = n.draw(st.lists(st.integers(0, shape_of(x)[axis] - 1), min_size=1, max_size=4))
    return n.op("gather", x, n.literal(places[0] if n.flag() else places, "int64"), axis=axis)


def where(n: Network) -> SSAValue | None:
    """By the sign of an input, which no rounding changes."""
    source = n.among([a for a in n.function.body.block.args if math.prod(shape_of(a)) <= MAX_ELEMENTS])
    condition = n.op(n.among(("greater", "less_equal")), source, n.literal(0.0))
    a = n.pick(lambda shape: broadcast(shape_of(source), shape))
    return n.op("where", condition, *((a, n.literal(-0.5)) if n.flag() else (n.literal(0.5), a)))


STEPS: tuple[Callable[[Network], SSAValue | None], ...] = (
    unary, tame, binary_weight, binary, divide, reduction, softmax, layer_norm, matmul, attention, conv2d, pool, reshape, transpose,
    slice_, concat, split, pad, expand, gather, where,
)  # fmt: skip


@st.composite
def modules(draw: Callable[[st.SearchStrategy[Any]], Any]) -> ModuleOp:
    """A module at stage import: weights by a seed, one to three results."""
    sizes = st.integers(1, MAX_SIZE)
    shapes = draw(st.lists(st.lists(sizes, max_size=4).filter(lambda s: math.prod(s) <= MAX_ELEMENTS), min_size=1, max_size=3))
    arguments = [(Port(f"x{index}"), tensor_type(Spec(tuple(shape), FLOAT))) for index, shape in enumerate(shapes)]
    function = make_function("forward", arguments)
    network = Network(draw, function, list(function.body.block.args))
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=MAX_STEPS)):
        value = step(network)
        if value is not None and math.prod(shape_of(value)) <= MAX_ELEMENTS:
            network.values.append(value)
    last, *others = reversed(network.values)
    more = draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else []
    finish_function(function, [(Port(f"y{index}"), value) for index, value in enumerate((last, *more))])
    module = ModuleOp([function])
    set_module_attr(module, "seed", 0)
    set_module_attr(module, "stage", "import")
    return module
