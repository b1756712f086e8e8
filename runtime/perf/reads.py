"""What the cores of an op read of each of its inputs: which part of it a core touches, and how often.

The parts follow from the op's work, from its result back to its inputs.  A rule gives the part of each operand that a core needs for its
part of the result; `PARTS` has one for each op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.dialects.netlist.sizes import dealt
from ttc.dialects.tile.facts import Role, has_role, rearranges
from ttc.dialects.tile.facts.role_tables import RoleTable
from ttc.runtime.perf.selections import passes_of

TILE_ROWS = 32
"""Rows of the tiles that sparse products take."""
USUAL_INNER = 8
"""The tiles of K that an op takes at a time if it does not say."""


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A core's part of a value, in all its steps.

    rows, cols: fraction of the tile rows and columns; t: fraction of the matrices.
    times: how often the part passes into the core, if it does not stay there.  halo: how many times as much of it a core reads because
        windows reach beyond it.
    whole: whether all of it is needed before the first result comes out (a matmul's inner dimension, keys and values of an attention).
    """

    rows: float
    cols: float
    t: float = 1.0
    times: float = 1.0
    halo: float = 1.0
    whole: bool = False

    @property
    def fraction(self) -> float:
        return self.rows * self.cols * self.t

    def join(self, other: ReadPart) -> ReadPart:
        """Return a part that covers both."""
        return ReadPart(
            max(self.rows, other.rows),
            max(self.cols, other.cols),
            max(self.t, other.t),
            max(self.times, other.times),
            max(self.halo, other.halo),
            self.whole or other.whole,
        )


@dataclass(frozen=True, slots=True)
class ReadSteps:
    """Steps in which a core passes down the rows and across the columns of its part of the result.

    rows: tile rows of a step, all cores together; inner: tiles of K that a core takes at a time.
    """

    down: int
    across: int
    rows: int = 1
    inner: int = 1


@dataclass(frozen=True, slots=True)
class Read:
    """What cores read of one input of an op.

    Args:
        tensor: the input.
        part: of one core.
        tiles: of one core, each counted once.
        passes: tiles that enter the core for one microbatch, if nothing stays there.
        gathered: whether views rearrange tiles on the way, so that a core's share comes from all over.
        chosen: whether data chooses what is read, so that nothing can be loaded beforehand.
    """

    tensor: TensorType
    part: ReadPart
    tiles: float
    passes: float
    gathered: bool
    chosen: bool


Rule = Callable[[Work, ReadPart, ReadSteps, "list[TensorType | None]"], "list[ReadPart]"]
PARTS: RoleTable[Rule] = RoleTable("what cores read")


def rule_of(item: Work) -> Rule:
    """Return the rule of a work; leaves and works of the host read of each operand what they compute. Raises E0302."""
    return PARTS.of(item.op[5:]) if item.op.startswith("tile.") else parts_same


def reads_of(op: Op) -> list[Read | None]:
    """Return how each input of an op on a grid is read, in their order; None for an input that the work does not use."""
    if not isinstance(op.place, Grid) or op.blocking is None:
        raise ValueError(f"op '{op.name}' is not on a grid")
    types = op.work.value_types
    result = types[op.work.outputs[0]]
    part, steps = share_of(result, op.place, op.blocking)
    steps = replace(steps, inner=op.inner[1] if op.inner is not None else USUAL_INNER)
    parts, moved = _parts(op.work, types, part, steps)
    tables = {item.operands[0] for item in op.work.works if has_role(item.op, Role.GATHER)}
    return [None if i not in parts else _read(types[i], parts[i], i in moved, i in tables) for i in range(len(op.work.inputs))]


@dataclass(frozen=True, slots=True)
class ReadTable:
    """What ops read, worked out once for all that share a work (the same object), a grid's size, blocks and tiles of K.

    known: each with its work, which must live as long as its address stands for it.
    """

    known: dict[object, tuple[Function, list[Read | None]]] = field(default_factory=dict)

    def of(self, op: Op) -> list[Read | None]:
        """Return what `reads_of` does.  Raises as it does."""
        if not isinstance(op.place, Grid):
            return reads_of(op)
        key = id(op.work), op.place.rows, op.place.cols, op.blocking, op.inner
        if key not in self.known:
            self.known[key] = op.work, reads_of(op)
        return self.known[key][1]


def share_of(result: TensorType, place: Grid, blocking: Blocking) -> tuple[ReadPart, ReadSteps]:
    """Return a core's part of the result, and the steps in which it is computed."""
    t, rows, cols = dims(result)
    down_parts, across_parts = (max(n, 1) for n in blocking.spread)
    grid_rows, grid_cols = max(place.rows // down_parts, 1), max(place.cols // across_parts, 1)
    step_rows, step_cols = (blocking.mblock[i] * blocking.ublock[i] for i in (0, 1))
    part_t, part_rows, part_cols = dealt((t, rows, cols), (down_parts, across_parts))
    core_rows, core_cols = -(-part_rows // grid_rows), -(-part_cols // grid_cols)
    down, across = max(-(-core_rows // step_rows), 1), max(-(-core_cols // step_cols), 1)
    return ReadPart(min(core_rows / rows, 1.0), min(core_cols / cols, 1.0), part_t / t), ReadSteps(down, across, step_rows * grid_rows)


@lru_cache(maxsize=4096)
def dims(type_: TensorType) -> tuple[int, int, int]:
    """Return (t, rows, columns) in tiles; tensors in rows count as if they lay in tiles of 32 x 32. No size is 0."""
    if type_.layout != "rows":
        t, rows, cols = type_.tile_dims()
        return max(t, 1), max(rows, 1), max(cols, 1)
    lead = [max(d, 1) for d in (1, 1, *type_.shape)]
    return prod(lead[:-2]), -(-lead[-2] // 32), -(-lead[-1] // 32)


def tiles_of(type_: TensorType) -> int:
    """Return tiles of a tensor, as `dims` counts them."""
    return prod(dims(type_))


def _read(type_: TensorType, part: ReadPart, gathered: bool, chosen: bool) -> Read:
    tiles = max(tiles_of(type_) * min(part.fraction * part.halo, 1.0), 1.0)
    return Read(type_, part, tiles, tiles * part.times, gathered, chosen)


def _parts(work: Function, types: list[TensorType], part: ReadPart, steps: ReadSteps) -> tuple[dict[int, ReadPart], set[int]]:
    """Return the part of every value that a core needs; and the values that are read through a view that moves tiles."""
    parts: dict[int, ReadPart] = {work.outputs[0]: part}
    moved: set[int] = set()
    number = len(types)
    for item in reversed(work.works):
        number -= len(item.results)
        needed = [parts[v] for v in range(number, number + len(item.results)) if v in parts]
        if not needed:
            continue
        own = needed[0]
        for other in needed[1:]:
            own = own.join(other)
        operands = [None if v is None else types[v] for v in item.operands]
        found = rule_of(item)(item, own, steps, operands)
        for value, share in zip(item.operands, found, strict=False):
            if value is None:
                continue
            clipped = _clip(share, types[value])
            parts[value] = parts[value].join(clipped) if value in parts else clipped
            if rearranges(item.op) or any(v in moved for v in range(number, number + len(item.results))):
                moved.add(value)
    return parts, moved


def _clip(part: ReadPart, type_: TensorType) -> ReadPart:
    """A part is at least one tile row and column of the value."""
    t, rows, cols = dims(type_)
    if part.rows * rows >= 1.0 and part.cols * cols >= 1.0 and part.t * t >= 1.0:
        return part
    return replace(part, rows=max(part.rows, min(1 / rows, 1.0)), cols=max(part.cols, min(1 / cols, 1.0)), t=max(part.t, 1 / t))


# ---- rules -------------------------------------------------------------------------------------------------------------------------------


@PARTS.rule(Role.ELEMENTWISE, Role.CONVERSION, "broadcast", "tile_broadcast", "to_host", "from_host", "lookup", "topk", "tile_depthwise")
def parts_same(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return for each operand the part that is computed; all of what is broadcast along a dimension."""
    result = dims(item.results[0])
    found: list[ReadPart] = []
    for type_ in operands:
        if type_ is None:
            found.append(part)
            continue
        t, rows, cols = dims(type_)
        times = part.times * (steps.down if rows < result[1] else 1) * (steps.across if cols < result[2] else 1)
        found.append(
            ReadPart(part.rows if rows > 1 else 1.0, part.cols if cols > 1 else 1.0, part.t if t > 1 else 1.0, times, part.halo, part.whole)
        )
    return found


@PARTS.rule("matmul")
def parts_matmul(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return rows of the left operand, again for each step across; columns of the right one, again for each step down; columns of the
    rest.
    """
    left = ReadPart(part.rows, 1.0, part.t, steps.across, whole=True)
    right = ReadPart(1.0, part.cols, part.t, steps.down * _repeats(item, operands[1]), whole=True)
    if item.attrs.get("transpose_a"):
        left = replace(left, rows=left.cols, cols=left.rows)
    if item.attrs.get("transpose_b"):
        right = replace(right, rows=right.cols, cols=right.rows)
    return [left, right, *(ReadPart(1.0, part.cols, part.t, steps.down) for _ in operands[2:])]


def _repeats(item: Work, type_: TensorType | None) -> float:
    """Return how many matrices of the result need the same one of an operand."""
    return max(dims(item.results[0])[0] / dims(type_)[0], 1.0) if type_ is not None else 1.0


@PARTS.rule("sparse_matmul")
def parts_sparse_matmul(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return columns of the activations: the selection may name any of their rows, and passes over them again where it turns back."""
    result = item.results[0]
    passes = passes_of(item, result, dims(result)[0], steps.rows * TILE_ROWS, steps.inner * TILE_ROWS)
    return [ReadPart(1.0, part.cols, 1.0, -(-passes * part.t // 1), whole=True) for _ in operands]


@PARTS.rule("conv2d", "conv_transpose2d")
def parts_conv2d(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return rows of the image under the part's window, all channels; filters of the part's channels."""
    image, weight = operands[0], operands[1]
    height = image.shape[1] if image is not None else 1
    taps_h = weight.shape[0] if weight is not None else 1
    depthwise = weight is not None and weight.shape[2] == 1 and int(_number(item.attrs.get("groups"), 1)) > 1
    halo = _halo(part, taps_h, height)
    found = [ReadPart(part.rows, part.cols if depthwise else 1.0, part.t, steps.across, halo), ReadPart(1.0, part.cols, 1.0, steps.down)]
    return [*found, *(ReadPart(1.0, part.cols, 1.0, steps.down) for _ in operands[2:])]


@PARTS.rule("max_pool2d", "avg_pool2d")
def parts_max_pool2d(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return rows of the image under the part's window."""
    image, kernel = operands[0], item.attrs.get("kernel")
    height = image.shape[1] if image is not None and len(image.shape) > 1 else 1
    taps_h = _number(kernel[0], 1) if isinstance(kernel, tuple) and kernel else 1
    return [replace(part, halo=_halo(part, taps_h, height)) for _ in operands]


def _halo(part: ReadPart, taps: int, height: int) -> float:
    """Return a window's rows beyond the part, as a factor of what the part reads."""
    return min((part.rows + (taps - 1) / max(height, 1)) / part.rows, 1.0 / part.rows)


@PARTS.rule("attention")
def parts_attention(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return rows of the queries, and a part of the keys, of their values and of the mask's columns, as large as that of the columns of the
    result which the core has; keys and values again for each step down.
    """
    query = ReadPart(part.rows, 1.0, part.t, steps.across)
    key = ReadPart(part.cols, 1.0, part.t, steps.down, whole=True)
    return [query, key, key, *(ReadPart(part.rows, part.cols, part.t) for _ in operands[3:])]


@PARTS.rule(Role.NORMALIZATION)
def parts_softmax(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return the part itself (statistics pass between the cores of a row); columns of scales and shifts."""
    return [part, *(ReadPart(1.0, part.cols, 1.0, steps.down) for _ in operands[1:])]


@PARTS.rule("reduce")
def parts_reduce(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return the tiles that the part's results come from: whole rows or columns of the operand."""
    return [replace(part, whole=True) for _ in operands]


@PARTS.rule("embedding")
def parts_embedding(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return the rows of the table that are asked for, as many as the result has, and all indices."""
    table = operands[0]
    share = min(tiles_of(item.results[0]) / tiles_of(table), 1.0) if table is not None else 1.0
    return [ReadPart(min(part.rows * share, 1.0), part.cols, 1.0), *(ReadPart(part.rows, 1.0) for _ in operands[1:])]


@PARTS.rule("encoded_matmul")
def parts_encoded_matmul(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return distinct tiles and codes of the core's row; columns of the activations, all rows, as any may be selected."""
    return [ReadPart(part.rows, 1.0), ReadPart(1.0, part.cols, 1.0, whole=True), ReadPart(part.rows, 1.0)]


@PARTS.rule("depthwise")
def parts_depthwise(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return all taps of the part's rows and columns; weights of its columns."""
    return [replace(part, t=1.0), *(ReadPart(1.0, part.cols, 1.0, steps.down) for _ in operands[1:])]


@PARTS.rule("transpose")
def parts_transpose(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return the columns of the operand for rows of the result where the last two dimensions are swapped."""
    perm = item.attrs.get("perm")
    if isinstance(perm, tuple) and len(perm) >= 2 and perm[-1] == len(perm) - 2:
        return [replace(part, rows=part.cols, cols=part.rows)]
    return [part]


@PARTS.rule("slice")
def parts_slice(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return the part's share of what is left of the operand."""
    source = operands[0]
    if source is None:
        return [part]
    (t, rows, cols), (t_in, rows_in, cols_in) = dims(item.results[0]), dims(source)
    ratio = (min(rows / rows_in, 1.0), min(cols / cols_in, 1.0), min(t / t_in, 1.0))
    return [replace(part, rows=part.rows * ratio[0], cols=part.cols * ratio[1], t=part.t * ratio[2])]


@PARTS.rule("hslice", "hstack", "reshape", "relayout", "pad", "retile", "splice", "concat")
def parts_view(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return the part of an operand whose tiles a view moves between dimensions: as much as a core holds; t stands for what rows and
    columns cannot.
    """
    source = operands[0]
    if source is None or len(operands) > 1:
        return [part for _ in operands]
    t, rows, cols = dims(source)
    own_rows, own_cols = max(part.rows, 1 / rows), max(part.cols, 1 / cols)
    return [replace(part, rows=own_rows, cols=own_cols, t=min(max(part.fraction / (own_rows * own_cols), 1 / t), 1.0))]


@PARTS.rule("repeat")
def parts_repeat(item: Work, part: ReadPart, steps: ReadSteps, operands: list[TensorType | None]) -> list[ReadPart]:
    """Return a part of what is repeated; all of it where the part is longer, and as often as the part has it."""
    source = operands[0]
    if source is None:
        return [part]
    ratios = [result / own for result, own in zip(dims(item.results[0]), dims(source), strict=True)]
    t, rows, cols = (min(share * ratio, 1.0) for share, ratio in zip((part.t, part.rows, part.cols), ratios, strict=True))
    times = part.fraction * ratios[0] * ratios[1] * ratios[2] / max(t * rows * cols, 1e-12)
    return [replace(part, t=t, rows=rows, cols=cols, times=part.times * max(times, 1.0))]


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
