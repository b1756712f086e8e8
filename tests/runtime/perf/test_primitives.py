"""The primitives of tile ops, and what ops cost by them."""

import dataclasses
import math

import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.tile.base import ops as tile_ops
from ttc.dialects.tile.facts import facts
from ttc.runtime.perf.base import DST_TILES, OpView, Share
from ttc.runtime.perf.core import core_cycles
from ttc.runtime.perf.cycles import cycles, share_cycles
from ttc.runtime.perf.functions import ENGINE, FUNCTIONS, primitives
from ttc.runtime.perf.primitives import key_parts, works_of

ARCH = "wormhole_b0"
TILES = "tiles(32, 32)"
IMAGES = "tiles(32, 32, 3)"


def tensor(*shape: int, layout: str = TILES, format_: str = "Float16_b") -> TensorType:
    return TensorType(shape, format_, layout)


def view(op: str, result: TensorType, *operands: TensorType | None, **attrs: object) -> OpView:
    return OpView(op, attrs, operands or (result,), result, "HiFi3", intermediate="Float16_b")  # pyright: ignore[reportArgumentType]


ROWS, IMAGE = tensor(256, 512), tensor(1, 32, 32, 64, layout=IMAGES)
POOL = {"kernel": (3, 3), "strides": (1, 1)}
CONV = {"strides": (1, 1), "groups": 1}
COMPOSITES = [
    (view("softmax", ROWS, ROWS, axis=-1), ["reduce", "subtract", "matmul", "reciprocal", "multiply"]),
    (view("log_softmax", ROWS, ROWS, axis=-1), ["reduce", "subtract", "matmul", "log", "subtract"]),
    (
        view("layer_norm", ROWS, ROWS, tensor(512), tensor(512)),
        ["matmul", "subtract", "multiply", "matmul", "sqrt", "multiply", "multiply", "add"],
    ),
    (view("rms_norm", ROWS, ROWS, tensor(512)), ["multiply", "matmul", "sqrt", "multiply", "multiply"]),
    (
        view("attention", tensor(256, 32), tensor(256, 64), tensor(128, 64), tensor(128, 32), tensor(256, 128)),
        ["matmul", "add", "reduce", "subtract", "matmul", "reciprocal", "multiply", "matmul"],
    ),
    (view("conv2d", IMAGE, IMAGE, tensor(3, 3, 64, 64), None, activation="relu", **CONV), ["matmul"]),
    (view("conv2d", IMAGE, IMAGE, tensor(3, 3, 1, 64), None, strides=(1, 1), groups=64), ["depthwise"]),
    (view("conv_transpose2d", IMAGE, IMAGE, tensor(2, 2, 64, 64), None, **CONV), ["matmul"]),
    (view("max_pool2d", IMAGE, IMAGE, **POOL), ["reduce"]),
    (view("avg_pool2d", IMAGE, IMAGE, **POOL), ["depthwise"]),
    (view("depthwise", ROWS, tensor(9, 256, 512), tensor(9, 512)), ["depthwise"]),
]
SHARES = [Share(1, 1, 1, (1, 1)), Share(1, 8, 2, (2, 2)), Share(2, 4, 8, (1, 8)), Share(1, 8, 2, (2, 2), reread=True)]


@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize(("op", "expected"), COMPOSITES, ids=lambda x: x.op if isinstance(x, OpView) else "")
def test_a_composite_costs_at_least_the_math_of_its_primitives(op: OpView, expected: list[str], share: Share) -> None:
    works = works_of(op, share)
    assert [work.op for work in works] == expected
    found, parts = share_cycles(op, share, ARCH), [core_cycles(work, ARCH) for work in works]
    assert found.core >= sum(part.core for part in parts) * (1 - 1e-9) >= sum(part.math for part in parts) * (1 - 1e-9)
    assert cycles(op, share, ARCH) == max(int(found.core), 1)


def test_windows_and_rows_read_again_cost_their_reading() -> None:
    share = Share(1, 8, 2, (2, 2))
    window = view("conv2d", IMAGE, IMAGE, tensor(3, 3, 64, 64), None, **CONV)
    tile_bytes, gathered = 2080, 8 * 2 * 9
    assert share_cycles(window, share, ARCH).core >= gathered * tile_bytes / 28
    point = view("conv2d", IMAGE, IMAGE, tensor(1, 1, 64, 64), None, **CONV)
    product = view("matmul", tensor(1024, 64), tensor(1024, 64), tensor(64, 64), None)
    assert share_cycles(point, share, ARCH) == share_cycles(product, share, ARCH)
    held, again = (share_cycles(COMPOSITES[0][0], s, ARCH).core for s in (Share(1, 8, 2, (2, 2)), Share(1, 8, 2, (2, 2), reread=True)))
    assert again >= held


def test_products_count_k_bias_and_activation() -> None:
    a, b, y = tensor(256, 512), tensor(512, 512), tensor(256, 512)
    share = Share(1, 8, 2, (2, 2), inner=(2, 8))
    plain, biased = (
        works_of(view("matmul", y, a, b, None), share)[0],
        works_of(view("matmul", y, a, b, tensor(512), activation="gelu"), share)[0],
    )
    assert (plain.inner, plain.mblock, plain.then, biased.then) == ((2, 8), (4, 1), (), ("add", "gelu"))
    stacked = view("matmul", y, tensor(9, 256, 512), tensor(9, 512, 512), None, accumulate=True)
    assert math.prod(works_of(stacked, share)[0].inner) == 9 * 16
    assert works_of(view("matmul", y, a, b, None, activation="clip", activation_args=(0.0, 6.0)), share)[0].then == ()


def test_reductions_read_their_operand() -> None:
    share = Share(1, 2, 1, (2, 1))
    columns = works_of(view("reduce", tensor(64, 1), tensor(64, 512), fn="max", axes=(-1,), keepdims=True), share)[0]
    assert (columns.op, columns.dim, columns.tiles) == ("reduce", "c", 32)
    rows = works_of(view("reduce", tensor(1, 64), tensor(512, 64), fn="max", axes=(0,), keepdims=True), Share(1, 1, 2, (1, 2)))[0]
    assert (rows.dim, rows.tiles) == ("r", 32)
    matrices = works_of(view("reduce", tensor(1, 64, 64), tensor(7, 64, 64), fn="max", axes=(0,), keepdims=True), share)[0]
    assert (matrices.dim, matrices.z) == ("z", 7)
    assert works_of(view("reduce", tensor(64, 1), tensor(64, 512), fn="mean", axes=(-1,), keepdims=True), share)[0].op == "matmul"


def test_a_region_stays_in_the_destination_register() -> None:
    works = (
        Work("tile.map", (0, 1), {"fn": "add"}, (ROWS,)),
        Work("tile.map", (2,), {"fn": "silu"}, (ROWS,)),
        Work("tile.map", (3,), {"fn": "relu"}, (ROWS,)),
    )
    region = OpView("eltwise", {}, (ROWS, ROWS), ROWS, "HiFi4", Function((ROWS, ROWS), works, (4,)))
    found = works_of(region, Share(1, 4, 4, (1, 4)))
    assert [(work.op, work.then) for work in found] == [("add", ("sigmoid", "multiply"))]


@pytest.mark.parametrize("fn", sorted(FUNCTIONS.rules()))
def test_every_function_has_a_cost(fn: str) -> None:
    assert set(primitives(fn, (ROWS,))) <= ENGINE.keys()
    found = share_cycles(view("map", ROWS, ROWS, ROWS, fn=fn), Share(1, 2, 2, (1, 2)), ARCH)
    assert 0 < found.core < 1e5


ATTRS = {
    "map": {"fn": "exp"},
    "rescale": {"kind": "requantization"},
    "sfpu": {"fn": "exp", "vector": "r"},
    "binary": {"fn": "maximum"},
    "sparse_matmul": {"sizes": (3, 3, 256), "steps": (0, 0, 1), "terms": 2},
    "reduce": {"fn": "max", "axes": (-1,)},
    "topk": {"cores": 1, "k": 32},
}


@pytest.mark.parametrize("op", sorted(name for name in tile_ops().keys() - {"yield"} if not facts()[name].rows_only))
def test_every_tile_op_has_a_cost(op: str) -> None:
    images = {"conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d"}
    attrs = ATTRS.get(op) or ({**POOL, **CONV} if op in images else {"count": 3} if op == "tile_depthwise" else {})
    operands = (IMAGE, tensor(3, 3, 64, 64)) if op in images else (ROWS, tensor(512, 512), tensor(512, 512))
    found = share_cycles(view(op, IMAGE if op in images else ROWS, *operands, **attrs), Share(1, 2, 2, (1, 2)), ARCH)
    assert 0 < found.core <= found.total < 1e7


def test_sums_of_a_selection_cost_its_terms() -> None:
    share = Share(1, 8, 2, (2, 2))
    one, nine = (
        works_of(view("sparse_matmul", ROWS, ROWS, sizes=(k, k, 16, 16), steps=(1,) * 16, terms=2), share)[0].sparse for k in (1, 3)
    )
    assert one is not None
    assert nine is not None
    assert nine[2] == 9 * one[2]


def test_scores_fill_the_destination_register() -> None:
    """Half as many rows take half the time, though the block of the result has half the tiles; 32-bit values take the place of two."""
    heads = tensor(8, 192, 64)
    attention = view("attention", heads, heads, tensor(8, 384, 64), tensor(8, 384, 64))
    scores = [works_of(attention, share)[0] for share in (Share(1, 1, 2, (1, 2)), Share(1, 2, 2, (2, 2)))]
    assert [work.ublock for work in scores] == [(1, 6), (1, 6)]
    one, two = (cycles(attention, share, ARCH) for share in (Share(1, 1, 2, (1, 2)), Share(1, 2, 2, (2, 2))))
    assert two / 2 == pytest.approx(one, rel=0.1)
    wide = works_of(dataclasses.replace(attention, intermediate="Float32"), Share(1, 2, 2, (2, 2)))[0]
    assert wide.ublock == (1, 4)
    short = view("attention", heads, heads, tensor(8, 64, 64), tensor(8, 64, 64))
    assert works_of(short, Share(1, 4, 2, (4, 2)))[0].ublock == (4, 2)


def test_cores_that_share_a_row_of_an_attention_meet_a_part_of_the_keys_each() -> None:
    """A head of 64 columns and 384 keys: half of the keys, and all columns, and then the sums of both cores joined."""
    heads = tensor(8, 192, 64)
    attention = view("attention", heads, heads, tensor(8, 384, 64), tensor(8, 384, 64))
    alone, shared = Share(1, 1, 2, (1, 2)), Share(1, 1, 1, (1, 1))
    assert [key_parts(attention, share.cols) for share in (alone, shared)] == [1, 2]
    all_keys, half = works_of(attention, alone), works_of(attention, shared)
    scores, products = all_keys[0], all_keys[-1]
    assert half[0].tiles * 2 == scores.tiles
    assert half[len(all_keys) - 1].tiles == products.tiles
    assert half[len(all_keys) - 1].inner == (1, 6)
    joined = [work.op for work in half[len(all_keys) :]]
    weighed = ["subtract", "multiply", "multiply"] * 2
    assert joined == ["nop", "nop", "maximum", "add", *weighed, "nop", "add", "reciprocal", "multiply"]
    assert cycles(attention, alone, ARCH) / 2 < cycles(attention, shared, ARCH) < cycles(attention, alone, ARCH)


def test_functions_in_their_coarser_form() -> None:
    """All of an elementwise op, which includes what follows a product, and of attention and softmax the exponentials alone."""
    softmax = dataclasses.replace(COMPOSITES[0][0], approximate=True)
    share = Share(1, 8, 2, (2, 2))
    assert [work.op for work in works_of(softmax, share) if work.approximate] == ["subtract"]
    assert [work.then for work in works_of(softmax, share) if work.approximate] == [("exp",)]
    assert cycles(softmax, share, ARCH) < 0.75 * cycles(COMPOSITES[0][0], share, ARCH)
    product = dataclasses.replace(view("matmul", ROWS, ROWS, tensor(512, 512), None, activation="exp"), approximate=True)
    assert [work.approximate for work in works_of(product, share)] == [True]


def test_all_architectures_have_the_same_destination_register() -> None:
    for name in ("n150", "p150", "e150"):
        assert load_target(name).dst_tiles == DST_TILES
