"""Candidates: they cover the result, fit L1, use no idle core, and get faster with more cores."""

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import TensorType
from ttc.dialects.core.targets import load_target
from ttc.passes.tile_to_netlist.blocking import candidates, largest_divisor, splits
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


VIEWS = [
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
    t, rows, cols = view.result.tile_dims()
    found = candidates(view, target)
    assert found[0].cores >= 1
    for c in found:
        step_rows, step_cols = (c.blocking.mblock[i] * c.blocking.ublock[i] for i in (0, 1))
        steps = c.blocking.t // t
        share_tiles = steps * step_rows * step_cols
        assert c.cores * share_tiles >= rows * cols
        assert (c.rows - 1) * (share_tiles // step_cols if step_cols * c.cols >= cols else 1) < rows
        assert sum(b.size_bytes for b in c.buffers) <= target.l1_usable_bytes
        assert c.blocking.ublock[0] * c.blocking.ublock[1] <= target.dst_tiles // 2
    assert [c.cycles for c in found] == sorted((c.cycles for c in found), reverse=True)


def test_more_cores_help_a_large_matmul():
    found = candidates(matmul(128, 768, 3072), load_target("n150"))
    assert found[-1].cores >= 24
    assert found[0].cycles > 10 * found[-1].cycles


def test_an_op_that_cannot_fit_names_need_and_limit():
    wide = tensor(32, 4_000_000)
    view = OpView("softmax", {"axis": -1}, (wide,), wide, "HiFi4")
    with pytest.raises(Error, match=r"softmax needs [\d,]+ bytes of L1.*1,027,968") as caught:
        candidates(view, load_target("n150"))
    assert caught.value.code == "E0502"


def test_splits_leave_no_core_idle():
    for tiles in range(1, 120):
        for cores, share in splits(tiles, 9):
            assert (cores - 1) * share < tiles <= cores * share


def test_largest_divisor():
    assert [largest_divisor(12, n) for n in (1, 4, 5, 12, 99)] == [1, 4, 4, 12, 12]
