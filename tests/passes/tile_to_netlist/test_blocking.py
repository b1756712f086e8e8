"""Candidates: they cover the result, fit L1, use no idle core, and get faster with more cores."""

from dataclasses import replace

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.sizes import streamed_t
from ttc.passes.tile_to_netlist.blocking import BlockingSubject, candidates, find
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.runtime.perf.base import OpView

TILES = "tiles(32, 32)"


def tensor(*shape: int, layout: str = TILES) -> TensorType:
    return TensorType(shape, "Float32", layout)


def matmul(rows: int, inner: int, cols: int) -> OpView:
    return OpView("matmul", {}, (tensor(rows, inner), tensor(inner, cols), None), tensor(rows, cols), "HiFi4")


def conv(height: int, channels: int, kernel: int, out: int) -> OpView:
    layout = "tiles(32, 32, 3)"
    image = tensor(1, height, height, channels, layout=layout)
    attrs = {"strides": (1, 1), "pads": (kernel // 2,) * 4, "dilations": (1, 1), "groups": 1}
    weight = tensor(kernel, kernel, channels, out)
    return OpView("conv2d", attrs, (image, weight, None), tensor(1, height, height, out, layout=layout), "HiFi4")


def pool(op: str, width: int, channels: int, stride: int) -> OpView:
    """A 2 x 2 pool, or what undoes one, of an image of this width."""
    layout = "tiles(32, 32, 3)"
    image, attrs = tensor(1, width, width, channels, layout=layout), {"kernel": (2, 2), "strides": (stride, stride)}
    weight = (tensor(2, 2, channels, channels),) if op == "conv_transpose2d" else ()
    size = width * stride if weight else width // stride
    return OpView(op, attrs, (image, *weight), tensor(1, size, size, channels, layout=layout), "HiFi4")


def taps(size: int, channels: int, window: int) -> TensorType:
    return tensor(window * window, size * size, channels)


def gather(size: int, channels: int, window: int, terms: int) -> OpView:
    """The pixels under each tap of a window, or their sums."""
    attrs = {"sizes": (window, window, 1, size, size), "steps": (0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1), "terms": terms}
    image = tensor(1, size, size, channels, layout="tiles(32, 32, 3)")
    result = taps(size, channels, window) if terms == 0 else tensor(size * size, channels)
    return OpView("sparse_matmul", attrs, (image,), result, "HiFi4")


def depthwise(size: int, channels: int, window: int) -> OpView:
    operands = (taps(size, channels, window), tensor(window * window, channels), tensor(channels))
    return OpView("depthwise", {}, operands, tensor(size * size, channels), "HiFi4")


def summed(size: int, channels: int, window: int, out: int) -> OpView:
    """Products summed over the taps."""
    operands = (taps(size, channels, window), tensor(window * window, channels, out), None)
    return OpView("matmul", {"accumulate": True}, operands, tensor(size * size, out), "HiFi4")


VIEWS = [
    gather(112, 64, 3, 0),
    gather(56, 960, 3, 2),
    depthwise(112, 96, 3),
    summed(112, 3, 7, 64),
    matmul(128, 768, 3072),
    matmul(1, 2048, 1000),
    matmul(4096, 64, 4096),
    conv(224, 3, 7, 64),
    conv(7, 512, 3, 512),
    conv(56, 64, 1, 256),
]


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: f"{v.op}-{v.result.shape}")
def test_candidates_cover_the_result_and_fit(view):
    target = load_target("n150")
    found = candidates(view, target)
    assert found[0].cores >= 1
    for c in found:
        assert streamed_t(view.result, (c.rows, c.cols), c.blocking) == c.blocking.t
        assert sum(b.size_bytes for b in c.buffers) <= target.l1_usable_bytes
        assert c.blocking.ublock[0] * c.blocking.ublock[1] <= target.dst_tiles // 2
    assert [c.busy for c in found] == sorted((c.busy for c in found), reverse=True)


def test_more_cores_help_a_large_matmul():
    found = candidates(matmul(128, 768, 3072), load_target("n150"))
    assert found[-1].cores >= 16
    assert found[0].cycles > 10 * found[-1].cycles


def test_an_op_that_cannot_fit_names_need_and_limit():
    wide = tensor(32, 64_000)
    with pytest.raises(Error, match=r"attention needs [\d,]+ bytes of L1.*1,027,968") as caught:
        candidates(OpView("attention", {}, (wide, wide, wide), wide, "HiFi4"), load_target("n150"))
    assert caught.value.code == "E0502"


def test_weights_of_more_taps_than_fit_are_read_again():
    target = load_target("n150")
    for window, copies in ((3, 1), (31, 2)):
        buffers = {b.role: b for b in candidates(depthwise(32, 64, window), target)[0].buffers}
        assert buffers["in1"].copies == copies
        assert sum(b.size_bytes for b in buffers.values()) <= target.l1_usable_bytes


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "layer_norm", "rms_norm"])
def test_rows_too_wide_to_hold_are_read_several_times(op):
    target = load_target("e75")
    held, read = (candidates(OpView(op, {"axis": -1}, (x,), x, "HiFi4"), target)[0] for x in (tensor(32, 512), tensor(32, 65_536)))
    assert sum(b.size_bytes for b in read.buffers) <= target.l1_usable_bytes
    assert held.blocking.t == 1 < read.blocking.t
    assert read.cycles > 100 * held.cycles


def test_sums_of_products_cost_as_many_products():
    target = load_target("n150")
    assert candidates(summed(32, 64, 3, 64), target)[0].cycles > 6 * candidates(matmul(1024, 64, 64), target)[0].cycles


def test_sums_of_rows_cost_more_than_rows():
    target = load_target("n150")
    assert candidates(gather(32, 64, 5, 2), target)[0].cycles > 5 * candidates(gather(32, 64, 1, 2), target)[0].cycles


@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d", "conv_transpose2d"])
def test_an_image_too_wide_for_a_window_is_read_once_a_tap(op):
    target = load_target("e75")
    narrow, wide = (candidates(pool(op, width, 64, 2), target)[0] for width in (256, 2048))
    assert sum(b.size_bytes for b in wide.buffers) <= target.l1_usable_bytes
    assert wide.cycles > 16 * narrow.cycles


def test_products_of_held_weights_hand_on_few_rows_at_a_time_where_that_costs_nothing():
    target, subject = load_target("n150"), BlockingSubject(matmul(128, 256, 256), frozenset({1}))
    held = {(c.rows, c.cols): c for c in find(subject, target).all if c.held_bytes}
    whole = find(replace(subject, limits=PlacementLimits(stream="c")), target).all  # rows are not cut
    one_step = {(c.rows, c.cols): c for c in whole if c.held_bytes and c.blocking.t == 1}
    compared = held.keys() & one_step.keys()
    assert compared
    assert all(held[grid].busy <= one_step[grid].busy for grid in compared)
    assert {held[grid].parts for grid in compared} == {1, 2, 4}
