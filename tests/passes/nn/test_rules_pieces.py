"""Tests of the rules in passes/nn/rules_pieces.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.rules_pieces import MAX_PARTS

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

T = {n: f"tensor<2x{n}xf32>" for n in range(10)}
SPLIT = f"%a, %b, %c = nn.split(%x) {{axis = -1, sizes = [2, 3, 4]}} : ({T[9]}) -> ({T[2]}, {T[3]}, {T[4]})\n"


def cut(name: str, of: str, whole: int, start: int, size: int, step: int = 1) -> str:
    return f"%{name} = nn.slice(%{of}) {{sizes = [2, {size}], starts = [0, {start}], steps = [1, {step}]}} : ({T[whole]}) -> {T[size]}\n"


CASES = {
    "parts in order": (
        f"(%x: {T[9]})\n{SPLIT}%y = nn.concat(%a, %b, %c) {{axis = 1}} : ({T[2]}, {T[3]}, {T[4]}) -> {T[9]}\nreturn %y : {T[9]}",
        f"(%x: {T[9]})\nreturn %x : {T[9]}",
    ),
    "some parts": (
        f"(%x: {T[9]})\n{SPLIT}%y = nn.concat(%b, %c) {{axis = 1}} : ({T[3]}, {T[4]}) -> {T[7]}\nreturn %y : {T[7]}",
        f"(%x: {T[9]})\n{cut('y', 'x', 9, 2, 7)}return %y : {T[7]}",
    ),
    "slices in order": (
        f"(%x: {T[9]})\n{cut('a', 'x', 9, 0, 5)}{cut('b', 'x', 9, 5, 4)}"
        f"%y = nn.concat(%a, %b) {{axis = 1}} : ({T[5]}, {T[4]}) -> {T[9]}\nreturn %y : {T[9]}",
        f"(%x: {T[9]})\nreturn %x : {T[9]}",
    ),
    "slice of a slice": (
        f"(%x: {T[9]})\n{cut('a', 'x', 9, 8, 4, -2)}{cut('y', 'a', 4, 1, 2)}return %y : {T[2]}",
        f"(%x: {T[9]})\n{cut('y', 'x', 9, 6, 2, -2)}return %y : {T[2]}",
    ),
    "slice of a concat": (
        f"(%p: {T[4]}, %q: {T[5]})\n%a = nn.concat(%p, %q) {{axis = 1}} : ({T[4]}, {T[5]}) -> {T[9]}\n{cut('y', 'a', 9, 8, 3, -2)}"
        f"return %y : {T[3]}",
        f"(%p: {T[4]}, %q: {T[5]})\n{cut('y', 'q', 5, 4, 3, -2)}return %y : {T[3]}",
    ),
    "concat of a concat": (
        f"(%p: {T[2]}, %q: {T[3]})\n%a = nn.concat(%p, %q) {{axis = 1}} : ({T[2]}, {T[3]}) -> {T[5]}\n"
        f"%y = nn.concat(%a, %p) {{axis = -1}} : ({T[5]}, {T[2]}) -> {T[7]}\nreturn %y : {T[7]}",
        f"(%p: {T[2]}, %q: {T[3]})\n%y = nn.concat(%p, %q, %p) {{axis = 1}} : ({T[2]}, {T[3]}, {T[2]}) -> {T[7]}\nreturn %y : {T[7]}",
    ),
    "nothing joined": (
        f"(%p: {T[2]}, %q: {T[0]})\n%y = nn.concat(%p, %q) {{axis = 1}} : ({T[2]}, {T[0]}) -> {T[2]}\nreturn %y : {T[2]}",
        f"(%p: {T[2]}, %q: {T[0]})\nreturn %p : {T[2]}",
    ),
    "split of a concat": (
        f"(%p: {T[4]}, %q: {T[5]})\n%a = nn.concat(%p, %q) {{axis = 1}} : ({T[4]}, {T[5]}) -> {T[9]}\n"
        f"%y, %z = nn.split(%a) {{axis = 1, sizes = [4, 5]}} : ({T[9]}) -> ({T[4]}, {T[5]})\nreturn %z, %y : {T[5]}, {T[4]}",
        f"(%p: {T[4]}, %q: {T[5]})\nreturn %q, %p : {T[5]}, {T[4]}",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_pieces(harness: Harness, before: str, after: str) -> None:
    harness.same(Canonicalize(), before, after)


STAY = {
    "other order": f"(%x: {T[9]})\n{SPLIT}%y = nn.concat(%b, %a) {{axis = 1}} : ({T[3]}, {T[2]}) -> {T[5]}\nreturn %y : {T[5]}",
    "across a joint": f"(%p: {T[4]}, %q: {T[5]})\n%a = nn.concat(%p, %q) {{axis = 1}} : ({T[4]}, {T[5]}) -> {T[9]}\n"
    f"{cut('y', 'a', 9, 3, 2)}return %y : {T[2]}",
    "cut elsewhere": f"(%p: {T[4]}, %q: {T[5]})\n%a = nn.concat(%p, %q) {{axis = 1}} : ({T[4]}, {T[5]}) -> {T[9]}\n"
    f"%y, %z = nn.split(%a) {{axis = 1, sizes = [5, 4]}} : ({T[9]}) -> ({T[5]}, {T[4]})\nreturn %z, %y : {T[4]}, {T[5]}",
}


@pytest.mark.parametrize("text", STAY.values(), ids=STAY)
def test_what_stays(harness: Harness, text: str) -> None:
    harness.unchanged(Canonicalize(), text)


def test_concats_of_many_parts_are_not_merged(harness: Harness) -> None:
    """Each doubles the one before: merged without bound, the last would have 2^12 operands."""
    types = [f"tensor<2x{1 << i}xf32>" for i in range(13)]
    lines = [f"%t{i + 1} = nn.concat(%t{i}, %t{i}) {{axis = 1}} : ({types[i]}, {types[i]}) -> {types[i + 1]}" for i in range(12)]
    outcome = harness.run(Canonicalize(), f"(%t0: {types[0]})\n" + "\n".join(lines) + f"\nreturn %t12 : {types[12]}")
    concats = [op for op in outcome.unit.module.walk() if op.name == "nn.concat"]
    assert max(len(op.operands) for op in concats) == MAX_PARTS
