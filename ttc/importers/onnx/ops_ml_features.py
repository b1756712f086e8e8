"""Ops of ONNX's domain for classical machine learning on rows of features: scaled, filled in, joined, and weighed."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported

DOMAIN = "ai.onnx.ml"
Floats: TypeAlias = tuple[float, ...]
FLOAT32 = np.dtype(np.float32)


def scaler_1(b: Builder, x: SSAValue, *, offset: Floats = (), scale: Floats = ()) -> SSAValue:
    """(x - offset) scale, one of each for a feature or for all."""
    x = b.cast(x, FLOAT32)
    y = b.nn("sub", x, b.constant(_by_feature(b, x, offset or (0.0,), "offset")))
    return b.nn("mul", y, b.constant(_by_feature(b, x, scale or (1.0,), "scale")))


def imputer_1(
    b: Builder,
    x: SSAValue,
    *,
    imputed_value_floats: Floats = (),
    imputed_value_int64s: tuple[int, ...] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> SSAValue:
    """x, with values of its feature in place of those that stand for what is missing; a NaN stands for all of them."""
    whole = b.dtype(x).kind in "iu"
    values = imputed_value_int64s if whole else imputed_value_floats
    if not values:
        raise Error("E0402", f"there are no values to put into {b.spec(x)}")
    missing = b.nn("is_nan", x) if not whole and math.isnan(replaced_value_float) else None
    if missing is None:
        missing = b.nn("equal", x, b.scalar(replaced_value_int64 if whole else replaced_value_float, x))
    return b.nn("where", missing, b.constant(_by_feature(b, x, values, "value").astype(b.dtype(x))), x)


def linear_regressor_1(
    b: Builder, x: SSAValue, *, coefficients: Floats = (), intercepts: Floats = (), post_transform: str = "NONE", targets: int = 1
) -> SSAValue:
    """x[n, features] -> [n, targets]."""
    if b.rank(x) != 2 or targets < 1 or len(coefficients) != targets * b.shape(x)[1] or len(intercepts) not in (0, targets):
        raise Error(
            "E0402", f"{len(coefficients)} coefficients and {len(intercepts)} intercepts of {targets} targets do not fit {b.spec(x)}"
        )
    weights = b.constant(np.array(coefficients, np.float32).reshape(targets, -1))
    y = b.nn("matmul", b.cast(x, FLOAT32), weights, None, transpose_a=False, transpose_b=True)
    y = b.nn("add", y, b.constant(np.array(intercepts, np.float32))) if intercepts else y
    if post_transform == "NONE":
        return y
    if post_transform == "LOGISTIC":
        return b.nn("sigmoid", y)
    if post_transform == "SOFTMAX":
        return b.nn("softmax", y, axis=1)
    raise Unsupported(f"post_transform {post_transform[:20]}")


def normalizer_1(b: Builder, x: SSAValue, *, norm: str = "MAX") -> SSAValue:
    """Rows over the sum of their absolute values, or the root of that of their squares; rows of zeros stay.

    Whether the largest value or the largest absolute one is meant by MAX, ONNX does not say.
    """
    if norm not in ("L1", "L2"):
        raise Unsupported(f"norm {norm[:20]}")
    x = b.cast(x, FLOAT32)
    if b.rank(x) not in (1, 2):
        raise Error("E0401", f"takes rows of features, not {b.spec(x)}")
    size = b.nn("reduce_sum", b.nn("abs", x) if norm == "L1" else b.nn("mul", x, x), axes=(b.rank(x) - 1,), keepdims=True)
    size = size if norm == "L1" else b.nn("sqrt", size)
    return b.nn("div", x, b.nn("where", b.nn("equal", size, b.scalar(0, size)), b.scalar(1, size), size))


def feature_vectorizer_1(b: Builder, *rows: SSAValue, inputdimensions: tuple[int, ...] = ()) -> SSAValue:
    """Features of several tensors, each [n] or [n, features], side by side.  Raises E0402 where a tensor has another number of them."""
    if any(b.rank(x) not in (1, 2) for x in rows) or len(rows) != len(inputdimensions):
        raise Error("E0402", f"inputdimensions {list(inputdimensions)[:8]} do not fit {len(rows)} tensors of rows")
    found = [b.reshape(b.cast(x, FLOAT32), *b.shape(x)[:1], *(b.shape(x)[1:] or (1,))) for x in rows]
    if tuple(b.shape(x)[1] for x in found) != inputdimensions:
        raise Error("E0402", f"inputdimensions {list(inputdimensions)[:8]} do not fit {', '.join(str(b.spec(x)) for x in rows[:8])}")
    return b.nn("concat", *found, axis=1) if len(found) > 1 else found[0]


def _by_feature(b: Builder, x: SSAValue, values: tuple[float, ...], what: str) -> NDArray:
    """One value for all features of x, or one for each.  Raises E0402."""
    features = b.shape(x)[-1] if b.rank(x) else 1
    if len(values) not in (1, features):
        raise Error("E0402", f"{len(values)} of '{what}' do not fit {features} features")
    return np.array(values, np.int64 if all(type(v) is int for v in values) else np.float32)
