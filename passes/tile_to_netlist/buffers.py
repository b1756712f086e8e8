"""L1 buffers that an op needs on one core, given the block it computes at a time.

A rule adds buffers to a need; `BUFFERS` has one for each op.
Sizes follow the reference: inputs of elementwise ops two blocks, matmul operands two K-blocks of rows and of columns, results two blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import lru_cache

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Buffer
from ttc.dialects.tile.facts import Role, facts
from ttc.dialects.tile.facts.role_tables import RoleTable
from ttc.runtime.perf.base import OpView
from ttc.runtime.perf.primitives import key_parts

SELECTION_TILES = 32
"""The most tiles of a selection of rows that differ from each other: one pattern comes again and again."""
MAX_INNER = 8
"""The most tiles of the inner dimension that a matmul keeps in L1 at a time, as long as nobody asks for more."""


@record(frozen=False)
class Need:
    """The buffers that an op needs: what a rule of buffers sees of the op, and what it fills in.

    Args:
        view: the op.
        rows, cols: tiles of the block of the result that one core computes at a time.
        alignment: of tiles, in bytes.
        reread: whether the op reads its input several times instead of holding it: the rows under a window, or the columns of whole rows.
        held: operands of which the core's share stays in L1 over all microbatches.
        share: (t, columns) of the result in tiles that one core computes in all its steps; (1, `cols`) if not given.
        kept: whether the rows of a product's left operand stay in L1 with all of K while the core passes over its columns.
        inner_limit: most tiles of K to take at a time.
        inner: (m_k, u_kt) of a matmul, set by its rule.
    """

    view: OpView
    rows: int
    cols: int
    alignment: int
    reread: bool = False
    held: frozenset[int] = frozenset()
    share: tuple[int, int] | None = None
    kept: bool = False
    inner_limit: int = MAX_INNER
    buffers: list[Buffer] = field(default_factory=list)
    inner: tuple[int, int] | None = None

    def add(self, role: str, tiles: int, type_: TensorType, copies: int = 2) -> None:
        """Add a buffer of tiles in the format of a tensor."""
        self.buffers.append(Buffer(role, tiles, self.tile_bytes(type_.format), copies))

    def add_out(self) -> None:
        """Add the double-buffered block of the result."""
        self.add("out", self.rows * self.cols, self.view.result)

    def add_intermediate(self, tiles: int) -> None:
        """Add a block of partial results."""
        self.buffers.append(Buffer("intermed", tiles, self.tile_bytes(self.view.intermediate), 1))

    def tile_bytes(self, format_: str) -> int:
        return _tile_bytes(format_, self.alignment)

    def all_cols(self) -> int:
        """The tile columns of the core's share, in all steps."""
        return self.cols if self.share is None else self.share[1]

    def add_columns(self, index: int, operand: TensorType) -> None:
        """Add a row that is applied to every row of the result, and so stays in L1."""
        self.add(f"in{index}", self.all_cols(), operand, 1)


@lru_cache(maxsize=256)
def _tile_bytes(format_: str, alignment: int) -> int:
    return format_named(format_).tile_bytes(32, 32, alignment)


@lru_cache(maxsize=4096)
def tile_dims(type_: TensorType) -> tuple[int, int, int]:
    """(t, rows, columns) in tiles, none of them 0.  Raises E0602."""
    t, rows, cols = type_.tile_dims()
    return max(t, 1), max(rows, 1), max(cols, 1)


Rule = Callable[[Need], None]
BUFFERS: RoleTable[Rule] = RoleTable("the buffers")
WHOLE_ROWS = frozenset(name for name, fact in facts().items() if fact.role is Role.NORMALIZATION)
"""Ops whose core reduces along the columns that it holds; partial results of a row of cores are combined."""

WITH_WEIGHTS = frozenset({"matmul", "conv2d", "conv_transpose2d"})
"""Products: ops whose second operand can be held in L1, and whose first can be kept there while its columns pass."""

WITH_INNER = WITH_WEIGHTS | {"sparse_matmul"}
"""Ops with an inner dimension of which a few tiles are taken at a time."""

REREADING = frozenset({"depthwise", *(name for name, fact in facts().items() if fact.role in (Role.WINDOW, Role.NORMALIZATION))})
"""Ops that can read an operand several times: once a tap of their window, or once for each statistic of a row and for the result."""

JOINED = frozenset({"attention"})
"""Ops of which cores that share the columns of a row meet a part of the inner dimension each, and join their sums."""


def fill(need: Need) -> Need:
    """Apply the op's rule; returns the need.  Raises E0302, E0503."""
    BUFFERS.of(need.view.op)(need)
    return need


@BUFFERS.rule(Role.VIEW, Role.MOVEMENT, Role.GATHER, Role.ELEMENTWISE, Role.CONVERSION, "topk", "encoded_matmul", "tile_depthwise")
def buffers_copy(need: Need) -> None:
    """Size the buffers of elementwise ops and data movement: a block of each operand, as far as the operand has that many tiles."""
    for index, operand in enumerate(need.view.operands):
        if operand is not None:
            t, rows, cols = operand.tile_dims()
            need.add(f"in{index}", max(min(need.rows, t * rows), 1) * max(min(need.cols, cols), 1), operand)
    need.add_out()


@BUFFERS.rule("matmul")
def buffers_matmul(need: Need) -> None:
    """Size the buffers of a product: two K-blocks of rows of the left operand and columns of the right one; partial sums if K takes
    several.
    """
    left = need.view.operand(0)
    k_tiles = -(-(left.shape[-2] if need.view.attrs.get("transpose_a") else left.shape[-1]) // 32)
    products = left.shape[-3] if need.view.attrs.get("accumulate") else 1
    _multiply(need, need.rows, k_tiles, k_tiles * products)


@BUFFERS.rule("sparse_matmul")
def buffers_sparse_matmul(need: Need) -> None:
    """Size the buffers of a selection: a K-block of rows of the activations, partial sums, and those tiles of the selection that differ."""
    source = need.view.operand(0)
    t, rows, _ = source.tile_dims()
    inner = next(d for d in range(min(need.inner_limit, max(t * rows, 1)), 0, -1) if t * rows % d == 0)
    need.inner = (max(t * rows // inner, 1), inner)
    need.add("in0", inner * need.cols, source)
    need.add_intermediate(need.rows * need.cols + min(need.rows * inner, SELECTION_TILES))
    need.add_out()


@BUFFERS.rule("depthwise")
def buffers_depthwise(need: Need) -> None:
    """Size the buffers of a depthwise product: the block of one tap at a time, the weights as a diagonal tile a tap, and partial sums.

    Weights of all taps stay, or are read again for each block, a tap at a time.
    """
    taps = need.view.operand(0).shape[0]
    need.inner = (max(taps, 1), 1)
    need.add("in0", need.rows * need.cols, need.view.operand(0))
    if need.reread:
        need.add("in1", need.cols, need.view.operand(1))
    else:
        need.add("in1", taps * need.all_cols(), need.view.operand(1), 1)
    for index, operand in enumerate(need.view.operands[2:], 2):
        if operand is not None:
            need.add_columns(index, operand)
    if taps > 1:
        need.add_intermediate(need.rows * need.cols)
    need.add_out()


@BUFFERS.rule("conv2d")
def buffers_conv2d(need: Need) -> None:
    """Size the buffers of a convolution: image rows under the block with their halo (or, read again for each tap, one tap's pixels), by
    K-blocks.

    Weights of a tap and K-block.
    """
    image, weight = need.view.operand(0), need.view.operand(1)
    kernel_h, kernel_w, _, _ = weight.shape
    stride = _ints(need.view.attrs.get("strides"), (1, 1))
    dilation = _ints(need.view.attrs.get("dilations"), (1, 1))
    height, width = image.shape[1:3]
    rows_out = -(-need.rows * 32 // need.view.result.shape[2]) + 1
    rows_in = min((rows_out - 1) * stride[0] + (kernel_h - 1) * dilation[0] + 1, height)
    channels = -(-image.shape[-1] // 32)
    if weight.shape[2] == 1 and image.shape[-1] > 1:
        channels = min(channels, need.cols)
    window = need.rows if need.reread else -(-rows_in * width // 32)
    _multiply(need, window, channels, channels * kernel_h * kernel_w)


@BUFFERS.rule("conv_transpose2d")
def buffers_conv_transpose2d(need: Need) -> None:
    """Size the buffers of a transposed convolution, whose input rows are the output's divided by the stride; a tap meets at most as many
    pixels as the block has.
    """
    image, weight = need.view.operand(0), need.view.operand(1)
    kernel_h, kernel_w = weight.shape[:2]
    stride = _ints(need.view.attrs.get("strides"), (1, 1))
    rows_out = -(-need.rows * 32 // need.view.result.shape[2]) + kernel_h
    rows_in = min(-(-rows_out // stride[0]) + 1, image.shape[1])
    channels = -(-image.shape[-1] // 32)
    window = need.rows if need.reread else -(-rows_in * image.shape[2] // 32)
    _multiply(need, window, channels, channels * kernel_h * kernel_w)


def _multiply(need: Need, rows_in: int, block_limit: int, k_tiles: int) -> None:
    """Operands of an (implicit) matmul: `rows_in` tile rows of the left operand, K-blocks of a divisor of `block_limit` tiles.

    Weights that are held take all of K for the columns of the core.
    """
    inner = next(d for d in range(min(need.inner_limit, block_limit), 0, -1) if block_limit % d == 0)
    outer = max(k_tiles // inner, 1)
    if 1 in need.held and need.view.op in ("conv2d", "conv_transpose2d") and not need.reread:
        outer = max(block_limit // inner, 1)  # window and weights lie in L1: the taps of a K-block of channels are summed in one go
    need.inner = (outer, max(k_tiles // outer, 1))
    need.add("in0", rows_in * (block_limit if need.kept else inner), need.view.operand(0))
    weight = need.view.operand(1)
    if 1 in need.held:
        slices = 1 if need.share is None else min(tile_dims(weight)[0], need.share[0])
        need.add(
            "in1",
            k_tiles * need.all_cols() * (slices if need.view.op == "matmul" and not need.view.attrs.get("accumulate") else 1),
            weight,
            1,
        )
    else:
        need.add("in1", inner * need.cols, weight)
    for index, operand in enumerate(need.view.operands[2:], 2):
        if operand is not None:
            need.add_columns(index, operand)
    if need.inner[0] > 1:
        need.add_intermediate(need.rows * need.cols)
    need.add_out()


@BUFFERS.rule("max_pool2d", "avg_pool2d")
def buffers_max_pool2d(need: Need) -> None:
    """Size the buffers of a pool: image rows under the block with their halo (or, read again for each tap, the pixels of one tap)."""
    image = need.view.operand(0)
    kernel = _ints(need.view.attrs.get("kernel"), (1, 1))
    stride = _ints(need.view.attrs.get("strides"), (1, 1))
    rows_out = -(-need.rows * 32 // need.view.result.shape[2]) + 1
    rows_in = min((rows_out - 1) * stride[0] + kernel[0], image.shape[1])
    window = need.rows if need.reread else -(-rows_in * image.shape[2] // 32)
    need.add("in0", window * need.cols, image)
    need.add_out()


@BUFFERS.rule(Role.NORMALIZATION)
def buffers_softmax(need: Need) -> None:
    """Size the buffers of ops on rows: the block itself, a copy of it, and the row statistics; read again, the block is part of a row."""
    need.add("in0", need.rows * need.cols, need.view.operand(0))
    for index, operand in enumerate(need.view.operands[1:], 1):
        if operand is not None:
            need.add(f"in{index}", need.cols, operand, 2 if need.reread else 1)
    need.add_intermediate(need.rows * need.cols + 2 * need.rows)
    need.add_out()


@BUFFERS.rule("attention")
def buffers_attention(need: Need) -> None:
    """Size the buffers of attention: rows of q, a K-block of keys and values at a time with running statistics, and a block of the mask.

    Cores that meet a part of the keys each have sums of all columns, and what the others have of their own.
    """
    query, key, value = (need.view.operand(i) for i in range(3))
    depth, keys = -(-query.shape[-1] // 32), min(-(-key.shape[-2] // 32), MAX_INNER)
    parts = key_parts(need.view, need.all_cols())
    cols = need.cols * parts
    need.add("in0", need.rows * depth, query)
    need.add("in1", keys * depth, key)
    need.add("in2", keys * cols, value)
    if len(need.view.operands) > 3 and need.view.operands[3] is not None:
        need.add("in3", need.rows * keys, need.view.operand(3))
    need.add_intermediate(need.rows * (keys + cols + need.cols * (parts - 1) + 2 * parts))
    need.add_out()


@BUFFERS.rule("reduce")
def buffers_reduce(need: Need) -> None:
    """Size the buffers of a reduction: blocks of the operand pass through; partial results stay."""
    operand = need.view.operand(0)
    need.add("in0", need.rows * max(need.cols, 1), operand)
    need.add_intermediate(need.rows * need.cols)
    need.add_out()


def _ints(value: object, default: tuple[int, int]) -> tuple[int, int]:
    return (int(value[0]), int(value[1])) if isinstance(value, tuple) and len(value) >= 2 else default
