"""Text: joined, cut, normalized, matched."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("StringConcat-20")
def string_concat_20(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.nn("string_concat", x, y)


@MAPPINGS.rule("StringSplit-20")
def string_split_20(b: Builder, x: SSAValue, *, delimiter: str = "", maxsplit: int | None = None) -> tuple[SSAValue, ...]:
    """Split texts at a delimiter; an empty one means white space."""
    return b.nn_all("string_split", x, delimiter=delimiter or None, maxsplit=maxsplit)


@MAPPINGS.rule("StringNormalizer-10")
def string_normalizer_10(
    b: Builder,
    x: SSAValue,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str = "",
    stopwords: tuple[str, ...] = (),
) -> SSAValue:
    """Normalize words; letters change their case as Unicode has it, whatever the locale."""
    return b.nn("string_normalize", x, case=case_change_action.lower(), stopwords=stopwords, case_sensitive=bool(is_case_sensitive))


@MAPPINGS.rule("RegexFullMatch-20")
def regex_full_match_20(b: Builder, x: SSAValue, *, pattern: str = "") -> SSAValue:
    return b.nn("regex_full_match", x, pattern=pattern)
