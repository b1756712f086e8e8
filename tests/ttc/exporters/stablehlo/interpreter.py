"""Executes StableHLO text with numpy, as far as exports write it: plainly, element by element where that is shorter."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from math import erf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Block
from xdsl.parser import Parser

from ttc.dialects.core.ir.spec import Spec, spec_of


def parsed(text: str) -> builtin.ModuleOp:
    """The module by xDSL's parser, which knows no op of StableHLO, and takes all in generic form.

    It takes the bits of infinite numbers for integers; here they become numbers too large for any dtype.
    """
    context = Context(allow_unregistered=True)
    context.load_dialect(builtin.Builtin)
    context.load_dialect(func.Func)
    infinite = re.sub(
        r"(?<=[<[ ])0x([7F])(?:C00|F80|F80{5}|FF0{13})(?=[],>])", lambda found: f"{'-' if found[1] == 'F' else ''}1.0e+999", text
    )
    module = Parser(context, infinite).parse_module()
    module.verify()
    return module


def interpreted(text: str, inputs: Sequence[NDArray]) -> list[NDArray]:
    """What the function `main` gives."""
    (main,) = parsed(text).body.block.ops
    with np.errstate(all="ignore"):
        return run_block(main.regions[0].block, inputs)


def run_block(block: Block, inputs: Sequence[NDArray]) -> list[NDArray]:
    """What the last op of a block gets; of elementwise ops on arrays as on scalars."""
    values: dict[Any, NDArray] = dict(zip(block.args, inputs, strict=True))
    op: Any
    for op in block.ops:
        operands = [values[operand] for operand in op.operands]
        name = op.name if isinstance(op, func.ReturnOp) else op.op_name.data.removeprefix("stablehlo.")
        if name in ("func.return", "return"):
            return operands
        made = KERNELS[name](op, *operands) if name in KERNELS else ELEMENTWISE[name](*operands)
        for result, value in zip(op.results, made if isinstance(made, list) else [made], strict=True):
            values[result] = np.asarray(value).astype(spec_of(result.type).dtype)
    raise AssertionError("a block without an end")


def quotient(a: NDArray, b: NDArray) -> NDArray:
    """a / b; of integers toward zero, and anything where b is 0."""
    return np.divide(a, b) if a.dtype.kind == "f" else np.trunc(np.divide(a, np.where(b == 0, 1, b))).astype(a.dtype)


ELEMENTWISE: dict[str, Callable[..., NDArray]] = {
    **{"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": quotient, "power": np.power, "remainder": np.fmod},
    **{"minimum": np.minimum, "maximum": np.maximum, "negate": np.negative, "abs": np.abs, "sign": np.sign},
    **{"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not, "select": np.where},
    **{"exponential": np.exp, "exponential_minus_one": np.expm1, "log": np.log, "log_plus_one": np.log1p, "sqrt": np.sqrt},
    **{"rsqrt": lambda x: 1 / np.sqrt(x), "sine": np.sin, "cosine": np.cos, "tanh": np.tanh, "logistic": lambda x: 1 / (1 + np.exp(-x))},
    **{"floor": np.floor, "ceil": np.ceil, "round_nearest_even": np.rint, "clamp": lambda low, x, high: np.clip(x, low, high)},
    **{"shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift, "shift_right_logical": np.right_shift},
    **{"chlo.sinh": np.sinh, "chlo.cosh": np.cosh, "chlo.asin": np.arcsin, "chlo.acos": np.arccos, "chlo.atan": np.arctan},
    **{"chlo.asinh": np.arcsinh, "chlo.acosh": np.arccosh, "chlo.atanh": np.arctanh, "chlo.erf": np.vectorize(erf, otypes=[np.float64])},
    "convert": lambda x: x,
}
COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}


# ---- attributes --------------------------------------------------------------------------------------------------------------------


def kind(op: Any) -> Spec:
    return spec_of(op.results[0].type)


def numbers(op: Any, name: str, default: Sequence[int] = ()) -> list[int]:
    """An attribute of integers."""
    found = op.attributes.get(name)
    if isinstance(found, builtin.DenseArrayBase):
        return [int(number) for number in found.get_values()]
    return list(default) if found is None else [found.value.data]


def margins(op: Any, rank: int) -> list[tuple[int, int]]:
    found = op.attributes.get("padding")
    values = [0] * 2 * rank if found is None else list(found.get_values())
    return [(int(values[2 * i]), int(values[2 * i + 1])) for i in range(rank)]


def field(op: Any, attribute: str, name: str) -> list[int]:
    """A list of integers, or an integer, of an attribute of StableHLO."""
    found = re.search(rf"\b{name} ?= ?(\[[^]]*\]|\d+)", op.attributes[attribute].value.data)
    return [] if found is None else [int(number) for number in re.findall(r"\d+", found[1])]


# ---- kernels -----------------------------------------------------------------------------------------------------------------------


def constant(op: Any) -> NDArray:
    attr, spec = op.attributes["value"], kind(op)
    values = np.array(attr.get_values(), np.float64 if spec.dtype.kind == "f" else object)
    return np.broadcast_to(values.reshape(spec.shape if values.size == spec.elements else ()), spec.shape)


def bordered(x: NDArray, pads: Sequence[tuple[int, int]], value: Any) -> NDArray:
    """x with margins; those below 0 cut elements off."""
    wide = np.pad(x, [(max(low, 0), max(high, 0)) for low, high in pads], constant_values=value)
    return wide[tuple(slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(pads, wide.shape, strict=True))]


def spread(op: Any, x: NDArray) -> NDArray:
    shape = [1] * len(kind(op).shape)
    for size, place in zip(x.shape, numbers(op, "broadcast_dimensions"), strict=True):
        shape[place] = size
    return np.broadcast_to(x.reshape(shape), kind(op).shape)


def cut(op: Any, x: NDArray) -> NDArray:
    entries = zip(*(numbers(op, name) for name in ("start_indices", "limit_indices", "strides")), strict=True)
    return x[tuple(slice(*entry) for entry in entries)]


def reduce(op: Any, *operands: NDArray) -> list[NDArray]:
    values, found = operands[: len(operands) // 2], list(operands[len(operands) // 2 :])
    axes = numbers(op, "dimensions")
    left = [axis for axis in range(values[0].ndim) if axis not in axes]
    shape = [values[0].shape[axis] for axis in left]
    rows = [value.transpose(*left, *axes).reshape(*shape, int(np.prod([value.shape[axis] for axis in axes]))) for value in values]
    found = [np.broadcast_to(first, shape) for first in found]
    for place in range(rows[0].shape[-1]):
        found = run_block(op.regions[0].block, [*found, *(row[..., place] for row in rows)])
    return found


def reduce_window(op: Any, x: NDArray, first: NDArray) -> NDArray:
    ones = [1] * x.ndim
    sizes, strides, gaps = (numbers(op, f"window_{name}", ones) for name in ("dimensions", "strides", "dilations"))
    wide, found = bordered(x, margins(op, x.ndim), first), np.broadcast_to(first, kind(op).shape)
    for tap in np.ndindex(*sizes):
        starts = [place * gap for place, gap in zip(tap, gaps, strict=True)]
        window = tuple(slice(at, at + (n - 1) * jump + 1, jump) for at, n, jump in zip(starts, found.shape, strides, strict=True))
        (found,) = run_block(op.regions[0].block, [found, wide[window]])
    return found


def dot(op: Any, a: NDArray, b: NDArray) -> NDArray:
    names = [
        [field(op, "dot_dimension_numbers", f"{side}_{role}_dimensions") for role in ("batching", "contracting")] for side in ("lhs", "rhs")
    ]
    letters = ["abcdefgh"[: a.ndim], list("nopqrstu"[: b.ndim])]
    for left, right in zip(*(roles[0] + roles[1] for roles in names), strict=True):
        letters[1][right] = letters[0][left]
    free = [
        "".join(x for axis, x in enumerate(side) if axis not in roles[0] + roles[1]) for side, roles in zip(letters, names, strict=True)
    ]
    batch = "".join(letters[0][axis] for axis in names[0][0])
    return np.einsum(f"{letters[0]},{''.join(letters[1])}->{batch}{free[0]}{free[1]}", a, b)


def convolution(op: Any, x: NDArray, w: NDArray) -> NDArray:
    orders = [re.findall(r"\w", part) for part in re.findall(r"\[([^]]*)\]", op.attributes["dimension_numbers"].value.data)]
    x = x.transpose([orders[0].index(name) for name in "b01f"])
    w = w.transpose([orders[1].index(name) for name in "01io"])
    strides, gaps, apart = (numbers(op, name, (1, 1)) for name in ("window_strides", "rhs_dilation", "lhs_dilation"))
    (groups,) = numbers(op, "feature_group_count")
    image = np.zeros((x.shape[0], *((n - 1) * gap + 1 for n, gap in zip(x.shape[1:3], apart, strict=True)), x.shape[3]), x.dtype)
    image[:, :: apart[0], :: apart[1]] = x
    image = bordered(image, [(0, 0), *margins(op, 2), (0, 0)], 0)
    counts = [kind(op).shape[orders[2].index(name)] for name in "01"]
    found = np.zeros((x.shape[0], *counts, w.shape[3]), x.dtype)
    parts = found.reshape(*found.shape[:3], groups, -1)
    for tap in np.ndindex(*w.shape[:2]):
        window = tuple(
            slice(at * gap, at * gap + (n - 1) * jump + 1, jump) for at, gap, n, jump in zip(tap, gaps, counts, strides, strict=True)
        )
        seen = image[:, *window].reshape(*found.shape[:3], groups, w.shape[2])
        parts += np.einsum("bhwgi,igo->bhwgo", seen, w[tap].reshape(w.shape[2], groups, -1))
    return found.transpose(["b01f".index(name) for name in orders[2]])


def gather(op: Any, x: NDArray, indices: NDArray) -> NDArray:
    """For slices that are whole but for the dimensions that are indexed."""
    offsets, targets, (depth,) = (field(op, "dimension_numbers", name) for name in ("offset_dims", "start_index_map", "index_vector_dim"))
    found, index = np.empty(kind(op).shape, x.dtype), indices.reshape(*indices.shape[:depth], -1)
    moved = found.transpose([axis for axis in range(found.ndim) if axis not in offsets] + offsets)
    for place in np.ndindex(*index.shape[:-1]):
        at: list[Any] = [slice(None)] * x.ndim
        for axis, start in zip(targets, index[place], strict=True):
            at[axis] = min(max(int(start), 0), x.shape[axis] - 1)
        moved[place] = x[tuple(at)]
    return found


def scatter(op: Any, x: NDArray, indices: NDArray, updates: NDArray) -> NDArray:
    """For indices whose last dimension holds places of the first dimensions of x."""
    windows, found = field(op, "scatter_dimension_numbers", "update_window_dims"), x.copy()
    for place in np.ndindex(*updates.shape):
        start = indices[tuple(n for axis, n in enumerate(place) if axis not in windows)]
        at = (*map(int, start), *(place[axis] for axis in windows))
        (found[at],) = run_block(op.regions[0].block, [found[at], updates[place]])
    return found


def sort(op: Any, *values: NDArray) -> list[NDArray]:
    (axis,), found = numbers(op, "dimension"), [value.copy() for value in values]

    def before(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
        return bool(run_block(op.regions[0].block, [np.asarray(x) for pair in zip(left, right, strict=True) for x in pair])[0])

    lanes = [np.moveaxis(value, axis, -1) for value in found]
    for place in np.ndindex(*lanes[0].shape[:-1]):
        rows = sorted(zip(*(lane[place] for lane in lanes), strict=True), key=cmp_to_key(lambda a, b: before(b, a) - before(a, b)))
        for lane, column in zip(lanes, zip(*rows, strict=True), strict=True):
            lane[place] = column
    return found


def pad(op: Any, x: NDArray, value: NDArray) -> NDArray:
    return bordered(x, list(zip(numbers(op, "edge_padding_low"), numbers(op, "edge_padding_high"), strict=True)), value)


KERNELS: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": spread,
    "compare": lambda op, a, b: COMPARISONS[re.findall(r"[A-Z]{2}", op.attributes["comparison_direction"].value.data)[0]](a, b),
    "concatenate": lambda op, *xs: np.concatenate(xs, numbers(op, "dimension")[0]),
    "constant": constant,
    "convolution": convolution,
    "dot_general": dot,
    "gather": gather,
    "iota": lambda op: np.indices(kind(op).shape)[numbers(op, "iota_dimension")[0]],
    "pad": pad,
    "reduce": reduce,
    "reduce_window": reduce_window,
    "reshape": lambda op, x: x.reshape(kind(op).shape),
    "reverse": lambda op, x: np.flip(x, tuple(numbers(op, "dimensions"))),
    "scatter": scatter,
    "slice": cut,
    "sort": sort,
    "bitcast_convert": lambda op, x: x.view(kind(op).dtype),
    "transpose": lambda op, x: x.transpose(numbers(op, "permutation")),
}
