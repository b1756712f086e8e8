"""Einsum, by sums, transposes and matrix products."""

from __future__ import annotations

import re
from math import prod

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.builder import MAX_RANK, Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported

_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")
_HIDDEN = "0123456789"
"""Labels of the dimensions that an ellipsis stands for."""


@record
class _Term:
    """A value whose dimensions have labels."""

    value: SSAValue
    labels: str


def einsum(b: Builder, operands: tuple[SSAValue, ...], equation: str) -> SSAValue:
    """Return an einsum: operands are joined from left to right; labels that nothing needs any more are summed over."""
    terms, result = _parse(b, operands, equation)
    terms = [_diagonal(b, term) for term in terms]
    found = _reduced(b, terms[0], "".join(t.labels for t in terms[1:]) + result)
    for i, term in enumerate(terms[1:], 1):
        needed = "".join(t.labels for t in terms[i + 1 :]) + result
        found = _joined(b, found, _reduced(b, term, found.labels + needed), needed)
    return _ordered(b, found, result)


def _parse(b: Builder, operands: tuple[SSAValue, ...], equation: str) -> tuple[list[_Term], str]:
    """Terms, and the labels of the result: without an arrow, those that appear once, in order of the alphabet."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    matches = [_TERM.fullmatch(p) for p in (*parts, right)]
    if len(parts) != len(operands) or len(text) > 256 or None in matches:
        raise Error("E0402", f"equation '{equation[:60]}' does not fit {len(operands)} operands")
    terms = [_labelled(b, x, m) for x, m in zip(operands, matches, strict=False) if m is not None]
    every = "".join(t.labels for t in terms)
    hidden = "".join(sorted({c for c in every if c in _HIDDEN}))
    if arrow:
        result = right.replace("...", hidden)
    else:
        result = hidden + "".join(sorted(c for c in set(every) - set(_HIDDEN) if every.count(c) == 1))
    if not set(result) <= set(every) or len(set(result)) != len(result) or len(result) > MAX_RANK:
        raise Error("E0402", f"equation '{equation[:60]}' gives no tensor")
    return terms, result


def _labelled(b: Builder, x: SSAValue, part: re.Match[str]) -> _Term:
    """Return the labels of an operand: an ellipsis takes what is left, the last of the hidden labels last."""
    before, dots, after = part.groups()
    rest = b.rank(x) - len(before) - len(after)
    if rest < 0 or (rest and dots is None) or rest > len(_HIDDEN):
        raise Error("E0402", f"{b.spec(x)} does not have the dimensions of '{before}{dots or ''}{after}'")
    return _Term(x, before + _HIDDEN[len(_HIDDEN) - rest :] + after)


def _diagonal(b: Builder, term: _Term) -> _Term:
    """Labels that appear twice: what is off the diagonal becomes 0, and one of the two dimensions is summed over."""
    for i, label in enumerate(term.labels):
        j = term.labels.find(label, i + 1)
        if j < 0:
            continue
        shape = b.shape(term.value)
        if shape[i] * shape[j] > MAX_ELEMENTS:
            raise Unsupported(f"a diagonal of {shape[i]} x {shape[j]}")
        mask = np.equal.outer(np.arange(shape[i]), np.arange(shape[j]))
        kept = b.constant(mask.reshape(*(d if k in (i, j) else 1 for k, d in enumerate(shape))))
        diagonal = b.nn("where", kept, term.value, b.scalar(0, term.value))
        summed = b.nn("reduce_sum", diagonal, axes=(j,), keepdims=False)
        return _diagonal(b, _Term(summed, term.labels[:j] + term.labels[j + 1 :]))
    return term


def _reduced(b: Builder, term: _Term, needed: str) -> _Term:
    """Summed over the labels that are not needed."""
    axes = tuple(i for i, label in enumerate(term.labels) if label not in needed)
    if not axes:
        return term
    return _Term(b.nn("reduce_sum", term.value, axes=axes, keepdims=False), "".join(c for c in term.labels if c in needed))


def _joined(b: Builder, left: _Term, right: _Term, needed: str) -> _Term:
    """The product of two terms, summed over what both have and nothing needs."""
    shared = [c for c in left.labels if c in right.labels]
    batch = "".join(c for c in shared if c in needed)
    inner = "".join(c for c in shared if c not in needed)
    rows = "".join(c for c in left.labels if c not in shared)
    columns = "".join(c for c in right.labels if c not in shared)
    if any(_size(b, left, c) != _size(b, right, c) for c in inner):  # one is 1: matrix products do not broadcast there
        return _reduced(b, _multiplied(b, left, right), needed)
    a = _matrix(b, left, batch, rows, inner)
    c = _matrix(b, right, batch, inner, columns)
    y = b.nn("matmul", a, c, None, transpose_a=False, transpose_b=False)
    lead = b.shape(y)[:-2]
    sizes = [_size(b, left, r) for r in rows] + [_size(b, right, r) for r in columns]
    return _Term(b.reshape(y, *lead, *sizes), batch + rows + columns)


def _multiplied(b: Builder, left: _Term, right: _Term) -> _Term:
    """Return the product of all pairs of elements: labels of the left, then those only the right has."""
    extra = "".join(c for c in right.labels if c not in left.labels)
    labels = left.labels + extra
    a = b.reshape(left.value, *b.shape(left.value), *(1,) * len(extra))
    present = "".join(c for c in labels if c in right.labels)
    moved = _ordered(b, right, present)
    sizes = dict(zip(present, b.shape(moved), strict=True))
    return _Term(b.nn("mul", a, b.reshape(moved, *(sizes.get(c, 1) for c in labels))), labels)


def _matrix(b: Builder, term: _Term, batch: str, rows: str, columns: str) -> SSAValue:
    """[batch..., rows, columns], each of the last two one dimension."""
    moved = _ordered(b, term, batch + rows + columns)
    shape = b.shape(moved)
    middle = len(batch) + len(rows)
    return b.reshape(moved, *shape[: len(batch)], prod(shape[len(batch) : middle]), prod(shape[middle:]))


def _ordered(b: Builder, term: _Term, labels: str) -> SSAValue:
    if term.labels == labels:
        return term.value
    return b.nn("transpose", term.value, perm=tuple(term.labels.index(c) for c in labels))


def _size(b: Builder, term: _Term, label: str) -> int:
    return b.shape(term.value)[term.labels.index(label)]
