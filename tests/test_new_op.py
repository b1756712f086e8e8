"""What a new op needs: a toy op is added in code of a test, and each table that lacks a rule for it is one more file to touch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.core.shapes import Shape
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.tile.base import TILE, Tile, TileOp, tile_type, twin
from ttc.dialects.tile.facts.base import FACTS, FLOAT, Role, fact
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile_to_netlist.buffers import BUFFERS, Need
from ttc.runtime.engines.arithmetic import flops_of
from ttc.runtime.engines.native.lower import LOWERINGS
from ttc.runtime.engines.native.prepare.shape_rules import is_sound
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.primitives import works_of
from ttc.runtime.perf.reads import PARTS, Part, Steps

TYPE = TensorType((64, 64), "Float16_b", "tiles(32, 32)")
WORK = Work("tile.toy", (0,), {"slope": 2.0}, (TYPE,))
VIEW = OpView("toy", dict(WORK.attrs), (TYPE,), TYPE, "HiFi4")
NN = {"the nn op", "its numpy kernel", "its gradient"}
"""Files of any op of nn."""
INDEXES = {"the index of facts", "the index of lowerings"}
"""Files that name the module of each rule, so that a run loads only those that it meets."""
IMPORTERS = {"the row of ONNX", "the row of PyTorch", "the row of TensorFlow", "the row of TFLite"}
"""Files of an op that all four formats have."""
ASKED: Mapping[str, Callable[[], Any]] = {
    "the cost": lambda: works_of(VIEW, Share(1, 2, 2, (1, 1))),
    "what cores read": lambda: PARTS.of("toy")(WORK, Part(1.0, 1.0), Steps(1, 1), [TYPE]),
    "the buffers": lambda: BUFFERS.of("toy")(Need(VIEW, 1, 1, 32)),
    "the native lowering": lambda: LOWERINGS["toy"],
    "the expansion": lambda: EXPANSIONS["toy"],
    "the lowering to tile": lambda: TO_TILE["toy"],
}


def lacking() -> set[str]:
    """Names of the rules that the toy op lacks, each an error of ours."""
    found: set[str] = set()
    for name, ask in ASKED.items():
        try:
            ask()
        except Error:
            found.add(name)
    return found


@pytest.fixture
def add() -> Iterator[Callable[[Role], type[TileOp]]]:
    """State the fact of a toy op of a role; the class of the op."""

    def added(role: Role) -> type[TileOp]:
        @fact(role, {"slope": FLOAT})
        def toy(x: Shape, *, slope: float) -> Shape:
            return x

        @irdl_op_definition
        class ToyOp(TileOp):
            name = "tile.toy"
            x = operand_def(TILE)
            y = result_def(TILE)

        return ToyOp

    yield added
    del FACTS["toy"]


@pytest.mark.parametrize("role", [Role.ELEMENTWISE, Role.NORMALIZATION])
def test_a_fact_is_enough_for_types_checks_and_counts(add: Callable[[Role], type[TileOp]], role: Role) -> None:
    kind = add(role)
    x = Block(arg_types=[tile_type(Tile(TYPE.shape, TYPE.format, (32, 32)))]).args[0]
    op = kind.build(x, location=UnknownLoc(), slope=2.0)
    op.verify()
    assert op.results[0].type == x.type
    assert is_sound(WORK, [TYPE])
    assert not is_sound(Work("tile.toy", (0,), {"slope": "2"}, (TYPE,)), [TYPE])
    assert flops_of(Function((TYPE,), (WORK,), (1,))) == TYPE.elements
    with pytest.raises(Error) as error:
        kernel("tile.toy")
    assert error.value.code == "E0302"


def test_a_new_elementwise_tile_op_needs_at_most_five_files(add: Callable[[Role], type[TileOp]]) -> None:
    add(Role.ELEMENTWISE)
    needed = lacking() - {"the expansion", "the lowering to tile"}  # those of Buda's netlists are made by its reader
    assert needed == {"the cost", "the native lowering"}
    assert len(needed | {"the tile op", "its numpy kernel", "the fact"}) <= 5


def test_a_new_composite_needs_a_file_for_each_meaning_and_one_for_each_importer(add: Callable[[Role], type[TileOp]]) -> None:
    add(Role.NORMALIZATION)
    needed = lacking()
    assert needed == {"the cost", "the native lowering", "the expansion", "the lowering to tile"}
    meanings = needed | NN | {"the fact", "the native kernel"}
    assert len(meanings) <= 10
    assert len(meanings | INDEXES | IMPORTERS) <= 15


def test_what_an_nn_op_says_needs_no_class_on_tiles() -> None:
    assert twin("softmax").__doc__ == nn_ops()["softmax"].__doc__
    assert kernel("tile.softmax") is kernel("nn.softmax")
    with pytest.raises(Error) as error:
        twin("toy")
    assert error.value.code == "E0901"
