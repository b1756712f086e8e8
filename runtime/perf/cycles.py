"""Cycles that one core needs for its share of an op: the arithmetic, and the bytes that pass through its pipes.

A rule is a function `cycles_<mnemonic>(view, share, table)` giving arithmetic cycles; ops without a rule of their own cost a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain import TensorType, Work
from ttc.runtime.perf.base import PHASES, OpView, Share, costs

Rule = Callable[[OpView, Share, dict[str, Any]], float]

PASSES = 3
"""Times, at most, that an op of whole rows reads an input it cannot hold: for two statistics, and for the result."""


def cycles(view: OpView, share: Share, arch: str) -> int:
    """Cycles a microbatch on one core, arithmetic and data movement overlapped."""
    table = costs(arch)
    rule: Rule = _RULES.get(view.op, cycles_copy)
    return int(max(rule(view, share, table), 1.0))


def _tiles(type_: TensorType) -> int:
    return prod(type_.tile_dims()) if type_.layout != "rows" else -(-type_.elements // 1024)


def _map(table: dict[str, Any], function: str) -> dict[str, float]:
    return table["map"].get(function, table["map"]["default"])


def cycles_copy(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Data movement alone."""
    rate = _map(table, "identity")
    return share.blocks * rate["block"] + share.tiles * rate["tile"]


def cycles_map(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """One elementwise function over the share."""
    rate = _map(table, str(view.attrs.get("fn", "default")))
    return share.blocks * rate["block"] + share.tiles * rate["tile"]


def cycles_eltwise(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Each function of the region over the share; intermediates stay in the destination register."""
    works: tuple[Work, ...] = view.body.works if view.body is not None else ()
    functions = [str(work.attrs.get("fn", "identity")) for work in works if not work.op.startswith("ttc.")]
    rates = [_map(table, name) for name in functions]
    return sum(rate["tile"] * share.tiles for rate in rates) + share.blocks * max((r["block"] for r in rates), default=0.0)


def _products(view: OpView, share: Share, inner_tiles: int, table: dict[str, Any]) -> float:
    rate = table["matmul"]
    ublock_cols = share.ublock[1]
    product = share.tiles * inner_tiles * rate["product"] * PHASES[view.fidelity]
    unpack = share.blocks * inner_tiles * share.ublock[0] * (1 + ublock_cols) * rate["unpack"]
    return max(product, unpack) + share.blocks * rate["block"] + share.tiles * rate["spill"]


def cycles_matmul(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Tile products over the inner dimension, and the activation on the result."""
    left = view.operand(0)
    inner = left.shape[-2] if view.attrs.get("transpose_a") else left.shape[-1]
    products = left.shape[-3] if view.attrs.get("accumulate") else 1
    return _products(view, share, products * -(-inner // 32), table) + _activation(view, share, table)


def cycles_sparse_matmul(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Products with the tiles of the selection that are not zero: those of a tile's rows, as far apart as neighbouring rows lie."""
    sizes, steps, terms = _numbers(view.attrs["sizes"]), _numbers(view.attrs["steps"]), _numbers((view.attrs["terms"],))[0]
    apart = abs(steps[-1]) if steps else 0
    return _products(view, share, prod(sizes[:terms]) * (apart + 1), table)


def cycles_depthwise(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """A product with a diagonal tile a tap, or the reading of those tiles."""
    taps = view.operand(0).shape[0]
    arithmetic = share.tiles * taps * table["depthwise"]["product"] + _activation(view, share, table)
    return max(arithmetic, _reread(view, share, share.cols * taps, table))


def cycles_conv2d(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """An implicit matmul over taps and input channels, or the reading of its input once a tap; a depthwise one runs on the vector path."""
    kernel_h, kernel_w, channels, _ = view.operand(1).shape
    taps = kernel_h * kernel_w
    if channels == 1 and int(view.attrs.get("groups") or 1) > 1:  # pyright: ignore[reportArgumentType]
        arithmetic = share.tiles * taps * table["depthwise"]["product"] + _activation(view, share, table)
        return max(arithmetic, _reread(view, share, share.cols * taps, table))
    inner = taps * -(-channels // 32)
    arithmetic = _products(view, share, inner, table) + _activation(view, share, table)
    return max(arithmetic, _reread(view, share, inner, table))


def _reread(view: OpView, share: Share, tiles: int, table: dict[str, Any]) -> float:
    """Cycles to read `tiles` tiles of the input for each row of tiles of the share, if it reads its input several times; else 0."""
    if not share.reread:
        return 0.0
    tile_bytes = format_named(view.operand(0).format).tile_bytes(32, 32, 32)
    return share.t * share.rows * tiles * tile_bytes / table["pipe_bytes_per_cycle"]


def cycles_conv_transpose2d(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """An implicit matmul over the taps that meet each output."""
    kernel_h, kernel_w, _, _ = view.operand(1).shape
    stride_h, stride_w = _pair(view.attrs["strides"])
    inner = -(-kernel_h // stride_h) * -(-kernel_w // stride_w) * -(-view.operand(0).shape[-1] // 32)
    return max(_products(view, share, inner, table), _reread(view, share, inner, table))


def cycles_attention(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Scores, softmax over them, and the weighted sum of values."""
    depth, keys = -(-view.operand(0).shape[-1] // 32), -(-view.operand(1).shape[-2] // 32)
    rows = share.t * share.rows
    products = rows * keys * (depth + share.cols) * table["matmul"]["product"] * PHASES[view.fidelity]
    return products + rows * keys * (_map(table, "exp")["tile"] + 2 * table["reduce"]["tile"] + 2 * _map(table, "mul")["tile"])


def cycles_softmax(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Maximum, exponential, sum and scaling."""
    per_tile = _map(table, "exp")["tile"] + 2 * table["reduce"]["tile"] + 2 * _map(table, "mul")["tile"]
    return max(share.tiles * per_tile, _reread(view, share, PASSES * share.cols, table))


def cycles_layer_norm(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Mean, variance, scaling and shift: two reductions and four elementwise steps."""
    arithmetic = share.tiles * (2 * table["reduce"]["tile"] + 4 * _map(table, "mul")["tile"])
    return max(arithmetic, _reread(view, share, PASSES * share.cols, table))


def cycles_reduce(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """Every tile of the operand once, shared among the cores as the result is."""
    ratio = _tiles(view.operand(0)) / max(_tiles(view.result), 1)
    return share.tiles * ratio * table["reduce"]["tile"]


def cycles_max_pool2d(view: OpView, share: Share, table: dict[str, Any]) -> float:
    """One elementwise step a tap, or the reading of its input once a tap."""
    kernel_h, kernel_w = _pair(view.attrs["kernel"])
    arithmetic = share.tiles * kernel_h * kernel_w * _map(table, "add")["tile"]
    return max(arithmetic, _reread(view, share, share.cols * kernel_h * kernel_w, table))


def _activation(view: OpView, share: Share, table: dict[str, Any]) -> float:
    function = view.attrs.get("activation")
    return share.tiles * _map(table, str(function))["tile"] if function else 0.0


def _numbers(value: object) -> tuple[int, ...]:
    if isinstance(value, tuple) and all(isinstance(x, int) for x in value):
        return value
    raise ValueError(f"{value!r} is no list of numbers")


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, tuple) and len(value) == 2:
        return int(value[0]), int(value[1])
    raise ValueError(f"{value!r} is not a pair")


_RULES: dict[str, Rule] = {name.removeprefix("cycles_"): rule for name, rule in list(globals().items()) if name.startswith("cycles_")}
_RULES |= {"avg_pool2d": cycles_max_pool2d, "log_softmax": cycles_softmax, "rms_norm": cycles_layer_norm}
