"""Grids and blocks an op can take: every rectangle of cores that covers its result, each with the largest step that fits L1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ttc.dialects.core.errors import Error
from ttc.dialects.core.targets import Target
from ttc.dialects.netlist.model import Blocking, Buffer
from ttc.passes.tile_to_netlist.buffers import REREADING, WHOLE_ROWS, Need, fill
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.cycles import cycles


@dataclass(frozen=True)
class Candidate:
    """One way to run an op: grid rows and columns, blocks, L1 buffers, K blocks of a matmul, cycles a microbatch."""

    rows: int
    cols: int
    blocking: Blocking
    buffers: tuple[Buffer, ...]
    inner: tuple[int, int] | None
    cycles: int

    @property
    def cores(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class TooLarge:
    """The least L1 an op was found to need, in bytes, and the step that needs it: tile rows and columns."""

    need_bytes: int
    step: tuple[int, int]


def candidates(view: OpView, target: Target) -> list[Candidate]:
    """Candidates by growing core count, each faster than all smaller ones.  Raises E0502 if not even one core suffices."""
    if target.grid is None:
        raise Error("E0503", f"target {target.name} has no grid of cores")
    t, rows, cols = view.result.tile_dims()
    found: list[Candidate] = []
    least: TooLarge | None = None
    for grid_rows, share_rows in splits(rows, target.grid[0]):
        for grid_cols, share_cols in splits(cols, target.grid[1]):
            fit = fit_share(view, (t, share_rows, share_cols), (grid_rows, grid_cols), target)
            if isinstance(fit, Candidate):
                found.append(fit)
            elif least is None or fit.need_bytes < least.need_bytes:
                least = fit
    if not found and least is not None:
        limit = target.l1_usable_bytes
        raise Error(
            "E0502",
            f"{view.op} needs {least.need_bytes:,} bytes of L1 on a core even in steps of {least.step[0]} x {least.step[1]} tiles; "
            f"{target.name} has {limit:,}",
            hint="a smaller format (--format Float16_b) or a narrower tensor would fit",
        )
    return _front(found)


def _front(found: list[Candidate]) -> list[Candidate]:
    front: list[Candidate] = []
    for candidate in sorted(found, key=lambda c: (c.cores, c.cycles, c.rows)):
        if not front or candidate.cycles < front[-1].cycles:
            front.append(candidate)
    return front


def splits(tiles: int, limit: int) -> Iterator[tuple[int, int]]:
    """(cores, tiles a core) for every useful way to spread tiles along one side of the grid, no core without work."""
    seen: set[int] = set()
    for cores in range(1, min(tiles, limit) + 1):
        share = -(-tiles // cores)
        used = -(-tiles // share)
        if used not in seen:
            seen.add(used)
            yield used, share


def fit_share(view: OpView, share: tuple[int, int, int], grid: tuple[int, int], target: Target) -> Candidate | TooLarge:
    """The fewest steps in which a core's share (t, rows, columns) fits L1: rows are cut first, then columns where the op allows it.

    An op whose window or whole rows fit in no step reads its input several times.
    """
    t, rows, cols = share
    dst = max(target.dst_tiles // 2 if target.wide_accumulation else target.dst_tiles, 1)  # 32-bit values take the place of two
    least: TooLarge | None = None
    for reread, step_rows, step_cols in _ways(view.op, rows, cols):
        need = fill(Need(view, step_rows, step_cols, target.alignment_bytes, reread))
        size = sum(b.size_bytes for b in need.buffers)
        if size > target.l1_usable_bytes:
            if least is None or size < least.need_bytes:
                least = TooLarge(size, (step_rows, step_cols))
            continue
        ublock_cols = largest_divisor(step_cols, dst)
        ublock = (largest_divisor(step_rows, dst // ublock_cols), ublock_cols)
        times = (rows // step_rows) * (cols // step_cols)
        blocking = Blocking(t * times, (step_rows // ublock[0], step_cols // ublock[1]), ublock)
        spent = cycles(view, Share(t, rows, cols, ublock, reread), target.arch)
        return Candidate(grid[0], grid[1], blocking, tuple(need.buffers), need.inner, spent)
    if least is None:
        raise Error("E0901", f"{view.op}: no step to try")
    return least


def _ways(op: str, rows: int, cols: int) -> Iterator[tuple[bool, int, int]]:
    """(whether the input is read several times, rows and columns of a step), best first."""
    for reread in (False, True) if op in REREADING else (False,):
        for step in _steps(rows, cols, cut_columns=reread or op not in WHOLE_ROWS):
            yield reread, *step


def _steps(rows: int, cols: int, *, cut_columns: bool) -> Iterator[tuple[int, int]]:
    for step in _divisors(rows):
        yield step, cols
    if cut_columns:
        for step in _divisors(cols)[1:]:
            yield 1, step


@cache
def _divisors(number: int) -> tuple[int, ...]:
    """All divisors, largest first."""
    return tuple(d for d in range(number, 0, -1) if number % d == 0)


@cache
def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor that is at most `limit`."""
    return next(d for d in range(max(min(number, limit), 1), 0, -1) if number % d == 0)
