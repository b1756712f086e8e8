"""Support vector machines of ONNX's domain for classical machine learning."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.scores import FLOAT32, Labels, Scored, of_two_classes, require_transform, rows_of, transformed
from ttc.importers.onnx.tables import MAPPINGS

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
_LEAST = 1e-7
"""Least probability of a class of a pair."""
_MOST_FACTORS = 8
"""Greatest power that is written as products."""
Floats: TypeAlias = tuple[float, ...]
Ints: TypeAlias = tuple[int, ...]


class SvmKernel(NamedTuple):
    """The function of a support vector and a row: of their product, or of their distance.

    Args:
        kind: one of KERNELS.
        params: gamma, the number that is added, the degree.
    """

    kind: str
    params: Floats

    def check(self) -> SvmKernel:
        """Return the kernel itself. Raises E0402 for an unknown kind, or without its numbers."""
        if self.kind not in KERNELS or (len(self.params) != 3 and (self.params or self.kind != "LINEAR")):
            raise Error("E0402", f"kernel_type '{self.kind[:20]}' is unknown, or does not take {len(self.params)} kernel_params")
        return self

    def of(self, b: Builder, x: SSAValue, vectors: NDArray) -> SSAValue:
        """Return [n, vectors] of x[n, features] and vectors[vectors, features]."""
        if self.kind == "LINEAR":
            return _product(b, x, vectors.T)
        gamma, added, degree = self.params
        if self.kind == "RBF":
            return b.nn("exp", b.nn("mul", _distances(b, x, vectors), b.scalar(-gamma, x)))
        y = b.nn("add", b.nn("mul", _product(b, x, vectors.T), b.scalar(gamma, x)), b.scalar(added, x))
        return b.nn("tanh", y) if self.kind == "SIGMOID" else _power(b, y, degree)


@MAPPINGS.rule("ai.onnx.ml.SVMRegressor-1")
def svm_regressor_1(
    b: Builder,
    x: SSAValue,
    *,
    coefficients: Floats = (),
    kernel_params: Floats = (),
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Floats = (),
    support_vectors: Floats = (),
) -> SSAValue:
    """Return [n, 1] of x[n, features]: a weighted sum of kernels, or linear without vectors; with one_class 1 where it is above 0, else
    -1.
    """
    if require_transform(post_transform) == "PROBIT":
        raise Unsupported("post_transform PROBIT")
    x = b.cast(rows_of(b, x), FLOAT32)
    kernel = SvmKernel(kernel_type, kernel_params).check()
    if n_supports < 0 or len(rho) != 1 or len(coefficients) != (n_supports or b.shape(x)[1]):
        raise Error("E0402", f"{len(coefficients)} coefficients and {len(rho)} of 'rho' do not fit {n_supports} vectors or {b.spec(x)}")
    held = kernel.of(b, x, _vectors(b, x, support_vectors, n_supports)) if n_supports else x
    y = b.nn("add", _product(b, held, np.array(coefficients, np.float32)[:, None]), b.scalar(rho[0], x))
    return b.nn("where", b.nn("greater", y, b.scalar(0, y)), b.scalar(1, y), b.scalar(-1, y)) if one_class else y


@MAPPINGS.rule("ai.onnx.ml.SVMClassifier-1")
def svm_classifier_1(
    b: Builder,
    x: SSAValue,
    *,
    classlabels_ints: Ints = (),
    classlabels_strings: tuple[str, ...] = (),
    coefficients: Floats,
    kernel_params: Floats = (),
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Floats = (),
    prob_b: Floats = (),
    rho: Floats,
    support_vectors: Floats = (),
    vectors_per_class: Ints = (),
) -> Scored:
    """Return labels [n] of x[n, features], and scores: of pairs of classes, or with prob_a and prob_b of classes.

    Each pair votes for one of its classes; the label is that of most votes.  Without vectors the model is linear.
    """
    require_transform(post_transform)
    labels = Labels.of(classlabels_ints, classlabels_strings)
    kernel, x = SvmKernel(kernel_type, kernel_params).check(), b.cast(rows_of(b, x), FLOAT32)
    if not vectors_per_class:
        return _linear(b, x, labels, coefficients, rho, post_transform)
    count, vectors = labels.count, sum(vectors_per_class)
    pairs = list(combinations(range(count), 2)) if count < 1 << 12 else []
    if not pairs or len(vectors_per_class) != count or min(vectors_per_class) < 0 or not 0 < vectors <= MAX_ELEMENTS:
        raise Error("E0402", f"{len(vectors_per_class)} numbers of vectors do not fit {count} classes")
    sizes = {len(rho), len(prob_a) or len(pairs), len(prob_b) or len(pairs)}
    if len(coefficients) != (count - 1) * vectors or sizes != {len(pairs)} or len(prob_a) != len(prob_b):
        raise Error("E0402", f"coefficients, 'rho', 'prob_a' or 'prob_b' do not fit {vectors} vectors of {count} classes")
    if vectors * len(pairs) > MAX_ELEMENTS:
        raise Unsupported(f"{vectors} vectors for {len(pairs)} pairs of classes")
    held = kernel.of(b, x, _vectors(b, x, support_vectors, vectors))
    weights = _pair_weights(np.array(coefficients, np.float32).reshape(count - 1, vectors), vectors_per_class, pairs)
    scores = b.nn("add", _product(b, held, weights), b.constant(np.array(rho, np.float32)))
    named = labels.of_largest(b, _votes(b, scores, pairs, count))
    if prob_a:
        return named, transformed(b, _probabilities(b, scores, prob_a, prob_b, count), post_transform)
    if count == 2:
        return named, of_two_classes(b, scores, post_transform, is_share=post_transform != "NONE")
    return named, transformed(b, scores, post_transform)


def _linear(b: Builder, x: SSAValue, labels: Labels, coefficients: Floats, rho: Floats, transform: str) -> Scored:
    """Return a row of coefficients a class.  Of two it is the second, too, where the largest score is above 0, or 1/2 if all are shares."""
    weights, features = np.array(coefficients, np.float32), b.shape(x)[1]
    if len(weights) != labels.count * features or not rho:
        raise Error("E0402", f"{len(weights)} coefficients and {len(rho)} of 'rho' of {labels.count} classes do not fit {b.spec(x)}")
    scores = b.nn("add", _product(b, x, weights.reshape(labels.count, -1).T), b.scalar(rho[0], x))
    if labels.count != 2:
        return labels.of_largest(b, scores), transformed(b, scores, transform)
    largest = b.nn("reduce_max", scores, axes=(1,), keepdims=True)
    is_share = bool((weights >= 0).all())
    is_high = b.nn("greater_equal" if is_share else "greater", largest, b.scalar(0.5 if is_share else 0, largest))
    first, second = (b.nn("slice", scores, starts=(0, i), sizes=(b.shape(x)[0], 1), steps=(1, 1)) for i in (0, 1))
    return labels.of_two(b, b.nn("or", is_high, b.nn("greater", second, first))), transformed(b, scores, transform)


def _vectors(b: Builder, x: SSAValue, values: Floats, count: int) -> NDArray:
    """Return support vectors as an array [count, features].  Raises E0402."""
    if len(values) != count * b.shape(x)[1]:
        raise Error("E0402", f"{len(values)} numbers of {count} support vectors do not fit {b.spec(x)}")
    return np.array(values, np.float32).reshape(count, -1)


def _pair_weights(coefficients: NDArray, sizes: Ints, pairs: list[tuple[int, int]]) -> NDArray:
    """[vectors, pairs] of coefficients[classes - 1, vectors]: those of class i against j stand in row j - 1, those of j in row i."""
    ends = np.cumsum(sizes)
    found = np.zeros((coefficients.shape[1], len(pairs)), np.float32)
    for column, (i, j) in enumerate(pairs):
        for own, row in ((i, j - 1), (j, i)):
            part = slice(ends[own] - sizes[own], ends[own])
            found[part, column] = coefficients[row, part]
    return found


def _votes(b: Builder, scores: SSAValue, pairs: list[tuple[int, int]], count: int) -> SSAValue:
    """[n, classes]: for the first of a pair above 0, else for the second."""
    first, second = (np.eye(count, dtype=np.float32)[[pair[i] for pair in pairs]] for i in (0, 1))
    won = b.cast(b.nn("greater", scores, b.scalar(0, scores)), FLOAT32)
    return b.nn("add", _product(b, won, first - second), b.constant(second.sum(axis=0)))


def _probabilities(b: Builder, scores: SSAValue, slopes: Floats, shifts: Floats, count: int) -> SSAValue:
    """Compute probabilities of classes from scores of pairs."""
    moved = b.nn("mul", scores, b.constant(-np.array(slopes, np.float32)))
    share = b.nn("sigmoid", b.nn("sub", moved, b.constant(np.array(shifts, np.float32))))
    inside = b.nn("minimum", b.nn("maximum", share, b.scalar(_LEAST, share)), b.scalar(1 - _LEAST, share))
    return b.nn("couple_probabilities", inside, classes=count)


def _distances(b: Builder, x: SSAValue, vectors: NDArray) -> SSAValue:
    """Squared ones.  All are moved by the mean of the vectors first: differences of large numbers would lose digits."""
    middle = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    x, moved = b.nn("sub", x, b.constant(middle)), vectors - middle
    lengths = b.nn("reduce_sum", b.nn("mul", x, x), axes=(1,), keepdims=True)
    sums = b.nn("add", lengths, b.constant((moved.astype(np.float64) ** 2).sum(axis=1).astype(np.float32)))
    found = b.nn("sub", sums, b.nn("mul", _product(b, x, moved.T), b.scalar(2, x)))
    return b.nn("maximum", found, b.scalar(0, found))


def _power(b: Builder, y: SSAValue, degree: float) -> SSAValue:
    if degree not in range(1, _MOST_FACTORS + 1):
        return b.nn("pow", y, b.scalar(degree, y))
    found = y
    for _ in range(1, int(degree)):
        found = b.nn("mul", found, y)
    return found


def _product(b: Builder, x: SSAValue, matrix: NDArray) -> SSAValue:
    return b.nn("matmul", x, b.constant(np.ascontiguousarray(matrix)), None, transpose_a=False, transpose_b=False)
