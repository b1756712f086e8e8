"""Whatever IR text says, `ttc opt` ends soon, and with an error of ours if at all: mutations of modules at every stage."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc.debug.opt import TextJob, optimized
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions

SECONDS = 20
"""That one text may take; it takes some milliseconds, on a machine with much to do some more."""
TEXT = """builtin.module attributes {ttc.seed = 3, ttc.stage = "import"} {
  func.func @forward(%0: tensor<2x3x6x6xf32> {ttc.dtype = f32, ttc.name = "x"}, %1: tensor<2xi64> {ttc.dtype = i64, ttc.name = "i"})
      -> (tensor<2x4xf32> {ttc.dtype = f32, ttc.name = "y"}) {
    %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<4x3x3x3xf32>>} : () -> tensor<4x3x3x3xf32> loc("w")
    %2 = nn.conv2d(%0, %w, _) {dilations = [1, 1], groups = 1, layout = "nchw", pads = [1, 1, 1, 1], strides = [2, 2]}
        : (tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x3x3xf32> loc("/conv")
    %3 = nn.relu(%2) : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
    %4 = nn.gather(%3, %1) {axis = 0} : (tensor<2x4x3x3xf32>, tensor<2xi64>) -> tensor<2x4x3x3xf32>
    %5 = nn.reduce_mean(%4) {axes = [2, 3], keepdims = false} : (tensor<2x4x3x3xf32>) -> tensor<2x4xf32> loc("a.py":3:4)
    %c = ttc.constant() {value = #ttc.literal<[0.5, -1.0e-07, inf, nan], tensor<4xf32>>} : () -> tensor<4xf32>
    %6 = nn.add(%5, %c) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc(fused["/add", "b.py:7"])
    func.return %6 : tensor<2x4xf32>
  }
}
"""
STAGES = {"import": "nn", "nn": "tile", "tile": "netlist", "netlist": ""}
"""Pipeline that runs on the text of a stage."""
TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[A-Za-z_][\w.$]*|-?\d+(?:\.\d+)?(?:e-?\d+)?|->|\S')
WORDS = (
    "", "%0", "%9", "_", "-1", "0", "1", "7", "1048576", "9223372036854775808", "1e400", "nan", "ninf", '""', '"x"', '"\\FF"', "none",
    "true", "[", "]", "{", "}", "(", ")", "<", ">", ",", ":", "->", "?", "tensor<?x3xf32>", "tensor<0xf32>", "tensor<*xf32>",
    "tensor<f32>", "i7", "index", "!ttc.string", "array<i64: 1, 2>", "dense<0>", 'loc("x")', "^bb0", "#netlist.host", "unit",
    "func.return", "nn.loop",
    "affine_map<(d0) -> (d0)>", "@forward", "\x00", "é", "//", "{-#",
)  # fmt: skip


KINDS = ("number", "alike", "word", "other", "number", "alike", "repeat", "cut", "character")
"""Of mutations, frequent ones twice: those that mostly parse."""


@cache
def stage_text(stage: str, target: str) -> str:
    """A small module at the end of a stage."""
    before = "" if stage == "import" else ",".join(list(STAGES)[1 : list(STAGES).index(stage) + 1])
    return optimized(TEXT, "t.mlir", TextJob(before, CompileOptions(target=target, given=frozenset({"target"})), locations=True), ())


@cache
def tokens(stage: str, target: str) -> tuple[tuple[int, int], ...]:
    """Where the tokens of that text start and end."""
    return tuple(match.span() for match in TOKEN.finditer(stage_text(stage, target)))


def kind(text: str, span: tuple[int, int]) -> str:
    """What sort of token it is: by its first character, digits and letters alike."""
    first = text[span[0] : span[0] + 1]
    return "0" if first in "-0123456789" else "a" if first.isalpha() else first


@st.composite
def mutants(draw: st.DrawFn, stage: str, target: str) -> str:
    """That text with one to three tokens replaced, dropped, exchanged with others of it, or the text between two repeated or cut."""
    text, spans = stage_text(stage, target), tokens(stage, target)
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        first, last = sorted(draw(st.tuples(*[st.integers(0, len(spans) - 1)] * 2)))
        start, end = spans[first]
        match draw(st.sampled_from(KINDS)):
            case "word":
                text = f"{text[:start]} {draw(st.sampled_from(WORDS))} {text[end:]}"
            case "other":
                text = text[:start] + text[slice(*spans[last])] + text[end:]
            case "alike":
                others = [span for span in spans if kind(text, span) == kind(text, spans[first])] or [spans[last]]
                text = text[:start] + text[slice(*others[last % len(others)])] + text[end:]
            case "number":
                numbers = list(re.finditer(r"(?<![%\w])-?\d+", text))
                found = numbers[first % len(numbers)]
                text = text[: found.start()] + str(draw(st.sampled_from((-1, 0, 1, 2, 3, 65, 1 << 31, 1 << 63)))) + text[found.end() :]
            case "repeat":
                text = text[:start] + text[start : spans[min(last, first + 40)][1]] * 2 + text[end:]
            case "cut":
                text = text[:start] + text[spans[min(last, first + 40)][1] :]
            case _:
                text = text[:start] + draw(st.characters()) + text[start + 1 :]
    return text


@contextmanager
def bounded(seconds: int) -> Iterator[None]:
    """Fail if what is inside takes longer."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(text: str, stage: str, target: str) -> Error | None:
    """What `ttc opt` says of a text; anything but an error of ours, and one that says the program is wrong, is raised."""
    with bounded(SECONDS):
        try:
            optimized(text, "t.mlir", TextJob(STAGES[stage], CompileOptions(target=target, given=frozenset({"target"}))), ())
        except Error as error:
            if error.code == "E0901":
                raise
            return error
    return None


@pytest.mark.parametrize("target", ["host", "n150"])
@pytest.mark.parametrize("stage", STAGES)
def test_no_text_brings_the_program_down(stage: str, target: str) -> None:
    assert outcome(stage_text(stage, target), stage, target) is None
    seen: list[Error] = []

    @settings(max_examples=50)
    @given(mutants(stage, target))
    def survives(text: str) -> None:
        error = outcome(text, stage, target)
        if error is not None:
            seen.append(error)

    survives()
    assert len(seen) > 10  # mutations hit what is checked
