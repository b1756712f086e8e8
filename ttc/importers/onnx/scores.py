"""Scores of ONNX's classical models: transformed after the model's sum, and turned into labels.

Where ONNX leaves open what is meant, this does what onnxruntime does: a single score is changed by PROBIT alone, and the score of one class
stands for two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The transforms of scores, by ONNX's number."""
FLOAT32 = np.dtype(np.float32)
_NEARLY_ZERO = 1e-7
_WINITZKI = 0.147
_PI = 3.14159
Scored: TypeAlias = "tuple[SSAValue, SSAValue]"
"""Labels [n] and scores [n, classes]."""


class Labels(NamedTuple):
    """Names of classes: numbers, or text."""

    values: NDArray

    @staticmethod
    def of(numbers: Sequence[int], words: Sequence[str]) -> Labels:
        """Return labels from the two attributes, of which one is given. Raises E0402."""
        if bool(numbers) == bool(words):
            raise Error("E0402", f"{len(numbers)} classes by number and {len(words)} by text; a model has the one or the other")
        return Labels(np.array(words, STRING) if words else np.array(numbers, np.int64))

    @property
    def count(self) -> int:
        return len(self.values)

    def at(self, b: Builder, places: SSAValue) -> SSAValue:
        """Return the labels of classes by their places, int64."""
        if np.array_equal(self.values, np.arange(self.count)) and self.values.dtype == np.int64:
            return places
        return b.nn("gather", b.constant(self.values), places, axis=0)

    def of_largest(self, b: Builder, scores: SSAValue) -> SSAValue:
        """Return the labels of the largest of scores[n, classes], the first of equal ones.  Raises E0402 for another number of classes."""
        if b.shape(scores)[1] != self.count:
            raise Error("E0402", f"{self.count} labels do not fit scores {b.spec(scores)}")
        return self.at(b, b.nn("argmax", scores, axis=1, keepdims=False, select_last=False))

    def of_two(self, b: Builder, is_second: SSAValue) -> SSAValue:
        """Return the labels of two classes: the second where a boolean [n, 1] holds."""
        return self.at(b, b.cast(b.reshape(is_second, b.shape(is_second)[0]), np.dtype(np.int64)))


def rows_of(b: Builder, x: SSAValue) -> SSAValue:
    """Return rows of features; one row may come without its dimension.  Raises E0401."""
    if b.rank(x) not in (1, 2):
        raise Error("E0401", f"takes rows of features, not {b.spec(x)}")
    return b.reshape(x, 1, *b.shape(x)) if b.rank(x) == 1 else x


def require_transform(name: str) -> str:
    """Raises E0402 for a transform that ONNX does not have."""
    if name not in TRANSFORMS:
        raise Error("E0402", f"post_transform '{name[:40]}' is not one of {', '.join(TRANSFORMS)}")
    return name


def transformed(b: Builder, y: SSAValue, transform: str) -> SSAValue:
    """Return scores y[n, k] after a transform."""
    if require_transform(transform) == "PROBIT":
        return _probit(b, y)
    if transform == "NONE" or b.shape(y)[1] == 1:
        return y
    if transform == "SOFTMAX":
        return b.nn("softmax", y, axis=1)
    return b.nn("sigmoid", y) if transform == "LOGISTIC" else _softmax_zero(b, y)


def of_two_classes(b: Builder, y: SSAValue, transform: str, *, is_share: bool) -> SSAValue:
    """Return scores [n, 2] of two classes from y[n, 1], that of the second.  is_share: it is a part of 1, not a margin."""
    if require_transform(transform) == "PROBIT":
        raise Unsupported("post_transform PROBIT of one score for two classes")
    if transform == "LOGISTIC":
        return b.nn("sigmoid", b.nn("concat", b.nn("neg", y), y, axis=1))
    return b.nn("concat", b.nn("sub", b.scalar(1, y), y) if is_share else b.nn("neg", y), y, axis=1)


def _softmax_zero(b: Builder, y: SSAValue) -> SSAValue:
    """Return the softmax of scores that are not zero; those that are count for nothing in its sum."""
    largest = b.nn("reduce_max", y, axes=(1,), keepdims=True)
    counts = b.nn("greater", b.nn("abs", y), b.scalar(_NEARLY_ZERO, y))
    powers = b.nn("exp", b.nn("sub", y, largest))
    sum_ = b.nn("reduce_sum", b.nn("where", counts, powers, b.scalar(0, y)), axes=(1,), keepdims=True)
    others = b.nn("mul", y, b.nn("exp", b.nn("neg", largest)))
    return b.nn("div", b.nn("where", counts, powers, others), sum_)


def _probit(b: Builder, y: SSAValue) -> SSAValue:
    """sqrt 2 times the inverse of the error function at 2 y - 1, by Winitzki's formula, as ONNX's own evaluator has it."""

    def number(value: float) -> SSAValue:
        return b.scalar(value, y)

    x = b.nn("sub", b.nn("mul", y, number(2)), number(1))
    log = b.nn("log", b.nn("mul", b.nn("sub", number(1), x), b.nn("add", number(1), x)))
    half = b.nn("add", b.nn("mul", log, number(0.5)), number(2 / (_PI * _WINITZKI)))
    root = b.nn("sqrt", b.nn("sub", b.nn("mul", half, half), b.nn("mul", log, number(1 / _WINITZKI))))
    size = b.nn("sqrt", b.nn("sub", root, half))
    signed = b.nn("where", b.nn("less", x, number(0)), b.nn("neg", size), size)
    return b.nn("mul", signed, number(np.sqrt(2)))
