"""Ops of ONNX's domain for classical machine learning that choose, mark and name."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.scores import FLOAT32, Labels
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("ai.onnx.ml.ArrayFeatureExtractor-1")
def array_feature_extractor_1(b: Builder, x: SSAValue, columns: SSAValue) -> SSAValue:
    """Return columns of the last dimension; a row of one dimension becomes a matrix."""
    shape = b.shape(x)
    x = b.reshape(x, 1, *shape) if len(shape) == 1 else x
    return b.nn("gather", x, b.reshape(columns, b.spec(columns).elements), axis=b.rank(x) - 1)


@MAPPINGS.rule("ai.onnx.ml.Binarizer-1")
def binarizer_1(b: Builder, x: SSAValue, *, threshold: float = 0.0) -> SSAValue:
    """Return 1 above the threshold, else 0."""
    return b.cast(b.nn("greater", x, b.scalar(threshold, x)), b.dtype(x))


@MAPPINGS.rule("ai.onnx.ml.OneHotEncoder-1")
def one_hot_encoder_1(
    b: Builder, x: SSAValue, *, cats_int64s: tuple[int, ...] = (), cats_strings: tuple[str, ...] = (), zeros: int = 1
) -> SSAValue:
    """Return x[...] as float32 [..., categories]: 1 for its category. No category gives zeros, or with zeros = 0 fails at run time."""
    if bool(cats_int64s) == bool(cats_strings):
        raise Error("E0402", "categories are numbers or text: one of the two")
    if cats_strings:
        return _row_of(b, b.nn("string_index", x, words=cats_strings), len(cats_strings), zeros)
    if b.dtype(x) == STRING:
        raise Error("E0403", "categories are numbers, but what is encoded is text")
    number = b.cast(x, np.dtype(np.int64))
    same = b.nn("equal", b.reshape(number, *b.shape(x), 1), b.constant(np.array(cats_int64s, np.int64)))
    if zeros:
        return b.cast(same, FLOAT32)
    count = len(cats_int64s)
    places = b.nn("where", same, b.constant(np.arange(count)), b.constant(np.array(count)))
    return _row_of(b, b.nn("reduce_min", places, axes=(b.rank(x),), keepdims=False), count, zeros)


@MAPPINGS.rule("ai.onnx.ml.ZipMap-1")
def zip_map_1(b: Builder, x: SSAValue, *, classlabels_int64s: tuple[int, ...] = (), classlabels_strings: tuple[str, ...] = ()) -> SSAValue:
    """Return the values of the maps, as x has them; their keys are the labels.  Raises E0402 for another number of labels."""
    count = Labels.of(classlabels_int64s, classlabels_strings).count
    if b.rank(x) not in (1, 2) or b.shape(x)[-1] != count:
        raise Error("E0402", f"{count} labels do not fit scores {b.spec(x)}")
    return b.nn("identity", x)


@MAPPINGS.rule("ai.onnx.ml.DictVectorizer-1")
def dict_vectorizer_1(
    b: Builder, x: SSAValue, *, int64_vocabulary: tuple[int, ...] = (), string_vocabulary: tuple[str, ...] = ()
) -> SSAValue:
    """Raises Unsupported: a map has no form as a tensor."""
    raise Unsupported("takes a map; make the tensor that it gives an input")


@MAPPINGS.rule("ai.onnx.ml.CastMap-1")
def cast_map_1(b: Builder, x: SSAValue, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1) -> SSAValue:
    """Raises Unsupported: a map has no form as a tensor."""
    raise Unsupported("takes a map; make the tensor that it gives an input")


def _row_of(b: Builder, places: SSAValue, count: int, zeros: int) -> SSAValue:
    """Return rows of the identity by place; the place behind them gives zeros, or fails."""
    return b.nn("gather", b.constant(np.eye(count + (1 if zeros else 0), count, dtype=np.float32)), places, axis=0)
