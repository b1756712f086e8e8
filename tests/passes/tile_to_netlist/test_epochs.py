"""Epochs: every op once and in order, cores shared within the grid, more microbatches favour balance."""

from ttc.dialects.core.plain import TensorType
from ttc.dialects.core.targets import load_target
from ttc.passes.tile_to_netlist.blocking import candidates
from ttc.passes.tile_to_netlist.epochs import cut, share_cores
from ttc.runtime.perf.base import OpView


def options(*widths: int):
    views = [
        OpView(
            "matmul",
            {},
            (TensorType((128, 256), "Float32", "tiles(32, 32)"), TensorType((256, n), "Float32", "tiles(32, 32)"), None),
            TensorType((128, n), "Float32", "tiles(32, 32)"),
            "HiFi4",
        )
        for n in widths
    ]
    return [candidates(view, load_target("n150")) for view in views]


def test_every_op_is_placed_once_without_overlap():
    epochs = cut(options(*[64, 512, 2048] * 20), (9, 8), 1)
    assert sum(len(e) for e in epochs) == 60
    for epoch in epochs:
        used = [core for _, place in epoch for core in place.cores()]
        assert len(used) == len(set(used)) <= 72


def test_cores_follow_work_when_streaming():
    small, large = share_cores(options(64, 2048), 72, 64) or (None, None)
    assert small is not None
    assert large is not None
    assert large.cores >= 4 * small.cores


def test_ops_that_need_more_cores_than_there_are_cannot_share():
    assert share_cores(options(*[64] * 3), 2, 1) is None
