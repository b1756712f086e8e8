"""Announced errors."""

from __future__ import annotations

import pytest

from ttc.debug.expectations import expected_errors, mismatches
from ttc.dialects.core.errors import Error

TEXT = """// expected-error @below {{axis 7}}
%1 = softmax
%2 = relu // expected-error {{no op}}
// expected-error @-1 {{E0401}}
// expected-error-re @unknown {{axis {{[0-9]+}} of (2)}}"""


def test_lines_and_patterns() -> None:
    found = expected_errors(TEXT, "t.mlir")
    assert [item.line for item in found] == [2, 3, 3, None]
    assert found[3].pattern.search("axis 12 of (2)")
    assert not found[3].pattern.search("axis x of (2)")


def test_counts_and_several_in_a_comment() -> None:
    line = "x // expected-error @+1 2 {{a {b}}} expected-error-re {{c {{.*}} d}} // expected-error@above {{e}} f}}"
    found = expected_errors(line, "t.mlir")
    assert [(item.line, item.text) for item in found] == [(2, "a {b}"), (2, "a {b}"), (1, "c {{.*}} d"), (0, "e}} f")]
    twice = [Error("E0412", "a {b}", "t.mlir:2")] * 2
    assert mismatches(found[:2], twice, "t.mlir") == []
    (missing,) = mismatches(found[:2], twice[:1], "t.mlir")
    assert missing.message == 'expected error "a {b}" did not come'
    with pytest.raises(Error) as caught:
        expected_errors("\n".join(["// expected-error 9999 {{x}}"] * 2), "t.mlir")
    assert caught.value.code == "E0301"


def test_a_comment_of_blanks_is_read_at_once() -> None:
    with pytest.raises(Error):
        expected_errors("// expected-error" + " " * 200_000 + "@" + " " * 200_000, "t.mlir")


@pytest.mark.parametrize(
    "comment",
    [
        "// expected-error 0 {{axis}}",
        "// expected-error {{axis}} x",
        "// expected-error {{axis",
        "// expected-warning {{x}}",
        "// expected-error-re {{a {{(}} b}}",
    ],
)
def test_comments_that_cannot_be_read(comment: str) -> None:
    with pytest.raises(Error) as caught:
        expected_errors(f"\n{comment}", "t.mlir")
    assert (caught.value.code, caught.value.where) == ("E0301", "t.mlir:2")


def test_errors_match_by_line_and_text() -> None:
    expected = expected_errors("// expected-error @+1 {{axis 7}}", "t.mlir")
    right = Error("E0412", "axis 7 is outside rank 2", "t.mlir:2")
    assert mismatches(expected, [right], "t.mlir") == []
    for other in (Error("E0412", "axis 7 is outside rank 2", "t.mlir:3"), Error("E0412", "axis 6 is outside rank 2", "t.mlir:2")):
        unexpected, missing = mismatches(expected, [other], "t.mlir")
        assert unexpected.message.startswith("unexpected error: axis")
        assert missing.where == "t.mlir:2"
    assert [e.message for e in mismatches(expected, [], "t.mlir")] == ['expected error "axis 7" did not come']
