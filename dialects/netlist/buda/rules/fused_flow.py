"""Rules of values inside a fused op: the life of its intermediates, and the blocks of every sub-op."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp, Pair, SubOp
from ttc.dialects.netlist.buda.rules.context import Context, dims_text, tiles
from ttc.dialects.netlist.buda.rules.dims import MAX_TILES, Dims, input_dims

Block: TypeAlias = tuple[Pair, Pair]
"""The sizes of blocks, as (mblock, ublock)."""
PRODUCTS = ("matmul", "reduce")
MAX_SHAPES = 256
"""Shapes in which one fused op is looked at."""


@record(slots=True)
class Fusion:
    """A fused op under check, with the ops of graphs that run it."""

    fused: FusedOp
    users: tuple[BudaOp, ...]
    context: Context

    def report(self, sub: SubOp | None, key: str, code: str, message: str, hint: str | None = None) -> None:
        """Report on the fused op or one of its sub-ops."""
        what = f"fused op '{self.fused.name}'" + (f": sub-op '{sub.name}'" if sub is not None else "")
        lines = self.fused.lines if sub is None else sub.lines
        self.context.found.add(code, self.context.at(lines, key, what), message, hint)

    def sub_ops(self) -> Iterator[tuple[int, int, SubOp]]:
        """Yield every sub-op, with the index of its schedule and its own there."""
        for s, schedule in enumerate(self.fused.schedules):
            for i, sub in enumerate(schedule):
                yield s, i, sub


@record(slots=True)
class Made:
    """A value in an intermediate or in dest.  by: what made it; schedule: in which schedule."""

    by: SubOp
    schedule: int

    @property
    def block(self) -> Block:
        """The blocks that the op which makes it writes."""
        return self.by.mblock or (1, 1), self.by.ublock or (1, 1)


def check_flow(fusion: Fusion, *, blocks: bool = True) -> None:
    """Follow the values through all schedules; blocks: whether to look at these too."""
    live: dict[str, Made] = {}
    dest: Made | None = None
    shapes = _shapes(fusion) if blocks else []
    for s, _, sub in fusion.sub_ops():
        sources = [dest if name == "dest" else live.get(name) for name in sub.inputs]
        _check_life(sub, s, live, fusion)
        if blocks:
            _check_blocks(sub, sources, fusion)
        for op, inputs in shapes:
            _check_against(sub, op, inputs, fusion)
        for name in (*sub.pop, *sub.pop_last):
            live.pop(name, None)
        made = Made(sub, s)
        dest = made if sub.output == "dest" else None
        if sub.output is not None and sub.output.startswith("intermed"):
            if sub.output in live:
                message = f"it makes {sub.output}, which still holds what '{live[sub.output].by.name}' made"
                fusion.report(sub, "output", "E0644", message, f"pop: [{sub.output}] where it is read last")
            live[sub.output] = made
    for name, made in live.items():
        message = f"{name}, made by it, is never popped"
        fusion.report(made.by, "output", "E0644", message, f"pop: [{name}] where it is read last")


def _shapes(fusion: Fusion) -> list[tuple[BudaOp, list[Dims]]]:
    """Return ops that run the fused op, with what they give it: one of each shape, as models have the same op in every layer."""
    found: dict[object, tuple[BudaOp, list[Dims]]] = {}
    for op in fusion.users:
        inputs = input_dims(op, fusion.context)
        if inputs is not None and tiles(op) is not None and len(inputs) == fusion.fused.inputs and len(found) < MAX_SHAPES:
            found.setdefault((op.grid_size, op.t, tuple(inputs)), (op, inputs))
    return list(found.values())


def _check_life(sub: SubOp, schedule: int, live: dict[str, Made], fusion: Fusion) -> None:
    for name in dict.fromkeys(sub.inputs):
        if not name.startswith("intermed"):
            continue
        made = live.get(name)
        if made is None:
            fusion.report(sub, "inputs", "E0644", f"it reads {name}, which holds nothing: it was not made yet, or popped before")
            continue
        ends = fusion.fused.schedules[made.schedule][-1].type in PRODUCTS
        if schedule > made.schedule and made.by.type not in PRODUCTS and made.block[0] != (1, 1) and ends:
            message = (
                f"it reads {name}, which '{made.by.name}' made in schedule {made.schedule}, that a product ends: of such a schedule others "
                f"see only what a matmul or reduce makes, or a single mblock 1x1, not {made.block[0][0]}x{made.block[0][1]}"
            )
            fusion.report(sub, "inputs", "E0644", message)


# ---- blocks ------------------------------------------------------------------------------------------------------------------------


def _check_blocks(sub: SubOp, sources: list[Made | None], fusion: Fusion) -> None:
    """Blocks of what a sub-op reads from other sub-ops, against its own, and the output against the op that runs all this."""
    for index, made in enumerate(sources):
        if made is None or sub.mblock is None or sub.ublock is None:
            continue
        problem = _broadcast_problem(sub, index, made.block)
        if problem is not None:
            fusion.report(sub, f"input_{index}_tms", "E0643", problem)
            continue
        wanted = _wanted(sub, index, made.block)
        if wanted is not None:
            fusion.report(sub, "mblock", "E0645", f"input {index}, {sub.inputs[index]}, is {_text(made.block)}, but {wanted}")
    if sub.output == "output":
        for op in fusion.users:
            if None not in (op.mblock, op.ublock) and (sub.mblock, sub.ublock) != (op.mblock, op.ublock):
                own, wanted = _text((sub.mblock, sub.ublock)), _text((op.mblock, op.ublock))
                message = f"it makes the output in blocks {own}, but op '{op.name}' has {wanted}"
                fusion.report(sub, "mblock", "E0645", message)


def _text(block: tuple[Pair | None, Pair | None]) -> str:
    (m, n), (rt, ct) = block[0] or (0, 0), block[1] or (0, 0)
    return f"mblock {m}x{n} of ublocks {rt}x{ct}"


def _factors(sub: SubOp, index: int) -> Pair:
    """Return how many times an input is repeated along rows and columns."""
    factors = {"r": 1, "c": 1}
    for tm in sub.input_tms.get(index, ()):
        if tm.kind == "broadcast" and isinstance(tm.args[1], int):
            factors[str(tm.args[0])] = min(factors.get(str(tm.args[0]), 1) * tm.args[1], MAX_TILES)
    return factors["r"], factors["c"]


def _broadcast_problem(sub: SubOp, index: int, block: Block) -> str | None:
    """Why an intermediate of these blocks cannot be broadcast as asked, if it cannot: it holds a ublock at a time."""
    (down, across), ((m, n), (rt, ct)) = _factors(sub, index), block
    out = sub.mblock or (1, 1)
    if down > 1:
        if m != 1 or rt != 1:
            return f"a broadcast along r takes one row of tiles, not mblock {m} of ublocks {rt}"
        if out[0] > 1 and n != 1:
            return f"a broadcast along r to {out[0]} blocks takes one column of blocks, not {n}"
    if across > 1:
        m_k = sub.attributes.get("m_k")
        if sub.type == "matmul":
            if index != 0 or n not in (1, m_k) or ct != 1:
                return f"a matmul broadcasts input 0 along c, of 1 or {m_k} columns of one tile, not input {index} of {n} columns of {ct}"
        elif n != 1 or ct != 1:
            return f"a broadcast along c takes one column of tiles, not mblock {n} of ublocks {ct}"
    return None


def _wanted(sub: SubOp, index: int, block: Block) -> str | None:
    """Return what a sub-op needs of the blocks of an input, if they are others."""
    ((m, n), (rt, ct)), (down, across) = block, _factors(sub, index)
    (om, on), (ort, oct_) = sub.mblock or (1, 1), sub.ublock or (1, 1)
    m_k, u_kt = sub.attributes.get("m_k"), sub.attributes.get("u_kt")
    if sub.type == "matmul" and index == 0:
        if across == 1 and (n, ct) != (m_k, u_kt):
            return f"m_k {m_k} and u_kt {u_kt} are the columns of its blocks"
        return None if (m, rt) == (om, ort) or down > 1 else f"it makes rows of {om} blocks of {ort}"
    if sub.type == "matmul":
        if down == 1 and (m, rt) != (m_k, u_kt):
            return f"m_k {m_k} and u_kt {u_kt} are the rows of its blocks"
        return None if (n, ct) == (on, oct_) or across > 1 else f"it makes columns of {on} blocks of {oct_}"
    if sub.type == "reduce":
        along_r = sub.attributes.get("dim") == "r"
        kept, own = ((n, ct), (on, oct_)) if along_r else ((m, rt), (om, ort))
        inner, one = ((m, rt), (om, ort)) if along_r else ((n, ct), (on, oct_))
        fits = kept == own and inner == (m_k, u_kt) and one == (1, 1)
        return (
            None
            if fits
            else f"a reduction along {sub.attributes.get('dim')} with m_k {m_k}, u_kt {u_kt} makes {_text((sub.mblock, sub.ublock))}"
        )
    fits = m * rt * down == om * ort and n * ct * across == on * oct_ and m <= om and n <= on and rt <= ort and ct <= oct_
    return None if fits else f"it makes {_text((sub.mblock, sub.ublock))}"


def _check_against(sub: SubOp, op: BudaOp, inputs: list[Dims], fusion: Fusion) -> None:
    """Inputs of the fused op that a sub-op reads, against its blocks on all cores."""
    if op.grid_size is None or op.t is None or sub.mblock is None or sub.ublock is None:
        return
    rows, columns = (op.grid_size[i] * sub.mblock[i] * sub.ublock[i] for i in (0, 1))
    m_k, u_kt = sub.attributes.get("m_k"), sub.attributes.get("u_kt")
    inner = m_k * u_kt if isinstance(m_k, int) and isinstance(u_kt, int) else None
    for index, name in enumerate(sub.inputs):
        if not name.startswith("input") or _factors(sub, index) != (1, 1):
            continue
        wanted = (op.t, rows, columns)
        if sub.type == "matmul" and inner is not None:
            wanted = (op.t, rows, inner) if index == 0 else (op.t, inner, columns)
        elif sub.type == "reduce" and inner is not None:
            wanted = (op.t, inner, columns) if sub.attributes.get("dim") == "r" else (op.t, rows, inner)
        given = inputs[int(name.removeprefix("input"))]
        if given != wanted:
            message = f"{name} of op '{op.name}' is {dims_text(given)} tiles after its tile manipulations, but it needs {dims_text(wanted)}"
            fusion.report(sub, "inputs", "E0645", message)
