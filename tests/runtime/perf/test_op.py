"""Cycles of ops of plain netlists."""

from dataclasses import replace

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Blocking, Grid, Host, Op
from ttc.passes.tile_to_netlist.blocking import candidates
from ttc.runtime.perf.base import OpView
from ttc.runtime.perf.core import core_cycles
from ttc.runtime.perf.op import op_cycles
from ttc.runtime.perf.work import NOTHING, CoreWork

ARCH = "wormhole_b0"
TILES = "tiles(32, 32)"


def tensor(*shape: int, format_: str = "Bfp8_b") -> TensorType:
    return TensorType(shape, format_, TILES)


def op(works: tuple[Work, ...], *inputs: TensorType, **changes: object) -> Op:
    """An op on 2 x 2 cores whose result is 256 x 256; works give values in order."""
    work = Function(inputs, works, (len(inputs) + len(works) - 1,))
    made = Op("a", "x", ("p", "q")[: len(inputs)], Grid(0, 0, 2, 2), Blocking(1, (2, 1), (2, 4)), work, fidelity="HiFi2")
    return replace(made, intermediate="Float16_b", **changes)  # pyright: ignore[reportArgumentType]


MATMUL = Work("tile.matmul", (0, 1, None), {"transpose_a": False, "transpose_b": False}, (tensor(256, 256),))
GELU = Work("tile.map", (2,), {"fn": "gelu"}, (tensor(256, 256),))


def test_a_matmul_in_its_own_blocks_formats_and_fidelity() -> None:
    found = op_cycles(op((MATMUL,), tensor(256, 512), tensor(512, 256), inner=(4, 4)), ARCH)
    work = CoreWork("matmul", ("Bfp8_b", "Bfp8_b"), "Bfp8_b", 1, (2, 1), (2, 4), (4, 4), "HiFi2", "Float16_b")
    assert found == core_cycles(work, ARCH)


def test_a_function_of_what_was_just_computed_is_applied_before_packing() -> None:
    both = op_cycles(op((MATMUL, GELU), tensor(256, 512), tensor(512, 256), inner=(4, 4)), ARCH)
    alone = op_cycles(op((MATMUL,), tensor(256, 512), tensor(512, 256), inner=(4, 4)), ARCH)
    tiles = 16
    assert 200 * tiles < both.math - alone.math < 300 * tiles
    assert both.pipes == alone.pipes


def test_views_pass_formats_on_and_cost_nothing() -> None:
    views = (
        Work("tile.adjust", (0,), {"to": "Bfp8_b"}, (tensor(256, 256, format_="Float32"),)),
        Work("tile.repeat", (1,), {"axis": 0, "n": 1}, (tensor(256, 256, format_="Float32"),)),
    )
    last = Work("tile.map", (2,), {"fn": "exp"}, (tensor(256, 256),))
    found = op_cycles(op((*views, last), tensor(256, 256)), ARCH)
    assert found == core_cycles(CoreWork("exp", ("Bfp8_b",), "Bfp8_b", 1, (2, 1), (2, 4), fidelity="HiFi2", intermediate="Float16_b"), ARCH)


def test_an_op_of_views_alone_copies() -> None:
    view = Work("tile.transpose", (0,), {"perm": (1, 0)}, (tensor(256, 256),))
    assert op_cycles(op((view,), tensor(256, 256)), ARCH).core > 0


def test_attributes_that_only_a_netlist_says() -> None:
    exp = Work("tile.sfpu", (0,), {"fn": "exp"}, (tensor(256, 256),))
    said = (("attributes", (("approximate_mode", True),)),)
    exact, rough = (op_cycles(op((exp,), tensor(256, 256), settings=s), ARCH).math for s in ((), said))
    assert rough < exact / 2
    deep = {"inner": (8, 2)}
    inputs = (tensor(256, 512), tensor(512, 256))
    spilled = op_cycles(op((MATMUL,), *inputs, **deep), ARCH)
    added = op_cycles(op((MATMUL,), *inputs, settings=(("attributes", (("l1_acc", True),)),), **deep), ARCH)
    assert added.core != spilled.core


def test_works_of_other_sizes_are_shared_among_the_cores() -> None:
    scores = Work("tile.matmul", (0, 1, None), {"transpose_a": False, "transpose_b": False}, (tensor(256, 1024),))
    last = Work("tile.reduce", (2,), {"fn": "max", "axes": (-1,), "keepdims": True}, (tensor(256, 256),))
    found = op_cycles(op((scores, last), tensor(256, 512), tensor(512, 1024)), ARCH)
    assert found.math > 16.0 * 2 * (8 * 32 * 16) / 4


def test_equal_ops_are_costed_once_whatever_their_names() -> None:
    one = op((MATMUL,), tensor(256, 512), tensor(512, 256), inner=(4, 4))
    assert op_cycles(one, ARCH) is op_cycles(replace(one, name="b", location=("there",)), ARCH)


def test_an_op_on_no_core_costs_none() -> None:
    assert op_cycles(op((MATMUL,), tensor(256, 512), tensor(512, 256), place=Host()), ARCH) == NOTHING
    assert op_cycles(op((MATMUL,), tensor(256, 512), tensor(512, 256), blocking=None), ARCH) == NOTHING


def test_the_balancer_and_the_netlist_cost_the_same() -> None:
    target = load_target("n150")
    view = OpView("softmax", {"axis": -1}, (tensor(12, 384, 384),), tensor(12, 384, 384), "HiFi3", intermediate="Float16_b")
    works = (Work("tile.softmax", (0,), {"axis": -1}, (tensor(12, 384, 384),)),)
    found = [c for c in candidates(view, target) if c.cores > 1]
    assert found
    for c in found:
        made = op(works, tensor(12, 384, 384), place=Grid(0, 0, c.rows, c.cols), blocking=c.blocking, inner=c.inner, fidelity="HiFi3")
        assert int(op_cycles(made, target.arch).core) == c.cycles
