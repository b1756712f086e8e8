"""Tests of the pass in passes/nn/hoist_invariants.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.hoist_invariants import HoistInvariants

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

T = "tensor<2xf32>"


def loop(body: str, yields: str, carried: int = 2, results: str = f"{T}, {T}", condition: str = "_") -> str:
    """A loop over %x and %w, where %a and %b are its arguments, to which a body of ops named from %2 on is added."""
    types = f"tensor<i64>, {'tensor<i1>, ' if condition != '_' else ''}{T}, {T}"
    names = ", ".join(f"%r{i}" for i in range(results.count("tensor")))
    values = ", ".join(f"tensor<{part.split('>')[0]}>" for part in results.split("tensor<")[1:])
    return f"""(%c: tensor<i1>, %x: {T}, %w: {T})
        %n = ttc.constant() {{value = #ttc.literal<[3], tensor<i64>>}} : () -> tensor<i64>
        {names} = nn.loop(%n, {condition}, %x, %w) {{carried = {carried}}} : ({types}) -> ({results}) {{
        ^bb0(%i: tensor<i64>, %a: {T}, %b: {T}):
          %z = ttc.constant() {{value = #ttc.literal<[0.0], tensor<1x1xf32>>}} : () -> tensor<1x1xf32>
          {body}
          nn.yield({yields})
        }}
        return {names} : {values}"""


def test_docstring(harness: Harness) -> None:
    harness.docstring(HoistInvariants())


def test_a_value_to_which_nothing_is_added_is_the_same(harness: Harness) -> None:
    body = f"""%2 = nn.reshape(%b) {{shape = [1, 2]}} : ({T}) -> tensor<1x2xf32>
          %3 = nn.add(%2, %z) : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
          %4 = nn.reshape(%3) {{shape = [2]}} : (tensor<1x2xf32>) -> {T}
          %5 = nn.tanh(%b) : ({T}) -> {T}
          %6 = nn.sub(%a, %5) : ({T}, {T}) -> {T}"""
    outcome = harness.numbers(HoistInvariants(), loop(body, f"%6, %4) : ({T}, {T}) -> ("))
    text = outcome.text
    assert "carried = 1" in text
    assert text.index("nn.tanh") < text.index("nn.loop")


def test_a_condition_and_stacks_keep_their_places(harness: Harness) -> None:
    body = f"""%2 = nn.exp(%b) : ({T}) -> {T}
          %3 = nn.mul(%a, %2) : ({T}, {T}) -> {T}
          %4 = ttc.constant() {{value = #ttc.literal<[2], tensor<i64>>}} : () -> tensor<i64>
          %5 = nn.less(%i, %4) : (tensor<i64>, tensor<i64>) -> tensor<i1>"""
    text = loop(
        body,
        f"%5, %3, %b, %2, %3) : (tensor<i1>, {T}, {T}, {T}, {T}) -> (",
        results=f"{T}, {T}, tensor<?x2xf32>, tensor<?x2xf32>",
        condition="%c",
    )
    outcome = harness.numbers(HoistInvariants(), text)
    assert outcome.report.rewrites["hoist-invariants"] == 1
    assert "carried = 1" in outcome.text


def test_what_leaves_a_loop_leaves_the_one_around_it(harness: Harness) -> None:
    inner = f"""%2 = nn.loop(%i, _, %a, %b) {{carried = 1}} : (tensor<i64>, {T}, {T}) -> {T} {{
          ^bb0(%j: tensor<i64>, %d: {T}, %e: {T}):
            %3 = nn.cos(%e) : ({T}) -> {T}
            %4 = nn.add(%d, %3) : ({T}, {T}) -> {T}
            nn.yield(%4) : ({T}) -> ()
          }}"""
    outcome = harness.numbers(HoistInvariants(), loop(inner, f"%2) : ({T}) -> (", carried=1, results=T))
    text = outcome.text
    assert text.index("nn.cos") < text.index("nn.loop")


def test_what_may_fail_or_depends_on_the_iteration_stays(harness: Harness) -> None:
    body = f"""%2 = nn.cast(%b) {{dtype = i64}} : ({T}) -> tensor<2xi64>
          %3 = nn.add(%i, %i) : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %4 = nn.cast(%3) {{dtype = f32}} : (tensor<i64>) -> tensor<f32>
          %5 = nn.add(%a, %4) : ({T}, tensor<f32>) -> {T}
          %6 = nn.mul(%b, %5) : ({T}, {T}) -> {T}"""
    harness.unchanged(
        HoistInvariants(),
        loop(body.replace("%2 = nn.cast(%b) {dtype = i64} : (tensor<2xf32>) -> tensor<2xi64>\n", ""), f"%5, %6) : ({T}, {T}) -> ("),
    )
    gather = f"""%2 = nn.cast(%b) {{dtype = i64}} : ({T}) -> tensor<2xi64>
          %3 = nn.gather(%b, %2) {{axis = 0}} : ({T}, tensor<2xi64>) -> {T}
          %4 = nn.mul(%a, %3) : ({T}, {T}) -> {T}"""
    outcome = harness.numbers(HoistInvariants(), loop(gather, f"%4) : ({T}) -> (", carried=1, results=T))
    text = outcome.text
    assert text.index("nn.loop") < text.index("nn.gather")
