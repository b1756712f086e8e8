"""Linear models of ONNX's domain for classical machine learning."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.scores import FLOAT32, Labels, Scored, of_two_classes, require_transform, rows_of, transformed
from ttc.importers.onnx.tables import MAPPINGS

Floats: TypeAlias = tuple[float, ...]


@MAPPINGS.rule("ai.onnx.ml.LinearRegressor-1")
def linear_regressor_1(
    b: Builder, x: SSAValue, *, coefficients: Floats = (), intercepts: Floats = (), post_transform: str = "NONE", targets: int = 1
) -> SSAValue:
    """Return targets [n, targets] of x[n, features]."""
    require_transform(post_transform)
    return transformed(b, _sums(b, rows_of(b, x), coefficients, intercepts, targets), post_transform)


@MAPPINGS.rule("ai.onnx.ml.LinearClassifier-1")
def linear_classifier_1(
    b: Builder,
    x: SSAValue,
    *,
    classlabels_ints: tuple[int, ...] = (),
    classlabels_strings: tuple[str, ...] = (),
    coefficients: Floats,
    intercepts: Floats = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> Scored:
    """Return labels [n] and scores [n, classes] of x[n, features]; one row of coefficients gives the score of the second of two classes."""
    del multi_class
    require_transform(post_transform)
    labels, x = Labels.of(classlabels_ints, classlabels_strings), rows_of(b, x)
    count = len(intercepts) or len(coefficients) // max(b.shape(x)[1], 1)
    y = _sums(b, x, coefficients, intercepts, count)
    if count == 1 and labels.count == 2:
        return labels.of_two(b, b.nn("greater", y, b.scalar(0, y))), of_two_classes(b, y, post_transform, is_share=True)
    return labels.of_largest(b, y), transformed(b, y, post_transform)


def _sums(b: Builder, x: SSAValue, coefficients: Floats, intercepts: Floats, targets: int) -> SSAValue:
    """[n, targets].  Raises E0402 where attributes do not fit the features of x."""
    if targets < 1 or len(coefficients) != targets * b.shape(x)[1] or len(intercepts) not in (0, targets):
        raise Error(
            "E0402", f"{len(coefficients)} coefficients and {len(intercepts)} intercepts of {targets} targets do not fit {b.spec(x)}"
        )
    weights = b.constant(np.array(coefficients, np.float32).reshape(targets, -1))
    y = b.nn("matmul", b.cast(x, FLOAT32), weights, None, transpose_a=False, transpose_b=True)
    return b.nn("add", y, b.constant(np.array(intercepts, np.float32))) if intercepts else y
