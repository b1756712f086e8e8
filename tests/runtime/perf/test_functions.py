"""Elementwise functions in terms of measured ones."""

from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.tile.buda import FUNCTIONS as BUDA
from ttc.dialects.tile.facts.sfpu import BINARY_FUNCTIONS, RESCALES, SFPU_FUNCTIONS
from ttc.runtime.perf.functions import ENGINE, FUNCTIONS, primitives

TILE, SCALAR = TensorType((32, 32), "Float32", "tiles(32, 32)"), TensorType((), "Float32")


def test_functions_are_made_of_measured_ones() -> None:
    assert {name for names in FUNCTIONS.rules().values() for name in names} <= ENGINE.keys()


def test_functions_of_buda_are_measured_themselves() -> None:
    assert {*SFPU_FUNCTIONS, *BINARY_FUNCTIONS, *RESCALES} <= ENGINE.keys()
    for name, buda in BUDA.items():
        assert primitives(name, (TILE, TILE)) in ((buda,), ()) or name == "clip"


def test_what_the_packer_does_costs_nothing() -> None:
    assert primitives("relu") == primitives("clip", (TILE,), (0.0, 6.0)) == ()
    assert primitives("clip", (TILE,), (-1.0, 1.0)) == ("maximum",)


def test_powers_by_a_number_and_by_a_tensor() -> None:
    assert primitives("pow", (TILE, SCALAR)) == ("power",)
    assert primitives("pow", (TILE, TILE)) == ("log", "multiply", "exp")


def test_what_the_device_has_no_kernel_of_has_a_rough_cost() -> None:
    assert primitives("atanh", (TILE,)) == ("exp", "log")
    assert primitives("shift_left", (TILE, TILE)) == ("maximum", "maximum")
