"""Ops on text: StringConcatOp, StringSplitOp, StringNormalizeOp, RegexFullMatchOp, StringIndexOp, and ops that move text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_error, run_op, spec
from ttc.dialects.nn.base import NNOp, ops
from ttc.dialects.nn.kernels.text import regex_full_match, string_concat, string_index
from ttc.dialects.nn.text import RegexFullMatchOp, StringConcatOp, StringIndexOp, StringNormalizeOp, StringSplitOp

WORDS = np.array([["a", 'b"\\\n'], ["", "größe\x00é"]], object)


def words(*values: Any) -> NDArray:
    return np.array(values, object)


def results(op: type[NNOp] | str, arrays: list[NDArray], **attrs: Any) -> list[Any]:
    return [y.tolist() for y in run_op(ops()[op] if isinstance(op, str) else op, arrays, attrs)]


def test_string_concat_broadcasts() -> None:
    assert results(StringConcatOp, [WORDS, words("x", "")]) == [[["ax", 'b"\\\n'], ["x", "größe\x00é"]]]
    assert results(StringConcatOp, [np.array("a", object), np.array("b", object)]) == ["ab"]
    check_error("E0401", StringConcatOp, [spec(2, dtype="object"), spec(3, dtype="object")], {})
    check_error("E0403", StringConcatOp, [spec(2, dtype="object"), spec(2)], {})


def test_string_split() -> None:
    x = words("a-b-c", "", "d")
    assert results(StringSplitOp, [x], delimiter="-") == [[["a", "b", "c"], ["", "", ""], ["d", "", ""]], [3, 1, 1]]
    assert results(StringSplitOp, [x], delimiter="-", maxsplit=1) == [[["a", "b-c"], ["", ""], ["d", ""]], [2, 1, 1]]
    assert results(StringSplitOp, [words(" a  b ", " ")]) == [[["a", "b"], ["", ""]], [2, 0]]
    found = run_op(StringSplitOp, [np.empty((0, 2), object)], {})
    assert [y.shape for y in found] == [(0, 2, 0), (0, 2)]
    check_error("E0402", StringSplitOp, [spec(2, dtype="object")], {"delimiter": ""})
    check_error("E0402", StringSplitOp, [spec(2, dtype="object")], {"maxsplit": -1})


def test_string_normalize() -> None:
    x = words("Monday", "tuesday", "MONDAY")
    normal = {"case": "none", "stopwords": ("monday",), "case_sensitive": False}
    assert results(StringNormalizeOp, [x], **normal) == [["tuesday"]]
    assert results(StringNormalizeOp, [x], **{**normal, "case": "upper", "case_sensitive": True}) == [["MONDAY", "TUESDAY", "MONDAY"]]
    assert results(StringNormalizeOp, [x[None]], **{**normal, "case": "lower", "stopwords": ()}) == [[["monday", "tuesday", "monday"]]]
    assert results(StringNormalizeOp, [x], **{**normal, "stopwords": ("monday", "tuesday")}) == [[""]]
    check_error("E0401", StringNormalizeOp, [spec(2, 3, dtype="object")], normal)
    check_error("E0402", StringNormalizeOp, [spec(3, dtype="object")], {**normal, "case": "title"})
    check_error("E0403", StringNormalizeOp, [spec(3)], normal)


def test_regex_full_match() -> None:
    assert results(RegexFullMatchOp, [WORDS], pattern=r"[a-z]|.*\x00.") == [[[True, False], [False, True]]]
    check_error("E0402", RegexFullMatchOp, [spec(2, dtype="object")], {"pattern": "("})


def test_string_index() -> None:
    assert results(StringIndexOp, [WORDS], words=("", "a", "a")) == [[[1, 3], [0, 3]]]
    assert results(StringIndexOp, [WORDS], words=()) == [[[0, 0], [0, 0]]]
    check_error("E0402", StringIndexOp, [spec(2, dtype="object")], {"words": ("a", 1)})


@pytest.mark.parametrize(
    ("op", "attrs", "wanted"),
    [
        ("reshape", {"shape": (4,)}, lambda x: x.reshape(4)),
        ("transpose", {"perm": (1, 0)}, lambda x: x.T),
        ("expand", {"shape": (3, 2, 2)}, lambda x: np.broadcast_to(x, (3, 2, 2))),
        ("slice", {"starts": (0, 1), "sizes": (2, 1), "steps": (1, 1)}, lambda x: x[:, 1:]),
        ("identity", {}, lambda x: x),
    ],
)
def test_ops_that_move_text(op: str, attrs: dict[str, Any], wanted: Any) -> None:
    assert results(op, [WORDS], **attrs) == [wanted(WORDS).tolist()]


def test_ops_that_choose_text() -> None:
    assert results("concat", [WORDS, WORDS], axis=0) == [[*WORDS.tolist(), *WORDS.tolist()]]
    assert results("gather", [words("a", "b"), np.array(1)], axis=0) == ["b"]
    assert results("where", [np.array([True, False]), words("a", "b"), words("c", "d")]) == [["a", "d"]]
    assert results("equal", [words("a", "b"), words("a", "c")]) == [[True, False]]
    assert results("cast", [words("1.5", "NaN")], dtype=np.dtype(np.float32))[0][0] == 1.5
    assert results("cast", [np.array([2, -1])], dtype=np.dtype(object)) == [["2", "-1"]]


@pytest.mark.parametrize(("op", "attrs"), [("exp", {}), ("reduce_max", {"axes": (0,), "keepdims": False}), ("non_zero", {}), ("relu", {})])
def test_ops_that_compute_take_no_text(op: str, attrs: dict[str, Any]) -> None:
    check_error("E0403", ops()[op], [spec(2, dtype="object")], attrs)
    check_error("E0403", ops()["pad"], [spec(2, dtype="object")], {"before": (1,), "after": (0,), "value": 0.0, "mode": "constant"})


def test_text_of_no_elements_and_of_none_dimensions() -> None:
    empty, one = np.empty((0, 2), object), np.array("a", object)
    assert string_index(empty, words=("a",)).shape == (0, 2)
    assert string_index(one, words=("b", "a", "a")).tolist() == 1
    assert string_concat(one, empty).shape == (0, 2)
    assert string_concat(one, one).tolist() == "aa"
    assert regex_full_match(empty, pattern="a").dtype == np.bool_
