"""Tables of figures, one an architecture."""

import pytest

from ttc.dialects.core.machines.targets import arch_names
from ttc.runtime.perf.table import family, parse_table, table


@pytest.mark.parametrize("arch", sorted(arch_names() - {"host"} if isinstance(arch_names(), set) else set(arch_names()) - {"host"}))
def test_every_architecture_has_every_figure(arch: str) -> None:
    assert table(arch).figures.keys() >= table("wormhole_b0").figures.keys()


def test_an_architecture_has_its_own_figures_on_top_of_those_it_is_like() -> None:
    wormhole, blackhole, grayskull = table("wormhole_b0"), table("blackhole"), table("grayskull")
    assert blackhole["stream.pipe"] == pytest.approx(2 * wormhole["stream.pipe"], rel=1e-3)
    assert blackhole["exp.tile"] == wormhole["exp.tile"] != grayskull["exp.tile"]
    assert grayskull["tanh.tile"] == wormhole["tanh.tile"]  # timed on Wormhole alone


@pytest.mark.parametrize("arch", ["unheard_of", "../ops/grayskull", "host", ""])
def test_an_unknown_architecture_is_as_wormhole(arch: str) -> None:
    assert table(arch) is table("wormhole_b0")


def test_the_best_figure_is_of_the_variant_then_of_the_op_then_of_a_stream() -> None:
    figures = {
        name: {"value": value, "unit": "cycles", "origin": "fitted"}
        for name, value in {"exp.approx.tile": 1.0, "exp.tile": 2.0, "stream.tile": 3.0}.items()
    }
    found = parse_table({"arch": "x", "figures": figures})
    assert [found.best("exp", "tile", "approx"), found.best("exp", "tile"), found.best("sine", "tile", "approx")] == [1.0, 2.0, 3.0]


def test_families_of_formats() -> None:
    named = ("Float32", "Int32", "Float16_b", "UInt16", "Bfp8_b", "Bfp4", "Lf8", "Int8", "UInt8")
    assert [family(name) for name in named] == ["word", "word", "half", "half", "block", "block", "block", "int8", "int8"]
