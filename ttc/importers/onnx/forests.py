"""Decision trees in the form of `nn.tree_ensemble`: nodes that only ask whether a feature is at most a number, each before its branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.trees import COLUMNS

MODES = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal", "member")
"""The questions that nodes ask of their feature, by ONNX's number."""
_LESS_EQUAL, _LESS, _GREATER_EQUAL, _GREATER, _EQUAL, _NOT_EQUAL, _MEMBER = range(len(MODES))
MAX_NODES = 1 << 28


class Questions(NamedTuple):
    """Nodes as a model has them: arrays of equal length.

    Args:
        features: index of what each asks about.
        modes: places in MODES.
        splits: what it is compared with.
        tracks: whether the condition counts as true for NaN.
        holds, fails: the node that follows, or ~l for leaf l.
        members: sets of those whose mode is `member`, in their order.
    """

    features: NDArray
    modes: NDArray
    splits: NDArray
    tracks: NDArray
    holds: NDArray
    fails: NDArray
    members: Sequence[NDArray] = ()


class Forest(NamedTuple):
    """Operands of `nn.tree_ensemble`: nodes[m, 4], splits[m], roots[trees]."""

    nodes: NDArray
    splits: NDArray
    roots: NDArray


def forest_of(asked: Questions, roots: NDArray, features: int, leaves: int, dtype: np.dtype) -> Forest:
    """Return trees of so many leaves on rows of so many features of a dtype.

    Raises: E0402 for a feature, a node or a leaf that is not there, or a node that is reached twice.
    """
    _check(asked, roots, features, leaves)
    order = _order(asked.holds.tolist(), asked.fails.tolist(), roots.tolist())
    members = [np.unique(values[~np.isnan(values)].astype(dtype)) for values in _sorted_members(asked, order)]
    features_, modes, splits, tracks, holds, fails = (column[order] for column in asked[:6])
    asked = Questions(features_, modes, splits.astype(dtype), tracks, holds, fails, members)
    sizes = _sizes(asked)
    if sizes.sum() > MAX_NODES:
        raise Error("E0402", f"{len(order)} nodes ask for more than {MAX_NODES} numbers")
    starts = np.cumsum(sizes) - sizes
    places = np.zeros(int(order.max(initial=0)) + 1, np.int64)
    places[order] = starts
    holds, fails, found = (np.where(x >= 0, places[np.maximum(x, 0)], x) for x in (asked.holds, asked.fails, roots))
    nodes, splits = np.zeros((int(sizes.sum()), COLUMNS), np.int64), np.zeros(int(sizes.sum()), dtype)
    _simple(asked, starts, holds, fails, (nodes, splits))
    sets = iter(members)
    for i in np.flatnonzero(asked.modes >= _EQUAL):
        values = next(sets) if asked.modes[i] == _MEMBER else asked.splits[i : i + 1]
        ends = (fails[i], holds[i]) if asked.modes[i] != _NOT_EQUAL else (holds[i], fails[i])
        rows = _among(_bounds(values), int(starts[i]), ends, takes_nan=bool(asked.tracks[i]) and asked.modes[i] != _NOT_EQUAL)
        for at, (split, first, second) in enumerate(rows, int(starts[i])):
            nodes[at], splits[at] = (asked.features[i], 0, first, second), split
    if not len(nodes):  # every tree is one leaf: a node that nothing leads to, as there must be one
        nodes, splits = np.array([[0, 0, -1, -1]]), np.zeros(1, dtype)
    return Forest(nodes.astype(np.int32), splits, found.astype(np.int32))


def _check(asked: Questions, roots: NDArray, features: int, leaves: int) -> None:
    count = len(asked.features)
    if count and not 0 <= asked.features.min() <= asked.features.max() < features:
        raise Error("E0402", f"nodes ask for features up to {asked.features.max()} of rows of {features}")
    for following in (asked.holds, asked.fails, roots):
        if len(following) and not -leaves <= following.min() <= following.max() < count:
            raise Error("E0402", f"a node or leaf does not exist among {count} nodes and {leaves} leaves")
    if count and not 0 <= asked.modes.min() <= asked.modes.max() < len(MODES):
        raise Error("E0402", "a node has a mode that ONNX does not have")


def _order(holds: list[int], fails: list[int], roots: list[int]) -> NDArray:
    """Nodes that are reached, each before its branches.  Raises E0402 where one is reached twice, as in a cycle."""
    found: list[int] = []
    is_found = bytearray(len(holds))
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        if node < 0:
            continue
        if is_found[node]:
            raise Error("E0402", f"node {node} is reached twice: it is in a cycle, or under two others")
        is_found[node] = 1
        found.append(node)
        stack += (fails[node], holds[node])
    return np.array(found, np.int64)


def _sorted_members(asked: Questions, order: NDArray) -> list[NDArray]:
    """Return the sets in the order of nodes."""
    if not len(asked.members):
        return []
    place = {int(node): i for i, node in enumerate(np.flatnonzero(asked.modes == _MEMBER))}
    return [asked.members[place[int(node)]] for node in order[asked.modes[order] == _MEMBER]]


def _sizes(asked: Questions) -> NDArray:
    """Nodes of the new form that each takes."""
    sizes = np.where(asked.modes >= _EQUAL, 2 + asked.tracks * (asked.modes != _NOT_EQUAL), 1)
    sizes[asked.modes == _MEMBER] = [2 * len(values) for values in asked.members]
    sizes[asked.modes == _MEMBER] += asked.tracks[asked.modes == _MEMBER]
    is_none = np.isnan(asked.splits) & ((asked.modes == _EQUAL) | (asked.modes == _NOT_EQUAL))
    sizes[is_none] -= 2
    return np.maximum(sizes, 1)


def _below(values: NDArray) -> NDArray:
    """Return the largest number below each; NaN, which nothing is at most, below all."""
    with np.errstate(over="ignore"):
        found = np.nextafter(values, values.dtype.type(-np.inf))
    return np.where(np.isneginf(values), values.dtype.type(np.nan), found)


def _simple(asked: Questions, starts: NDArray, holds: NDArray, fails: NDArray, into: tuple[NDArray, NDArray]) -> None:
    """Write the nodes that compare with one number: x > s is not x <= s, and x < s is x <= the number below."""
    is_one = asked.modes < _EQUAL
    modes, at = asked.modes[is_one], starts[is_one]
    splits = asked.splits[is_one]
    is_strict = (modes == _LESS) | (modes == _GREATER_EQUAL)
    is_turned = (modes == _GREATER) | (modes == _GREATER_EQUAL)
    moved = np.where(is_strict, _below(splits), splits)
    never = is_turned & np.isnan(splits)
    into[1][at] = np.where(never, into[1].dtype.type(np.inf), moved)
    true, false = holds[is_one], fails[is_one]
    into[0][at] = np.stack(
        [asked.features[is_one], asked.tracks[is_one] ^ is_turned, np.where(is_turned, false, true), np.where(is_turned, true, false)],
        axis=1,
    )


def _bounds(values: NDArray) -> NDArray:
    """Ends of the intervals around ascending values: just below each, and itself; NaN has none."""
    values = values[~np.isnan(values)]
    return np.stack([_below(values), values], axis=1).ravel()


def _among(bounds: NDArray, start: int, ends: tuple[int, int], *, takes_nan: bool) -> Iterator[tuple[float, int, int]]:
    """Splits and branches of nodes from `start` on, by which x leads to ends[1] between the first two bounds, the next two, and so on.

    They are a tree, each node before its branches; NaN, which always takes the second branch, ends beyond the last bound: at ends[0].
    """
    count = len(bounds)
    if takes_nan:
        yield np.inf, start + 1 if count else ends[0], ends[1]
        start += 1
    elif not count:
        yield np.inf, ends[0], ends[0]
    stack = [(0, count)] if count else []
    while stack:
        low, high = stack.pop()
        middle = (low + high) // 2
        # the nodes of [low, middle) follow this one, then those of [middle + 1, high)
        first = start + 1 if middle > low else ends[middle % 2]
        second = start + 1 + middle - low if high > middle + 1 else ends[(middle + 1) % 2]
        yield bounds[middle], first, second
        stack += [(a, z) for a, z in ((middle + 1, high), (low, middle)) if z > a]
        start += 1
