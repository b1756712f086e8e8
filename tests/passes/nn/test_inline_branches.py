"""Tests of the pass in passes/nn/inline_branches.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.inline_branches import InlineBranches

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

T = "tensor<2xf32>"


def branch(first: str, second: str = "nn.neg(%b) : (tensor<2xf32>) -> tensor<2xf32>", condition: str = "i1") -> str:
    return f"""(%c: tensor<{condition}>, %x: {T})
        %0 = nn.branch(%c, %x) : (tensor<{condition}>, {T}) -> {T} {{
        ^bb0(%a: {T}):
          %1 = {first}
          nn.yield(%1) : ({T}) -> ()
        }} {{
        ^bb0(%b: {T}):
          %2 = {second}
          nn.yield(%2) : ({T}) -> ()
        }}
        return %0 : {T}"""


def test_docstring(harness: Harness) -> None:
    harness.docstring(InlineBranches())


def test_a_number_that_chooses_stays(harness: Harness) -> None:
    outcome = harness.unchanged(InlineBranches(), branch(f"nn.exp(%a) : ({T}) -> {T}", condition="i64"))
    assert outcome.missed() == ["a branch is taken by the host: an integer chooses it"]


def test_an_op_that_may_fail_stays(harness: Harness) -> None:
    cast = "nn.cast(%x) {dtype = i64} : (tensor<2xf32>) -> tensor<2xi64>"
    first = f"nn.gather(%a, %i) {{axis = 0}} : ({T}, tensor<2xi64>) -> {T}".replace("%i", "%3")
    text = branch(first).replace("%1 = ", f"%3 = {cast.replace('%x', '%a')}\n          %1 = ", 1)
    outcome = harness.unchanged(InlineBranches(), text)
    assert outcome.missed()[0].startswith("a branch is taken by the host: nn.gather may fail")


def nested(inner: str) -> str:
    """A branch in the first region of another."""
    body = f"""nn.branch(%d, %a) : (tensor<i1>, {T}) -> {T} {{
          ^bb0(%e: {T}):
            %5 = {inner}
            nn.yield(%5) : ({T}) -> ()
          }} {{
          ^bb0(%f: {T}):
            nn.yield(%f) : ({T}) -> ()
          }}"""
    text = branch(body).replace("nn.branch(%c, %x) : (tensor<i1>, ", "nn.branch(%c, %x, %k) : (tensor<i1>, tensor<2xf32>, tensor<i1>, ", 1)
    text = text.replace("(tensor<i1>, tensor<2xf32>, tensor<i1>, tensor<2xf32>)", "(tensor<i1>, tensor<2xf32>, tensor<i1>)", 1)
    text = text.replace(f"^bb0(%a: {T})", f"^bb0(%a: {T}, %d: tensor<i1>)").replace(f"^bb0(%b: {T})", f"^bb0(%b: {T}, %g: tensor<i1>)")
    return text.replace("(%c: tensor<i1>, ", "(%c: tensor<i1>, %k: tensor<i1>, ", 1)


def test_branches_in_branches(harness: Harness) -> None:
    outcome = harness.numbers(InlineBranches(), nested(f"nn.exp(%e) : ({T}) -> {T}"))
    assert (outcome.count("branch"), outcome.count("where"), outcome.count("exp"), outcome.count("neg")) == (0, 2, 1, 1)


def test_a_branch_around_one_that_stays_stays(harness: Harness) -> None:
    dynamic = f"nn.dynamic_reshape(%e, %6) {{sizes = [2]}} : ({T}, tensor<1xi64>) -> {T}"
    text = nested(dynamic).replace("%5 = ", "%6 = nn.shape(%e) : (tensor<2xf32>) -> tensor<1xi64>\n            %5 = ")
    outcome = harness.unchanged(InlineBranches(), text)
    assert [message.split()[7] for message in outcome.missed()] == ["nn.dynamic_reshape", "nn.branch"]


def test_a_branch_with_one_side_is_remarked_on(harness: Harness) -> None:
    text = f"""(%x: {T}, %c: tensor<i1>)
        %0 = nn.require(%x, %c) {{message = "it does not fit", wanted = true}} : ({T}, tensor<i1>) -> {T}
        return %0 : {T}"""
    (remark,) = harness.run(InlineBranches(), text).remarks
    assert remark.kind == "analysis"
    assert remark.message == "one side of a branch is left, for runs that take it: otherwise it does not fit"
