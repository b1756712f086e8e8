"""Rules by which the host pushes where nobody gives it values: drawn the same way for the same seed.

The numbers come from numpy's default generator, seeded by the seed, the queue's name and the entry's number, so that they depend neither
on the order of pushes nor on other queues.  They are not those of the reference's tests, which draw from one mt19937.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats import Rounding, format_named
from ttc.dialects.netlist.model import Queue
from ttc.dialects.netlist.sizes import tile_shape

KINDS: dict[str, dict[str, float]] = {
    "uniform": {"low": -1.0, "high": 1.0},
    "normal": {"mean": 0.0, "stddev": 1.0},
    "constant": {"value": 1.0},
    "debugtileid": {"base": 0.0, "step": 1.0},
    "step": {"start": 0.0, "increment": 1.0},
    "steprowwise": {"start": 0.0, "increment": 1.0},
    "stepcolumnwise": {"start": 0.0, "increment": 1.0},
    "sparse": {},
    "sparse_encoding": {"strips": 0.5, "blocks": 0.5, "tiles": 0.5},
}
"""Kinds of rules, with their numbers and the defaults of these."""
TILE = (32, 32)
SELECTING = 0.75
"""The share of the rows of a sparse tile that have an element."""


@dataclass(frozen=True)
class StimulusRule:
    """How the elements of an entry are made.

    Args:
        kind: `uniform` in [low, high), in integer formats integers from low up to high   `normal`   `constant`
            `debugtileid`: every element of tile number n is base + n * step   `step`: start + n * increment, n the element's number in
            the entry   `steprowwise`, `stepcolumnwise`: likewise, n the element's number in its row, or in its column
            `sparse`: most rows of each tile have a single 1   `sparse_encoding`: how often strips, blocks in them and tiles in these are
            zero, for the codes of a sparse matrix (see `encodings`); elsewhere as `uniform`.
        numbers: of the kind, by name.
        rows, cols: first and last row and column, from 0, of each tile that are set; the others are 0.  None: all.
    """

    kind: str
    numbers: dict[str, float] = field(default_factory=dict)
    rows: tuple[int, int] | None = None
    cols: tuple[int, int] | None = None

    def number(self, name: str) -> float:
        """Return a number of the rule, or the default of its kind."""
        return self.numbers.get(name, KINDS[self.kind][name])


@dataclass(frozen=True)
class Rules:
    r"""A rule for every queue.

    Args:
        default: for queues without a rule of their own.
        overrides: (pattern, rule); the first that matches a queue's name counts.  In a pattern `.` is any character, `.*` any text, and
            `\x` x itself; everything else stands for itself.
    """

    default: StimulusRule = StimulusRule("uniform")
    overrides: tuple[tuple[str, StimulusRule], ...] = ()

    def of(self, queue: str) -> StimulusRule:
        """Return the rule of a queue."""
        return self.own(queue) or self.default

    def own(self, queue: str) -> StimulusRule | None:
        """Return the rule that overrides the default one for a queue."""
        return next((rule for pattern, rule in self.overrides if pattern == queue or matches(pattern, queue)), None)


def matches(pattern: str, name: str) -> bool:
    """Return whether a whole name fits a pattern; the time is bounded by the product of their lengths, as patterns come out of files."""
    first, *rest = _parts(pattern)
    if not rest:
        return _fits(first, name)
    last = rest[-1]
    if len(name) < len(first) + len(last) or not _fits(first, name[: len(first)]):
        return False
    position, end = len(first), len(name) - len(last)
    for part in rest[:-1]:
        position = _find(part, name, position, end)
        if position < 0:
            return False
    return _fits(last, name[end:])


def draw(rule: StimulusRule, queue: Queue, entry: int, seed: int) -> NDArray:
    """Return one entry of a queue, [t, rows, columns], float64 before it takes the queue's format."""
    shape = queue.tensor.shape
    if rule.kind == "uniform" and not format_named(queue.tensor.format).is_float:
        rule = StimulusRule("integers", rule.numbers, rule.rows, rule.cols)
    values = _MAKERS[rule.kind](rule, shape, tile_shape(queue.tensor.layout) or TILE, generator_of(queue.name, entry, seed))
    return _cut(values, tile_shape(queue.tensor.layout) or TILE, rule)


def generator_of(name: str, entry: int, seed: int) -> np.random.Generator:
    """Return the generator of one entry."""
    return np.random.default_rng((seed, crc32(name.encode()), entry))


def stored(values: NDArray, queue: Queue, rounding: Rounding = "truncate") -> NDArray:
    """Return values as a queue holds them: floats cut off toward zero, as the reference's host does, or rounded to nearest.

    Elements of blocks and integers are rounded to nearest in any case.
    """
    format_ = format_named(queue.tensor.format)
    return format_.round(values, "rne" if format_.is_block else rounding)


# ---- kinds -------------------------------------------------------------------------------------------------------------------------------

_Maker = Callable[[StimulusRule, Sequence[int], "tuple[int, int]", np.random.Generator], NDArray]


def _uniform(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    numbers = KINDS["uniform"] | rule.numbers
    return generator.uniform(numbers["low"], numbers["high"], shape)


def _integers(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    numbers = KINDS["uniform"] | rule.numbers
    low, high = (int(min(max(numbers[name], -(2.0**31)), 2.0**32)) for name in ("low", "high"))
    return generator.integers(low, high + 1, shape)


def _normal(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    return generator.normal(rule.number("mean"), rule.number("stddev"), shape)


def _constant(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    return np.full(shape, rule.number("value"))


def _debugtileid(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    t, rows, cols = shape[0], -(-shape[-2] // tile[0]), -(-shape[-1] // tile[1])
    numbers = np.arange(t * rows * cols, dtype=np.float64).reshape(t, rows, cols)
    spread = numbers.repeat(tile[0], axis=1).repeat(tile[1], axis=2)[:, : shape[-2], : shape[-1]]
    return rule.number("base") + rule.number("step") * spread


def _step(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    count = int(np.prod(shape))
    return rule.number("start") + rule.number("increment") * np.arange(count, dtype=np.float64).reshape(shape)


def _steprowwise(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    row = rule.number("start") + rule.number("increment") * np.arange(shape[-1], dtype=np.float64)
    return np.broadcast_to(row, shape)


def _stepcolumnwise(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    column = rule.number("start") + rule.number("increment") * np.arange(shape[-2], dtype=np.float64)
    return np.broadcast_to(column[:, None], shape)


def _sparse(rule: StimulusRule, shape: Sequence[int], tile: tuple[int, int], generator: np.random.Generator) -> NDArray:
    """Return tiles whose rows select: a 1 in a random column of three rows of four."""
    rows = (*shape[:-1], -(-shape[-1] // tile[1]))
    chosen = np.where(generator.random(rows) < SELECTING, generator.integers(0, tile[1], rows), -1)
    return (chosen[..., None] == np.arange(tile[1])).reshape(*shape[:-1], -1)[..., : shape[-1]].astype(np.float64)


_MAKERS: Mapping[str, _Maker] = {
    "uniform": _uniform,
    "integers": _integers,
    "normal": _normal,
    "constant": _constant,
    "debugtileid": _debugtileid,
    "step": _step,
    "steprowwise": _steprowwise,
    "stepcolumnwise": _stepcolumnwise,
    "sparse": _sparse,
    "sparse_encoding": _uniform,
}


def _cut(values: NDArray, tile: tuple[int, int], rule: StimulusRule) -> NDArray:
    """Zeros outside the rows and columns that the rule sets of each tile."""
    if rule.rows is None and rule.cols is None:
        return values
    rows, cols = np.arange(values.shape[-2]) % tile[0], np.arange(values.shape[-1]) % tile[1]
    first, last = rule.rows or (0, tile[0])
    left, right = rule.cols or (0, tile[1])
    inside = ((rows >= first) & (rows <= last))[:, None] & ((cols >= left) & (cols <= right))
    return np.where(inside, values, 0.0)


# ---- patterns ----------------------------------------------------------------------------------------------------------------------------


def _parts(pattern: str) -> list[list[str | None]]:
    """Return what stands between `.*`: characters, None for any."""
    parts: list[list[str | None]] = [[]]
    rest = iter(pattern)
    for character in rest:
        if character == "\\":
            parts[-1].append(next(rest, character))
        elif character == "*" and parts[-1] and parts[-1][-1] is None:
            parts[-1].pop()
            parts.append([])
        else:
            parts[-1].append(None if character == "." else character)
    return parts


def _fits(part: list[str | None], text: str) -> bool:
    return len(part) == len(text) and all(p is None or p == c for p, c in zip(part, text, strict=True))


def _find(part: list[str | None], name: str, start: int, end: int) -> int:
    """Return where the first text that fits a part ends, between two positions; -1 if there is none."""
    for position in range(start, end - len(part) + 1):
        if _fits(part, name[position : position + len(part)]):
            return position + len(part)
    return -1
