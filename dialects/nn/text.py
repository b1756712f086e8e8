"""Ops on tensors of text, which run on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.attributes import BOOL, INT, STR, STRS
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.base import TENSOR, NNOp
from ttc.dialects.nn.regular import compiled
from ttc.dialects.nn.selection import INDEX_TYPE

MAX_WORDS = 1 << 16
"""The most words that an op holds as an attribute."""


def require_text(*specs: Spec) -> None:
    """Raises E0403 unless all are tensors of text."""
    for spec in specs:
        if spec.dtype != STRING:
            raise Error("E0403", f"the op takes text, not {spec.dtype}")


def require_words(words: Sequence[Any], what: str) -> None:
    """Raises E0402 unless these are at most MAX_WORDS texts."""
    if len(words) > MAX_WORDS or not all(isinstance(word, str) for word in words):
        raise Error("E0402", f"{what} are {len(words)} values: at most {MAX_WORDS} texts are possible")


class TextOp(NNOp):
    """The base of ops whose operand is text."""

    STRINGS: ClassVar[bool] = True
    x = operand_def(TENSOR)


@irdl_op_definition
class StringConcatOp(NNOp):
    """Texts joined: y = a followed by b.

    Args:    a, b: tensor[...], text; broadcast as numpy does.
    Returns: y: the broadcast shape, text.
    Raises:  E0401 if the shapes do not broadcast, E0403 for other dtypes.
    Source:  ONNX StringConcat-20; TensorFlow StringJoin.
    """

    name = "nn.string_concat"
    STRINGS: ClassVar[bool] = True
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, a: Spec, b: Spec) -> Spec:
        require_text(a, b)
        return Spec(broadcast_shapes(a.shape, b.shape), STRING)


@irdl_op_definition
class StringSplitOp(TextOp):
    """Texts cut at a delimiter into pieces, along a new last dimension; texts with fewer pieces are filled up with empty ones.

    Args:    x: tensor[...], text.  delimiter: between pieces; absent: any white space, and none at the ends.
             maxsplit: cuts at most, from the front; absent: all.
    Returns: pieces: tensor[..., ?], text.  counts: tensor[...], int64: pieces of each.
    Raises:  E0402 for a negative maxsplit or an empty delimiter, E0403 for another dtype.
    Source:  ONNX StringSplit-20.
    """

    name = "nn.string_split"
    delimiter = opt_prop_def(STR)
    maxsplit = opt_prop_def(INT)
    pieces = result_def(TENSOR)
    counts = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, delimiter: str | None = None, maxsplit: int | None = None) -> tuple[Spec, ...]:
        require_text(x)
        if delimiter == "" or (maxsplit is not None and maxsplit < 0):
            raise Error("E0402", f"delimiter '{delimiter}' or maxsplit {maxsplit} cannot be used")
        return Spec((*x.shape, DYNAMIC), STRING), Spec(x.shape, INDEX_TYPE)


@irdl_op_definition
class StringNormalizeOp(TextOp):
    """Words without those of a list, in lower or upper case; one empty word where none is left.

    Args:    x: tensor[words] or tensor[1, words], text.  case: lower, upper or none: of the words that stay.
             stopwords: those that go.  case_sensitive: whether these are meant as they are written.
    Returns: y: tensor[?] or tensor[1, ?], text.
    Raises:  E0401 for another shape, E0402 for another case or too many stopwords, E0403 for another dtype.
    Source:  ONNX StringNormalizer-10.
    """

    name = "nn.string_normalize"
    case = prop_def(STR)
    stopwords = prop_def(STRS)
    case_sensitive = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, case: str, stopwords: tuple[Any, ...], case_sensitive: bool) -> Spec:
        require_text(x)
        require_words(stopwords, "stopwords")
        if case not in ("lower", "upper", "none"):
            raise Error("E0402", f"case is lower, upper or none, not '{case[:40]}'")
        if x.rank not in (1, 2) or x.shape[:-1] not in ((), (1,)):
            raise Error("E0401", f"{x} is not one row of words")
        return Spec((*x.shape[:-1], DYNAMIC), STRING)


@irdl_op_definition
class RegexFullMatchOp(TextOp):
    """Whether a regular expression describes each text as a whole.

    Args:    x: tensor[...], text.  pattern: in RE2's syntax, as far as `core.regular` has it.
    Returns: y: shape of x, bool.  A text too long for the pattern is E0805 when the op runs.
    Raises:  E0402 for a pattern that cannot be used, E0403 for another dtype.
    Source:  ONNX RegexFullMatch-20; TensorFlow RegexFullMatch.
    """

    name = "nn.regex_full_match"
    pattern = prop_def(STR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, pattern: str) -> Spec:
        require_text(x)
        compiled(pattern)
        return Spec(x.shape, np.dtype(np.bool_))


@irdl_op_definition
class StringIndexOp(TextOp):
    """The place of each text in a list of words; the number of words for a text that is none of them.

    Args:    x: tensor[...], text.  words: the list; of equal ones the first counts.
    Returns: y: shape of x, int64.
    Raises:  E0402 for too many words, E0403 for another dtype.
    Source:  ONNX LabelEncoder-4, CategoryMapper-1, TfIdfVectorizer-9 (with a table of what places stand for).
    """

    name = "nn.string_index"
    words = prop_def(STRS)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, words: tuple[Any, ...]) -> Spec:
        require_text(x)
        require_words(words, "words")
        return Spec(x.shape, INDEX_TYPE)
