"""What cores read of the inputs of ops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import LAYOUT, matmul, relu, tensor
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Blocking, Grid, Host, Op
from ttc.runtime.perf.reads import ReadPart, ReadSteps, ReadTable, dims, reads_of, share_of


def op_of(work: Function, place: Grid, blocking: Blocking) -> Op:
    return Op("op", "op", tuple(f"x{i}" for i in range(len(work.inputs))), place, blocking, work)


def test_share_of_the_result() -> None:
    assert share_of(tensor(8, 8), Grid(0, 0, 4, 2), Blocking(1, (2, 4), (1, 1))) == (ReadPart(0.25, 0.5), ReadSteps(1, 1, 8))
    assert share_of(tensor(8, 8), Grid(0, 0, 4, 2), Blocking(4, (1, 2), (1, 1))) == (ReadPart(0.25, 0.5), ReadSteps(2, 2, 4))
    stacked = TensorType((6, 64, 64), "Float16_b", LAYOUT)
    assert share_of(stacked, Grid(0, 0, 3, 1), Blocking(2, (2, 2), (1, 1), spread=(3, 1))) == (
        ReadPart(1.0, 1.0, 1 / 3),
        ReadSteps(1, 1, 2),
    )


def test_a_map_reads_what_it_computes() -> None:
    (read,) = reads_of(relu("a", "x", tensor(8, 8), Grid(0, 0, 4, 2)))
    assert read is not None
    assert (read.tiles, read.passes, read.part.whole, read.gathered) == (8, 8, False, False)


def test_a_product_reads_whole_rows_and_columns() -> None:
    op = matmul("m", ("a", "b"), (tensor(8, 4), tensor(4, 6), tensor(8, 6)), Grid(0, 0, 4, 2))
    left, right = reads_of(op)
    assert left is not None
    assert right is not None
    assert (left.tiles, right.tiles) == (2 * 4, 4 * 3)
    assert left.part.whole
    stepwise = replace(op, blocking=Blocking(6, (1, 1), (1, 1)))  # two steps down, three across
    left, right = reads_of(stepwise)
    assert left is not None
    assert right is not None
    assert (left.passes, right.passes) == (3 * 8, 2 * 12)


def test_views_carry_parts_to_the_input() -> None:
    x, y = TensorType((128, 64), "Float16_b", LAYOUT), TensorType((64, 128), "Float16_b", LAYOUT)
    works = (Work("tile.transpose", (0,), {"perm": (1, 0)}, (y,)), Work("tile.map", (1,), {"fn": "relu"}, (y,)))
    (read,) = reads_of(op_of(Function((x,), works, (2,)), Grid(0, 0, 2, 1), Blocking(1, (1, 4), (1, 1))))
    assert read is not None
    assert (read.part.rows, read.part.cols, read.tiles, read.gathered) == (1.0, 0.5, 4, True)


def test_what_is_broadcast_is_read_by_all() -> None:
    x, row = tensor(8, 8), TensorType((1, 256), "Float16_b", LAYOUT)
    work = Function((x, row), (Work("tile.map", (0, 1), {"fn": "add"}, (x,)),), (2,))
    _, read = reads_of(op_of(work, Grid(0, 0, 4, 2), Blocking(1, (2, 4), (1, 1))))
    assert read is not None
    assert (read.part.rows, read.part.cols, read.tiles) == (1.0, 0.5, 4)


def test_a_window_reads_beyond_its_part() -> None:
    image, weight = (
        TensorType((1, 32, 32, 32), "Float16_b", "tiles(32, 32, 3)"),
        TensorType((3, 3, 32, 32), "Float16_b", "tiles(32, 32, 3)"),
    )
    work = Function((image, weight), (Work("tile.conv2d", (0, 1), {"strides": (1, 1)}, (image,)),), (2,))
    pixels, filters = reads_of(op_of(work, Grid(0, 0, 4, 1), Blocking(1, (8, 1), (1, 1))))
    assert pixels is not None
    assert filters is not None
    assert pixels.tiles == pytest.approx(8 + 2)  # eight rows of the image, and one on either side
    assert filters.tiles == dims(weight)[1]


def test_a_table_is_read_as_data_chooses() -> None:
    table, indices, result = tensor(100, 2), TensorType((1, 64), "Int32", LAYOUT), TensorType((1, 64, 64), "Float16_b", LAYOUT)
    work = Function((table, indices), (Work("tile.embedding", (0, 1), {}, (result,)),), (2,))
    found, _ = reads_of(op_of(work, Grid(0, 0, 2, 1), Blocking(1, (1, 2), (1, 1))))
    assert found is not None
    assert found.chosen
    assert found.tiles == pytest.approx(2)


def test_only_ops_on_cores_read_tiles() -> None:
    with pytest.raises(ValueError, match="not on a grid"):
        reads_of(replace(relu("a", "x", tensor(1, 1), Grid(0, 0, 1, 1)), place=Host()))


def test_a_table_works_out_once_what_ops_of_the_same_work_and_blocks_read() -> None:
    first = relu("a", "x", tensor(8, 8), Grid(0, 0, 4, 2))
    table = ReadTable()
    found = table.of(first)
    assert found == reads_of(first)
    assert table.of(replace(first, name="b", place=Grid(2, 2, 4, 2))) is found
    assert table.of(replace(first, place=Grid(0, 0, 2, 2), blocking=Blocking(1, (4, 4), (1, 1)))) is not found
    with pytest.raises(ValueError, match="not on a grid"):
        table.of(replace(first, place=Host()))
