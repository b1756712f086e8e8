"""Truth values that stay numbers where only numbers follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tile.vocabulary import expand
from tests.passes.tiles import check_numbers, parse
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.tile.base import TileType

ZERO = "%z = ttc.constant() {value = #ttc.literal<[0.0], f32[]>} : () -> Float32[]\n"
GREATER = '%c = tile.map(%x, %z) {fn = "greater"} : (Float32[2, 8], Float32[]) -> UInt8[2, 8]\n'
CHOSEN = '%y = tile.map(%c, %x, %z) {fn = "where"} : (UInt8[2, 8], Float32[2, 8], Float32[]) -> Float32[2, 8]\n'
VALUES = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)
FRAGMENTS = {
    "chosen": f"(%x: Float32[2, 8])\n{ZERO}{GREATER}{CHOSEN}return %y : Float32[2, 8]",
    "inverted": f'(%x: Float32[2, 8])\n{ZERO}{GREATER}%n = tile.map(%c) {{fn = "not"}} : (UInt8[2, 8]) -> UInt8[2, 8]\n'
    f"{CHOSEN.replace('(%c,', '(%n,')}return %y : Float32[2, 8]",
    "cast": f"(%x: Float32[2, 8])\n{ZERO}{GREATER}%y = tile.cast(%c) : (UInt8[2, 8]) -> Float32[2, 8]\nreturn %y : Float32[2, 8]",
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_numbers_alone_stay_on_the_device(name: str) -> None:
    outcome = expand(FRAGMENTS[name])
    check_numbers(parse(FRAGMENTS[name]), outcome.unit, 0, (VALUES,))
    types = [result.type.data for op in outcome.unit.module.walk() for result in op.results if isinstance(result.type, TileType)]
    assert all(FORMATS[tile.format].is_float for tile in types)
    assert not outcome.ops("tile.to_host")


def test_truth_values_that_the_user_gets_are_integers() -> None:
    text = f"(%x: Float32[2, 8])\n{ZERO}{GREATER}{CHOSEN}return %c, %y : UInt8[2, 8], Float32[2, 8]"
    outcome = expand(text)
    check_numbers(parse(text), outcome.unit, 0, (VALUES,))
    assert outcome.ops("tile.to_host")
