"""Every table of rules has a rule, or a reason for none, for each name that it is for, and none for a name that does not exist."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

import ttc.dialects
import ttc.exporters
import ttc.passes
import ttc.runtime
from ttc.dialects.core.errors import Error
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.netlist.buda.reader_fields import ARITY, OP_TYPES
from ttc.dialects.netlist.buda.reader_values import TM_KINDS
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.fused import SUB_OPS
from ttc.dialects.netlist.buda.work.read_tms import VIEWS
from ttc.dialects.netlist.buda.work.tms import MANIPULATIONS
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.counts import COUNTS
from ttc.dialects.nn.gradients.base import GRADIENTS
from ttc.dialects.nn.kernels import KERNELS as NN_KERNELS
from ttc.dialects.tile.base import ops as tile_ops
from ttc.dialects.tile.buda import OPS as OF_BUDA
from ttc.dialects.tile.buda import VARIANTS
from ttc.dialects.tile.facts import facts
from ttc.dialects.tile.facts.base import FACTS, Role
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS
from ttc.dialects.tile.kernels import KERNELS as TILE_KERNELS
from ttc.dialects.tile.shape import ViewOp
from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.ttnn.host import HOST_RULES as TTNN_HOST
from ttc.exporters.ttnn.rules import RULES as TTNN
from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn_to_tile import TO_TILE, WISHES
from ttc.passes.nn_to_tile.lower_to_tile import rule_of_kind
from ttc.passes.nn_to_tile.ranges import REACHES
from ttc.passes.tile.cancel_tms import REWRITES
from ttc.passes.tile.clean_padding import PADDINGS
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.functions import FUNCTIONS as EXPANDED_FUNCTIONS
from ttc.passes.tile.legalize_tile import LOWER_RANK
from ttc.runtime.engines.exact import RULES as EXACT
from ttc.runtime.engines.native.ir.elementwise import FUNCTIONS as NATIVE_FUNCTIONS
from ttc.runtime.engines.native.lower import LOWERINGS
from ttc.runtime.engines.native.lower.sfpu import FUNCTIONS as NATIVE_SFPU
from ttc.runtime.perf.core import CYCLES
from ttc.runtime.perf.functions import ENGINE
from ttc.runtime.perf.functions import FUNCTIONS as MEASURED
from ttc.runtime.perf.primitives import FUNCTIONS as APPLIED
from ttc.runtime.perf.primitives import TAPS

NN = set(nn_ops())
TILE = set(tile_ops())
VIEW_OPS = {name for name, kind in tile_ops().items() if issubclass(kind, ViewOp)}
ELEMENTWISE = {name for name, kind in nn_ops().items() if getattr(kind, "ELEMENTWISE", False)}


def lowered() -> set[str]:
    """The nn ops that their kind does not lower: those of more than an element without a twin, and six that have more to do."""
    others = {"attention_training", "cast", "gather", "identity", "quantize", "shift_left"}
    return {name for name in NN if rule_of_kind(nn_ops()[name]) is None} | others


def on_devices() -> set[str]:
    """Tile ops that devices have kernels for, but for those whose steps say what they are made of."""
    return {name for name, fact in facts().items() if not fact.rows_only and not fact.steps}


def expanded() -> set[str]:
    """Composites and views of all layouts, but for those that have steps, and the ops of which Buda has not all variants."""
    return VIEW_OPS | on_devices() - set(OF_BUDA) | {"cast", "matmul", "concat", "reduce"}


def of_roles(*roles: Role) -> set[str]:
    """Tile ops of some roles that devices have kernels for."""
    return {name for name, fact in facts().items() if fact.role in roles and not fact.rows_only}


def read_works() -> set[str]:
    """Tile ops that a Buda op is, and those of which an attribute names it."""
    named = {"binary", "map", "pad", "rescale", "sfpu"}
    return {f"tile.{name}" for name in {name for name, kind in OF_BUDA.items() if kind} | named}


class Case(NamedTuple):
    """A table, the names that it is for, and whether these may go without a rule: what has none is then computed in another way."""

    table: RuleTable[Any]
    names: Callable[[], Iterable[str]]
    is_partial: bool = False


CASES = {
    "nn.kernels": Case(NN_KERNELS, lambda: NN),
    "tile.kernels": Case(TILE_KERNELS, lambda: {name for name, fact in facts().items() if not fact.as_nn}),
    "nn.batching": Case(BATCHING, lambda: NN),
    "counts": Case(COUNTS, lambda: NN, is_partial=True),
    "gradients": Case(GRADIENTS, lambda: [f"nn.{name}" for name in NN]),
    "nn_to_tile": Case(TO_TILE, lowered),
    "nn_to_tile.wishes": Case(WISHES, lambda: NN, is_partial=True),
    "nn_to_tile.ranges": Case(REACHES, lambda: NN, is_partial=True),
    "legalize": Case(LOWER_RANK, lambda: on_devices() - {"yield"}),
    "paddings": Case(PADDINGS, lambda: on_devices() - {"yield", "to_host"}),
    "expand": Case(EXPANSIONS, expanded),
    "facts": Case(FACTS, lambda: TILE),
    "expand.functions": Case(EXPANDED_FUNCTIONS, lambda: ELEMENTWISE, is_partial=True),
    "native.lower": Case(LOWERINGS, lambda: TILE - {"yield"}),
    "native.functions": Case(NATIVE_FUNCTIONS, lambda: ELEMENTWISE),
    "perf.cycles": Case(CYCLES, lambda: {*ENGINE, "matmul", "sparse_matmul", "depthwise", "reduce"}),
    "perf.functions": Case(MEASURED, lambda: ELEMENTWISE),
    "perf.primitives.functions": Case(APPLIED, lambda: of_roles(Role.ELEMENTWISE, Role.CONVERSION)),
    "perf.primitives.taps": Case(TAPS, lambda: of_roles(Role.WINDOW) | {"depthwise"}),
    "buda.builds": Case(BUILDS, lambda: OP_TYPES),
    "buda.reads": Case(READS, read_works),
    "buda.sub_ops": Case(SUB_OPS, lambda: ARITY),
    "buda.tms": Case(MANIPULATIONS, lambda: TM_KINDS),
    "buda.views": Case(VIEWS, lambda: {f"tile.{name}" for name in VIEW_OPS | {"repeat", "tile_broadcast"}}),
    "buda.variants": Case(VARIANTS, lambda: {*OF_BUDA, "map"}),
    "cancel_tms": Case(REWRITES, lambda: VIEW_OPS),
    "native.sfpu": Case(NATIVE_SFPU, lambda: SFPU_FUNCTIONS),
    "exact": Case(EXACT, lambda: TILE, is_partial=True),
    "onnx.rules": Case(NODE_RULES, lambda: NN),
    "stablehlo.rules": Case(HLO_RULES, lambda: NN),
    "ttnn.rules": Case(TTNN, lambda: NN),
    "ttnn.host": Case(TTNN_HOST, lambda: NN),
    "sharding": Case(SHARDING, lambda: NN),
}


def mismatches(case: Case) -> list[str]:
    found = case.table.mismatches(case.names())
    return [line for line in found if line.startswith("there is a ")] if case.is_partial else found


@pytest.mark.parametrize("name", CASES)
def test_every_name_has_a_rule_and_every_rule_a_name(name: str) -> None:
    assert mismatches(CASES[name]) == []


@pytest.mark.parametrize("name", CASES)
def test_one_that_is_misspelt_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    rules = case.table.rules()
    right = sorted(rules)[len(rules) // 2]
    monkeypatch.setitem(rules, f"{right}x", rules[right])
    monkeypatch.delitem(rules, right)
    missing = [] if case.is_partial else [f"there is no {case.table.kind} of '{right}'"]
    assert mismatches(case) == [*missing, f"there is a {case.table.kind} of '{right}x', which does not exist"]
    with pytest.raises(Error, match=f"'{right}'") as caught:
        case.table.of(right)
    assert caught.value.code == "E0901"


@pytest.mark.parametrize("table", [FACTS, LOWERINGS], ids=["facts", "native.lower"])
def test_an_index_says_where_each_rule_is(table: RuleTable[Any]) -> None:
    places = {name: getattr(rule, "shape", rule).__module__ for name, rule in table.rules().items()}
    assert {name: place.rpartition(".")[2] for name, place in places.items()} == {name: table.module_of(name) for name in places}


def test_every_table_is_compared() -> None:
    found: dict[int, str] = {}
    for package in (ttc.dialects, ttc.exporters, ttc.passes, ttc.runtime):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            found |= {id(item): f"{info.name}.{name}" for name, item in vars(module).items() if isinstance(item, RuleTable)}
    known = {id(case.table) for case in CASES.values()}
    assert [place for key, place in found.items() if key not in known] == []
