"""Tests of tools/docstrings.py."""

from __future__ import annotations

import pytest

from docstrings import entries, escaped, markdown, summary

SOFTMAX = """Softmax along one axis: y = exp x / sum.

    Args:    x: tensor[..., d], floating point.  axis: in [-rank, rank).
    Returns: y: shape of x.
    Raises:  E0403 for integers,
             E0412 for an axis.
    """
CALL = """Compile a model.

    Args:
        path: of the model, which is
            a file.
        options: all options.
    """
FOLD = """Fold it.

    Before:
        (%x: tensor<2xf32>)
          indented
    After:
        return %x
    Missed:  another user.
    """


def test_sections_become_lists() -> None:
    assert markdown(SOFTMAX) == [
        "Softmax along one axis: y = exp x / sum.",
        "",
        "",
        "**Arguments**",
        "",
        r"- `x`: tensor\[..., d\], floating point.",
        r"- `axis`: in \[-rank, rank).",
        "",
        "**Returns**",
        "",
        "- `y`: shape of x.",
        "",
        "**Raises**",
        "",
        "- E0403 for integers, E0412 for an axis.",
        "",
    ]


def test_entries_may_take_several_lines() -> None:
    assert [line for line in markdown(CALL) if line.startswith("- ")] == [
        "- `path`: of the model, which is a file.",
        "- `options`: all options.",
    ]


def test_ir_becomes_code() -> None:
    lines = markdown(FOLD)
    assert lines[lines.index("**Before**") + 2 : lines.index("**After**") - 1] == ["```mlir", "(%x: tensor<2xf32>)", "  indented", "```"]
    assert lines[-2:] == ["- another user.", ""]


@pytest.mark.parametrize(
    ("text", "found"),
    [("a * b_c", r"a \* b\_c"), ("`a * b` * c", r"`a * b` \* c"), ("a ` b * c", r"a ` b \* c"), ("tensor<2xf32>", r"tensor\<2xf32\>")],
)
def test_what_markdown_reads_is_escaped(text: str, found: str) -> None:
    assert escaped(text) == found


def test_a_summary_is_one_line() -> None:
    assert summary("One\n    sentence.\n\n    More.") == "One sentence."
    assert summary(None) == ""


def test_names_joined_by_commas_are_one_entry() -> None:
    assert entries(["x, y: operands.", "z: another."]) == ["x, y: operands.", "z: another."]
