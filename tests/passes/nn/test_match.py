"""What passes look for: constants, told op by op without walking what is known."""

from __future__ import annotations

import pytest

from tests.passes.conftest import parse
from ttc.dialects.core.ir.entries import entry_functions
from ttc.passes.nn import match
from ttc.passes.nn.match import MAX_EXPRESSION, KnownConstants, is_constant

LINKS = MAX_EXPRESSION + 8


def chain(doubled: bool) -> str:
    """Adds of constants, each of the one before it: to a constant, or to itself."""
    links = [
        f"%s{i} = nn.add(%s{i - 1}, %{f's{i - 1}' if doubled else 'c'}) : ({'tensor<f32>, ' * 2})".replace(", )", ")")
        for i in range(1, LINKS)
    ]
    body = "\n".join(f"{link} -> tensor<f32>" for link in links)
    return f"""(%x: tensor<f32>)
    %c = ttc.constant() {{value = #ttc.literal<[1.0], tensor<f32>>}} : () -> tensor<f32>
    %s0 = nn.neg(%c) : (tensor<f32>) -> tensor<f32>
    {body}
    %0 = nn.add(%x, %s3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>"""


@pytest.mark.parametrize("doubled", [False, True])
def test_constants_are_those_of_a_walk(doubled: bool) -> None:
    (function,) = entry_functions(parse(chain(doubled)).module)
    values = [result for op in function.body.block.ops for result in op.results]
    constants = KnownConstants()
    found = [value in constants for value in values]
    assert found == [is_constant(value) for value in values]
    assert found == [True] * (1 + MAX_EXPRESSION) + [False] * (LINKS - MAX_EXPRESSION + 1)


def test_a_chain_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[object] = []
    walk = match._expression_ops  # noqa: SLF001
    monkeypatch.setattr(match, "_expression_ops", lambda owner: [walked.append(owner), walk(owner)][1])
    (function,) = entry_functions(parse(chain(doubled=False)).module)
    constants = KnownConstants()
    assert sum(result in constants for op in function.body.block.ops for result in op.results) == 1 + MAX_EXPRESSION
    assert len(walked) <= 2
