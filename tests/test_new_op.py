"""What a new op needs: a toy op is added in code of a test, and each table that lacks a rule for it is one more file to touch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.nn.elementwise import UnaryOp
from ttc.dialects.nn.gradients.base import GRADIENTS
from ttc.dialects.nn.kernels import KERNELS
from ttc.dialects.tile import facts
from ttc.dialects.tile.base import TILE, Tile, TileOp, tile_type, twin
from ttc.dialects.tile.facts import fact_of
from ttc.dialects.tile.facts.base import FACTS, Role
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.binary import lower_elementwise
from ttc.passes.nn_to_tile.lower_to_tile import rule_of_kind
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile_to_netlist.buffers import BUFFERS, Need
from ttc.runtime.engines.arithmetic import flops_of
from ttc.runtime.engines.native.ir.elementwise import FUNCTIONS
from ttc.runtime.engines.native.lower import LOWERINGS
from ttc.runtime.engines.native.prepare.shape_rules import is_sound
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.functions import FUNCTIONS as MEASURED
from ttc.runtime.perf.primitives import works_of
from ttc.runtime.perf.reads import PARTS, ReadPart, ReadSteps

TYPE = TensorType((64, 64), "Float16_b", "tiles(32, 32)")
WORK = Work("tile.toy", (0,), {"slope": 2.0}, (TYPE,))
VIEW = OpView("toy", dict(WORK.attrs), (TYPE,), TYPE, "HiFi4")
NN = {"the nn op", "its numpy kernel", "its gradient"}
"""Files of any op of nn."""
IMPORTERS = {"the row of ONNX", "the row of PyTorch", "the row of TensorFlow", "the row of TFLite"}
"""Files of an op that all four formats have."""


class NNToyOp(NNOp):
    """An op of nn that the toy op means the same as."""

    name = "nn.toy"


ASKED: Mapping[str, Callable[[], Any]] = {
    "the cost": lambda: works_of(VIEW, Share(1, 2, 2, (1, 1))),
    "what cores read": lambda: PARTS.of("toy")(WORK, ReadPart(1.0, 1.0), ReadSteps(1, 1), [TYPE]),
    "the buffers": lambda: BUFFERS.of("toy")(Need(VIEW, 1, 1, 32)),
    "the native lowering": lambda: LOWERINGS["toy"],
    "the expansion": lambda: fact_of("toy").steps or EXPANSIONS["toy"],
    "the lowering to tile": lambda: rule_of_kind(NNToyOp) or TO_TILE["toy"],
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


FACT = """
from ttc.dialects.tile.facts.base import FLOAT, Role, fact
from ttc.dialects.tile.facts.steps import steps

@fact(Role.{role}, {{"slope": FLOAT}}, as_nn={as_nn}, steps=steps({steps}))
def toy(x, *, slope):
    return x
"""


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Role], type[TileOp]]]:
    """State the fact of a toy op of a role, in a file of its own that no index names; the class of the op."""

    def added(role: Role) -> type[TileOp]:
        steps = '"top = max x", "y = sub x top"' if role is Role.NORMALIZATION else ""
        (tmp_path / "toy.py").write_text(FACT.format(role=role.name, steps=steps, as_nn=bool(steps)))
        monkeypatch.setattr(facts, "__path__", [*facts.__path__, str(tmp_path)])
        importlib.invalidate_caches()

        @irdl_op_definition
        class ToyOp(TileOp):
            name = "tile.toy"
            x = operand_def(TILE)
            y = result_def(TILE)

        return ToyOp

    yield added
    FACTS.rules().pop("toy")
    sys.modules.pop("ttc.dialects.tile.facts.toy")


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


def test_a_new_elementwise_nn_op_needs_at_most_five_files_and_one_for_each_importer() -> None:
    tables: Mapping[str, RuleTable[Any]] = {"its numpy kernel": KERNELS, "its gradient": GRADIENTS, "native": FUNCTIONS, "cost": MEASURED}
    for table in tables.values():
        with pytest.raises(Error, match="nn.toy|'toy'"):
            table.of("nn.toy" if table is GRADIENTS else "toy")
    kind = type("ToyOp", (UnaryOp,), {"name": "nn.toy"})
    assert rule_of_kind(kind) is lower_elementwise
    assert len(tables.keys() | {"the nn op"}) <= 5


def test_a_new_composite_needs_ten_files_with_all_engines_and_importers(add: Callable[[Role], type[TileOp]]) -> None:
    add(Role.NORMALIZATION)
    assert lacking() == {"the native lowering"}
    meanings = NN | lacking() | {"the fact", "the native kernel"}
    assert len(meanings | IMPORTERS) <= 10


def test_what_an_nn_op_says_needs_no_class_on_tiles() -> None:
    assert twin("softmax").__doc__ == nn_ops()["softmax"].__doc__
    assert kernel("tile.softmax") is kernel("nn.softmax")
    with pytest.raises(Error) as error:
        twin("toy")
    assert error.value.code == "E0901"
