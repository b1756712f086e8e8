"""The microbatch with which a run is shortest: it divides the batch, is never worse than the usual one, and leaves the unit as it was."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import parse_unit
from ttc.dialects.core.ir.adapter import print_op
from ttc.passes.microbatch import best_microbatch, tried
from ttc.passes.pipeline import USUAL


def chain(batch: int, size: int, ops: int) -> str:
    """Batches of rows through elementwise ops."""
    t = f"tensor<{batch}x{size}xf32>"
    body = "\n".join(f"%{i} = nn.sigmoid(%{i - 1 if i else 'x'}) : ({t}) -> {t}" for i in range(ops))
    return f"""
    func.func @forward(%x: {t} {{ttc.name = "x"}}) -> ({t} {{ttc.name = "y"}}) {{
      {body}
      func.return %{ops - 1} : {t}
    }}
    """


@pytest.mark.parametrize(("batch", "size"), [(256, 2048), (64, 32)])
def test_the_best_is_never_worse_than_the_usual(batch: int, size: int) -> None:
    unit = parse_unit(chain(batch, size, 3))
    before = print_op(unit.module)
    best = best_microbatch(unit, USUAL)
    usual, found = (tried(unit, USUAL, samples)[0] for samples in (None, best))
    assert best is None or batch % best == 0
    assert found <= usual
    assert print_op(unit.module) == before


def test_what_is_not_streamed_has_no_microbatch() -> None:
    unit = parse_unit(chain(1, 64, 1))
    assert best_microbatch(unit, USUAL) is None
