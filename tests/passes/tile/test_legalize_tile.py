"""Ranks and formats that the target lacks."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply, docstring, same
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import TileType
from ttc.passes.tile.legalize_tile import MAX_RANK, LegalizeTile


def test_docstring() -> None:
    docstring(LegalizeTile())


FIVE = "Float32[2, 3, 4, 5, 6]"
HIGH = {
    "map with operands that repeat": f"""(%x: {FIVE}, %z: Float32[4, 1, 6], %c: Float32[1, 1])
        %0 = tile.map(%x, %z) {{fn = "add"}} : ({FIVE}, Float32[4, 1, 6]) -> {FIVE}
        %1 = tile.map(%0, %c) {{fn = "mul"}} : ({FIVE}, Float32[1, 1]) -> {FIVE}
        return %1 : {FIVE}""",
    "map that repeats the first and the third": f"""(%x: {FIVE}, %z: Float32[1, 3, 1, 5, 6])
        %0 = tile.map(%x, %z) {{fn = "add"}} : ({FIVE}, Float32[1, 3, 1, 5, 6]) -> {FIVE}
        return %0 : {FIVE}""",
    "cast": f'(%x: {FIVE})\n%0 = tile.cast(%x) {{to = "int32"}} : ({FIVE}) -> Int32[2, 3, 4, 5, 6]\nreturn %0 : Int32[2, 3, 4, 5, 6]',
    "softmax": f"(%x: {FIVE})\n%0 = tile.softmax(%x) {{axis = 4}} : ({FIVE}) -> {FIVE}\nreturn %0 : {FIVE}",
    "layer norm": f"""(%x: {FIVE}, %w: Float32[6])
        %0 = tile.layer_norm(%x, %w, _) {{axis = -1, eps = 0.1}} : ({FIVE}, Float32[6]) -> {FIVE}
        return %0 : {FIVE}""",
    "reduce": f"""(%x: {FIVE})
        %0 = tile.reduce(%x) {{fn = "sum", axes = [1, 2], keepdims = false}} : ({FIVE}) -> Float32[2, 5, 6]
        return %0 : Float32[2, 5, 6]""",
    "slice": f"""(%x: {FIVE})
        %0 = tile.slice(%x) {{starts = [0, 1, 0, 0, 0], sizes = [2, 1, 4, 5, 6], steps = [1, 7, 1, 1, 1]}} : ({FIVE})
          -> Float32[2, 1, 4, 5, 6]
        return %0 : Float32[2, 1, 4, 5, 6]""",
    "pad": f"""(%x: {FIVE})
        %0 = tile.pad(%x) {{before = [0, 0, 1, 0, 0], after = [0, 0, 0, 0, 0], value = 2.0}} : ({FIVE}) -> Float32[2, 3, 5, 5, 6]
        return %0 : Float32[2, 3, 5, 5, 6]""",
    "reduce of every other dimension": f"""(%x: {FIVE})
        %0 = tile.reduce(%x) {{fn = "mean", axes = [1, 3], keepdims = false}} : ({FIVE}) -> Float32[2, 4, 6]
        return %0 : Float32[2, 4, 6]""",
    "slice of all dimensions": f"""(%x: {FIVE})
        %0 = tile.slice(%x) {{starts = [1, 0, 1, 0, 1], sizes = [1, 2, 2, 3, 4], steps = [1, 1, 2, 2, 1]}} : ({FIVE})
          -> Float32[1, 2, 2, 3, 4]
        return %0 : Float32[1, 2, 2, 3, 4]""",
    "pad of all dimensions": f"""(%x: {FIVE})
        %0 = tile.pad(%x) {{before = [0, 1, 0, 2, 1], after = [1, 0, 1, 0, 0], value = 2.0}} : ({FIVE}) -> Float32[3, 4, 5, 7, 7]
        return %0 : Float32[3, 4, 5, 7, 7]""",
    "concat": f"""(%x: {FIVE})
        %0 = tile.concat(%x, %x) {{axis = -3}} : ({FIVE}, {FIVE}) -> Float32[2, 3, 8, 5, 6]
        return %0 : Float32[2, 3, 8, 5, 6]""",
    "broadcast": f"""(%x: Float32[3, 1, 1, 6])
        %0 = tile.broadcast(%x) {{shape = [2, 3, 4, 5, 6]}} : (Float32[3, 1, 1, 6]) -> {FIVE}
        return %0 : {FIVE}""",
    "matmul": f"""(%x: {FIVE}, %w: Float32[6, 7], %b: Float32[7])
        %0 = tile.matmul(%x, %w, %b) {{transpose_a = false, transpose_b = false}} : ({FIVE}, Float32[6, 7], Float32[7])
          -> Float32[2, 3, 4, 5, 7]
        return %0 : Float32[2, 3, 4, 5, 7]""",
    "attention with a mask a sample": f"""(%q: {FIVE}, %m: Float32[2, 1, 1, 5, 5])
        %0 = tile.attention(%q, %q, %q, %m) {{scale = 0.5, zero_masked = false}} : ({FIVE}, {FIVE}, {FIVE}, Float32[2, 1, 1, 5, 5])
          -> {FIVE}
        return %0 : {FIVE}""",
    "embedding": """(%t: Float32[9, 8], %i: Int32[1, 2, 3, 4])
        %0 = tile.embedding(%t, %i) : (Float32[9, 8], Int32[1, 2, 3, 4]) -> Float32[1, 2, 3, 4, 8]
        return %0 : Float32[1, 2, 3, 4, 8]""",
    "transpose of blocks": f"""(%x: {FIVE})
        %0 = tile.transpose(%x) {{perm = [0, 3, 4, 1, 2]}} : ({FIVE}) -> Float32[2, 5, 6, 3, 4]
        return %0 : Float32[2, 5, 6, 3, 4]""",
    "pixel shuffle": """(%x: Float32[2, 3, 2, 2, 5, 6])
        %0 = tile.transpose(%x) {perm = [0, 1, 4, 2, 5, 3]} : (Float32[2, 3, 2, 2, 5, 6]) -> Float32[2, 3, 5, 2, 6, 2]
        return %0 : Float32[2, 3, 5, 2, 6, 2]""",
    "reversal": f"""(%x: {FIVE})
        %0 = tile.transpose(%x) {{perm = [4, 3, 2, 1, 0]}} : ({FIVE}) -> Float32[6, 5, 4, 3, 2]
        return %0 : Float32[6, 5, 4, 3, 2]""",
}


@pytest.mark.parametrize("case", HIGH)
def test_high_ranks_become_four(case: str) -> None:
    outcome = apply(LegalizeTile(), HIGH[case])
    assert outcome.report.rewrites["lower-rank"] >= 1
    for name in set(outcome.names()) - {"tile.reshape"}:
        for op in outcome.ops(name):
            assert max(len(v.type.data.shape) for v in (*op.operands, *op.results) if isinstance(v.type, TileType)) <= MAX_RANK


@pytest.mark.parametrize("case", HIGH)
def test_rows_have_any_rank(case: str) -> None:
    same(LegalizeTile(), HIGH[case], HIGH[case], "host")


ILLEGAL = {
    "a format": '(%x: Float64[2])\n%0 = tile.map(%x) {fn = "relu"} : (Float64[2]) -> Float64[2]\nreturn %0 : Float64[2]',
    "no kernel on tiles": "(%x: Float32[2, 2])\n%0 = tile.det(%x) : (Float32[2, 2]) -> Float32[]\nreturn %0 : Float32[]",
    "every other dimension repeats": f"""(%x: {FIVE}, %z: Float32[1, 3, 1, 5, 1])
        %0 = tile.map(%x, %z) {{fn = "add"}} : ({FIVE}, Float32[1, 3, 1, 5, 1]) -> {FIVE}
        return %0 : {FIVE}""",
    "no rule": """(%x: Float32[1, 2, 3, 4, 8])
        %0 = tile.hslice(%x) {n = 2} : (Float32[1, 2, 3, 4, 8]) -> Float32[1, 2, 3, 2, 4, 4]
        return %0 : Float32[1, 2, 3, 2, 4, 4]""",
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_what_cannot_be_made_legal(case: str) -> None:
    with pytest.raises(Error) as error:
        apply(LegalizeTile(), ILLEGAL[case])
    assert error.value.code == "E0503"
    assert error.value.where is not None
    assert "n150" in error.value.message


def test_borders_to_the_host_take_any_rank() -> None:
    tensor = "f32[2, 3, 4, 5, 6]"
    text = f"""(%x: {FIVE})
        %0 = tile.to_host(%x) : ({FIVE}) -> {tensor}
        %1 = nn.identity(%0) : ({tensor}) -> {tensor}
        %2 = tile.from_host(%1) : ({tensor}) -> {FIVE}
        return %2 : {FIVE}"""
    same(LegalizeTile(), text, text)
