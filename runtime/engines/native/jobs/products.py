"""From views to jobs of matrix products: packing of right operands, joining of dimensions, cutting into tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT, View, dense_strides
from ttc.runtime.engines.native.ir.regions import supported
from ttc.runtime.engines.native.jobs.copies import copy
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import LONG_SPAN, SPAN, Block, Multiplier, block_for, fetches_panels
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.operands import TENSORS, RowKernel
from ttc.runtime.engines.native.kernels.packing import ROWS, PackColumns, Packing, PackRows
from ttc.runtime.engines.native.kernels.words import batch_words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu
    from ttc.runtime.engines.native.kernels.amx_pack import PackPanels
    from ttc.runtime.engines.native.kernels.words import Word

FLOATS = ("f32", "bf16", "f16")
"""Storages that operands of products in float32 have."""
TASK_FLOPS = 400_000
"""The least FLOPs of a task, if there are several: 3 to 5 microseconds; half as many with narrower vectors."""
TASK_BYTES = 64 << 10
"""The least bytes of all operands of a task: they take as long as TASK_FLOPS, where memory is what takes time."""
TASKS = 96
"""The most tasks of a product, except for batches: enough for 16 threads."""
_NEAR_BYTES = 640 << 10
"""The most bytes of a right operand that stays in the second-level cache beside the rows that meet it."""
_FETCHING_NEAR_BYTES = 256 << 10
"""The most bytes of a right operand that stays in that cache where kernels fetch panels: CPUs with narrower vectors often have second-level
caches of 512 KiB or less.
"""
_FETCHING_TASKS = 48
"""The most tasks of a product whose panels are fetched: fewer, as the first panel of a task is fetched by none."""
_FETCHING_BLOCKS = 16
"""The most blocks of rows whose panels are fetched on other CPUs: while more are multiplied, the hardware fetches what comes next."""
_BATCH_DIMENSIONS = 4
_ROW_DIMENSIONS = 5
"""The most dimensions that number the rows which are rewritten."""
_PLAIN_ACTIVATIONS = ("gelu", "relu", "sigmoid", "silu", "tanh")
"""Without arguments: nothing has to be asked of their kernels, whose import takes longer than the load of a small program."""


@record
class Panels:
    """A packed right operand, in panels of columns.

    Args:
        view: [batch..., bytes of the panels of one element], of panels of `block.columns` columns.
        depth: channels, all taps together.
    """

    view: View
    block: Block
    depth: int
    columns: int

    @property
    def element_bytes(self) -> int:
        """Bytes of one element of the batch."""
        return self.view.shape[-1] * self.view.item_bytes

    @property
    def multiplier(self) -> Multiplier:
        """How what is packed as floating point is multiplied."""
        return "bf16" if self.view.storage == "bf16" else "f32"


@record
class ProductSplit:
    """How a product is cut into tasks."""

    row_chunks: int
    panel_chunks: int
    panels_outside: bool


def multiplier_of(n: Lowering, depth: int) -> Multiplier:
    """Return how the CPU multiplies at the precision of the op.  depth: channels of a tap: only whole pairs can be multiplied as
    bfloat16.
    """
    narrow = n.node.op.precision == "bfloat16" and n.cpu.has("avx512bf16") and n.cpu.vector_bytes == 64
    return "bf16" if narrow and depth % 2 == 0 else "f32"


def span_of(n: Lowering) -> int:
    """Return how many products are added up one after the other at the precision of the op, where that takes time."""
    return LONG_SPAN if n.node.op.precision in ("high", "bfloat16") and fetches_panels(n.cpu) else SPAN


def left_operand(n: Lowering, a: View, storage: Storage) -> View:
    """Return a in the type that is read, its last dimension dense."""
    if a.storage not in FLOATS:
        raise NotTaken(f"operands in {a.storage}")
    if a.storage == storage and (a.strides[-1] == 1 or a.shape[-1] == 1):
        return a
    target = n.temp(a.shape, storage)
    copy(n, a, target)
    return target


def packed(n: Lowering, b: View, block: Block, multiplier: Multiplier) -> Panels:
    """Return b[batch..., depth, columns] in panels; equal elements of the batch once."""
    b = right_operand(b)
    by_rows = b.strides[-1] == 1 or b.shape[-1] == 1
    if not by_rows and b.strides[-2] != 1 and b.shape[-2] != 1:
        b, by_rows = n.densified(b), True
    *batch, depth, columns = b.shape
    panels = block.panels(columns)
    target = n.temp((*batch, panels * depth * block.columns), multiplier)
    dims = dims_of(batch, (b, target))
    kernel = (PackRows if by_rows else PackColumns)(block.columns, block.lanes, b.storage, multiplier, len(dims))
    tasks = -(-depth // ROWS) if by_rows else panels
    line = (b.strides[-2] if by_rows else b.strides[-1]) * b.item_bytes
    words = {"depth": depth, "columns": columns, "line": line, "tasks": tasks}
    submit_packing(n, kernel, (b, target), dims, words, tasks)
    return Panels(target, block, depth, columns)


def right_operand(b: View) -> View:
    """Return b[batch..., depth, columns] with equal elements of the batch once. Raises NotTaken for other types than floats."""
    if b.storage not in FLOATS:
        raise NotTaken(f"operands in {b.storage}")
    return batch_once(b)


def batch_once(b: View) -> View:
    """Return b[batch..., depth, columns] with equal elements of the batch once."""
    for axis, stride in enumerate(b.strides[:-2]):
        b = b.sliced(axis, 0, 1) if stride == 0 else b
    return b


def dims_of(shape: Sequence[int], views: Sequence[View], only: Iterable[int] | None = None) -> list[tuple[int, ...]]:
    """Return dimensions of views, of these sizes: size, and stride of each view in bytes; neighbours joined, none of size 1.  only:
    which.
    """
    axes = range(len(shape)) if only is None else only
    return joined([(shape[i], *(view.strides[i] * view.item_bytes for view in views)) for i in axes if shape[i] != 1])


def submit_packing(
    n: Lowering,
    kernel: Packing | PackPanels,
    views: tuple[View, View],
    dims: Sequence[tuple[int, ...]],
    words: Mapping[str, Word],
    tasks: int,
) -> None:
    """Add the job that packs a right operand.  views: source, target.  dims: of the batch.  tasks: of one of its elements."""
    source, target = views
    whole = {**words, "source": source, "target": target, **batch_words(TENSORS, dims)}
    moved = sum(view.elements * view.item_bytes for view in views)
    total = tasks * prod(size for size, *_ in dims)
    n.job(kernel, whole, tasks=total, written=[target], moved_bytes=moved)


def rewritten_rows(n: Lowering, a: View, target: View, kernel: Callable[[int], RowKernel]) -> View:
    """Return rows a[..., depth] as a kernel writes them into target[..., elements].  kernel: for so many dimensions that number the
    rows.
    """
    if a.storage not in FLOATS:
        raise NotTaken(f"operands in {a.storage}")
    a = a if a.strides[-1] == 1 or a.shape[-1] == 1 else n.densified(a)
    dims = dims_of(a.shape[:-1], (a, target))
    if len(dims) > _ROW_DIMENSIONS:
        raise NotTaken(f"rows in {len(dims)} dimensions")
    made = kernel(len(dims))
    words = {"source": a, "target": target, "depth": a.shape[-1], **batch_words(TENSORS, dims)}
    rows = prod(a.shape[:-1])
    moved = a.elements * a.item_bytes + rows * made.written_bytes(a.shape[-1])
    n.job(made, words, tasks=rows, written=[target], moved_bytes=moved)
    return target


def first_region(n: Lowering, bias: bool) -> Region:
    """Return what the op itself does with a sum: bias, activation, rounding to what it stores. Raises NotTaken for an unknown
    activation.
    """
    own = (n.node.region or n.region).inputs[0]
    steps: list[RegionStep] = []
    if bias:
        steps.append(RegionStep("add", (0, 1), "f32"))
    activation = n.attr("activation")
    inputs = 2 if bias else 1
    if activation is not None:
        args = n.attr("activation_args", ())
        numbers = tuple(float(x) for x in args if isinstance(x, int | float)) if isinstance(args, tuple) else ()
        attrs = {} if activation in _PLAIN_ACTIVATIONS and not numbers else activation_attrs(str(activation), numbers)
        steps.append(RegionStep(str(activation), (inputs if bias else 0,), "f32", tuple(sorted(attrs.items()))))
    if own != "f32":
        steps.append(RegionStep("cast", (inputs + len(steps) - 1 if steps else 0,), own))
    storages = ("f32", "f32") if bias else ("f32",)
    return Region(storages, tuple(steps), inputs + len(steps) - 1 if steps else 0)


def whole_region(n: Lowering, bias: View | None) -> tuple[Region, list[View]]:
    """Return the region from the sum to what is stored, and its further operands in the shape of the result.

    Raises NotTaken for what regions cannot do."""
    first = first_region(n, bias is not None)
    if bias is not None:
        first = replace(first, inputs=("f32", bias.storage))
    region, others = joined_region(n, first, bias)
    reason = supported(region)
    if reason is not None:
        raise NotTaken(reason)
    return region, others


def joined_region(n: Lowering, first: Region, bias: View | None) -> tuple[Region, list[View]]:
    """Return what the op itself does, then what was fused into it, and all further operands in the shape of the result."""
    others = [] if bias is None else [bias.expanded(n.result_shape())]
    others += n.extras
    region = n.region.after(first)
    return replace(region, inputs=(region.inputs[0], *(view.storage for view in others))), others


def readable(n: Lowering, other: View) -> tuple[View, bool]:
    """Return an operand of the region as the kernel reads it, and whether all columns of a row are the same element."""
    if other.shape[-1] == 1 or other.strides[-1] == 1:
        return other, False
    if other.strides[-1] == 0:
        return other, True
    return n.densified(other), False


def multiply(n: Lowering, a: View, b: Panels, bias: View | None, multiplier: Multiplier) -> None:
    """Add the job of the node's result: the product of a[batch..., rows, depth] and panels, through the region."""
    shape = n.result_shape()
    region, views = whole_region(n, bias)
    a = a.expanded((*shape[:-1], a.shape[-1]))

    def kernel(block: Block, spread: tuple[bool, ...], dimensions: int) -> Gemm:
        return Gemm(block, DenseRows(), region, spread, dimensions, multiplier, span_of(n))

    submit_product(n, kernel, a, b, views, n.result(strided=True))


def submit_product(
    n: Lowering,
    kernel: Callable[[Block, tuple[bool, ...], int], Gemm],
    a: View,
    b: Panels,
    others: Sequence[View],
    c: View,
    more: Mapping[str, Word] | None = None,
) -> None:
    """Add the job of c[..., columns] = a[..., depth] times panels, and more.

    kernel: gives it for a block, for each further operand of its region whether all columns of a row are the same element, and the
    dimensions of the batch.  others: these operands, in the shape of c.  more: further words of the kernel.
    """
    found = [readable(n, view) for view in others]
    words, rows, batch = matrix_words(a, b.view, c, [view for view, _ in found])
    b = replace(b, block=b.block.fitted(rows))
    made = kernel(b.block, tuple(spread for _, spread in found), len(batch))
    words |= more or {}
    submit(n, made, words, rows=rows, taps=1, panels=b, written=c, count=prod(batch))


def matrix_words(a: View, panels: View, c: View, others: Sequence[View]) -> tuple[dict[str, Word], int, list[int]]:
    """Return words that tell where rows lie, how many there are, and the sizes of the batch: as few dimensions as there can be.

    a, c, others: [batch..., rows, columns].  panels: [batch..., bytes of one element].  Raises NotTaken for too many dimensions.
    """
    lead = c.shape[:-1]
    names = ("a", "b", "c", *(f"other{i}" for i in range(len(others))))
    tensors = [a, _over_rows(panels, lead), c, *others]
    dims = dims_of(lead, tensors)
    if not dims or dims[-1][2] != 0:
        dims.append((1, *[0] * len(tensors)))
    *batch, (rows, *strides) = dims
    if len(batch) > _BATCH_DIMENSIONS:
        raise NotTaken(f"a batch of {len(batch)} dimensions")
    words = dict(zip(names, (a, panels, c, *others), strict=True))
    words |= {f"{name}_row": stride for name, stride in zip(names, strides, strict=True) if name != "b"}
    words |= batch_words(names, batch)
    return words, rows, [size for size, *_ in batch]


def submit(n: Lowering, kernel: Gemm, words: dict[str, Word], *, rows: int, taps: int, panels: Panels, written: View, count: int) -> None:
    """Add the job of a product, given the words that tell where its operands lie.  count: elements of the batch."""
    depth = panels.depth // taps // kernel.channels_a_word
    row_blocks, panel_count = -(-rows // kernel.block.rows), kernel.block.panels(panels.columns)
    flops = 2 * rows * panels.columns * panels.depth
    tensors = (w for name, w in words.items() if isinstance(w, View) and name not in ("b", "source"))
    moved = panels.element_bytes * count + sum(x.distinct_bytes for x in tensors)
    task_flops = TASK_FLOPS if n.cpu.vector_bytes == 64 else TASK_FLOPS // 2
    wanted = max(1, min(max(flops // task_flops, moved // count // TASK_BYTES), -(-TASKS // count)))
    fetching = fetches_panels(n.cpu) and panels.element_bytes > _FETCHING_NEAR_BYTES
    near = panels.element_bytes <= _NEAR_BYTES and not fetching
    split = _split(row_blocks, panel_count, min(wanted, _FETCHING_TASKS) if fetching else wanted, near)
    kernel = replace(kernel, lines=_fetched_lines(n.cpu, kernel, row_blocks, split))
    words |= {"rows": rows, "columns": panels.columns, "depth": depth, "taps": taps, "row_blocks": row_blocks, "panels": panel_count}
    words |= {"row_chunks": split.row_chunks, "panel_chunks": split.panel_chunks, "panels_outside": int(split.panels_outside)}
    words["by_rows"] = is_by_rows(panels.element_bytes * count, moved)
    tasks = count * split.row_chunks * split.panel_chunks
    n.job(
        kernel,
        words,
        tasks=tasks,
        written=[written],
        chunk=0 if fetching else max(tasks // (4 * TASKS), 1),
        scratch=kernel.scratch_bytes(depth, taps),
        flops=flops * count,
        moved_bytes=moved,
    )


def is_by_rows(right_bytes: int, moved_bytes: int) -> int:
    """Return the word `by_rows` of a product: 1 where its right operand has no more bytes than all others, else 0.

    Threads with rows of their own each read all of the right operand.  With panels of their own they each read all of the left one, of
    which others wrote parts, and write a part of each row, of which the next job reads the others: 1x1 convolutions of 14x14 pixels, 576
    to 96 channels and back, in float32 without tiles, took 105 and 85 microseconds so, and 70 and 71 by rows, on two cores of an Intel
    Xeon.
    """
    return int(2 * right_bytes <= moved_bytes)


def _fetched_lines(cpu: Cpu, kernel: Gemm, row_blocks: int, split: ProductSplit) -> int:
    """Return how many cache lines of panels a block of rows fetches for each channel.

    Where one row alone is multiplied, and in runs of scaled integers, so little is done with what is read that the hardware keeps up.
    """
    if fetches_panels(cpu):
        return 1
    waits = kernel.FETCHES and kernel.block.rows > 1 and row_blocks <= _FETCHING_BLOCKS
    row_bytes = kernel.block.columns * STORAGE_BYTES["f32"]
    return -(-row_bytes // (ALIGNMENT * row_blocks)) if waits and split.panels_outside else 0


def joined(dims: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return dimensions (size, stride of each tensor), neighbours joined where all tensors walk both in one stride."""
    found: list[tuple[int, ...]] = []
    for size, *strides in dims:
        if found and found[-1][1:] == tuple(stride * size for stride in strides):
            found[-1] = (found[-1][0] * size, *strides)
        else:
            found.append((size, *strides))
    return found


def _over_rows(panels: View, lead: tuple[int, ...]) -> View:
    """Panels as a tensor of [batch..., rows]: the same for all rows."""
    batch = panels.shape[:-1]
    own = replace(panels, shape=(*batch, 1), strides=(*dense_strides((*batch, panels.shape[-1]))[:-1], 0))
    return own.expanded(lead)


def _split(row_blocks: int, panels: int, wanted: int, near: bool) -> ProductSplit:
    """So many tasks of one element of the batch: of neighbouring rows where the right operand is near, else of neighbouring panels."""
    if near:
        row_chunks = min(row_blocks, wanted)
        return ProductSplit(row_chunks, min(panels, -(-wanted // row_chunks)), False)
    panel_chunks = min(panels, wanted)
    return ProductSplit(min(row_blocks, -(-wanted // panel_chunks)), panel_chunks, True)


def block_of(n: Lowering, rows: int, columns: int, depth: int = 0) -> Block:
    """Return the register block for so many rows (of one element of a batch) and columns.  depth: channels, if these are dense rows."""
    return block_for(n.cpu, rows, columns, is_near=columns * depth * STORAGE_BYTES["f32"] <= _NEAR_BYTES)
