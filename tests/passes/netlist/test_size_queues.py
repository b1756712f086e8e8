"""Sizes of queues."""

from tests.passes.module_pairs import check_pair
from ttc.dialects.core.plain import TensorType
from ttc.dialects.netlist.model import Blocking
from ttc.passes.netlist.size_queues import SizeQueues, spread


def test_docstring() -> None:
    check_pair(SizeQueues())


def test_tensors_are_cut_along_their_longer_side() -> None:
    layout = "tiles(32, 32)"
    assert spread(TensorType((32, 1024), "Float32", layout), 6) == ((1, 6), Blocking(1, (1, 6), (1, 1)))
    assert spread(TensorType((8, 1024, 64), "Float32", layout), 6) == ((6, 1), Blocking(8, (6, 2), (1, 1)))
    assert spread(TensorType((10,), "Float32", layout), 6) == ((1, 1), Blocking(1, (1, 1), (1, 1)))
