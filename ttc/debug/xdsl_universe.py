"""Our dialects and passes for xDSL's own tools: `xdsl-opt model.mlir -p ttc-fuse-bias,ttc-canonicalize`.

xDSL finds `UNIVERSE` by the entry point `xdsl.universe`.  Passes have the prefix `ttc-`, as xDSL has a `canonicalize` of its own; of their
options those are there that xDSL can read: numbers, texts, truths.  The machine is the one that the module records, or n150; weights are
random by the seed that it records, if any.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from ttc.compiler.driver import machine_for, with_recorded
from ttc.compiler.source import check_recorded, text_weights
from ttc.dialects.core.ir.leaves import CORE
from ttc.dialects.netlist.ops import dialect as netlist
from ttc.dialects.nn.base import dialect as nn
from ttc.dialects.tile.base import dialect as tile
from ttc.options import CompileOptions
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_pass
from ttc.passes.pipeline_text import all_passes, pass_options

PREFIX = "ttc-"


def module_pass(kind: type[Pass]) -> type[ModulePass]:
    """Return a pass of ours as one of xDSL's."""
    plain = {name: type_ for name, type_ in pass_options(kind).items() if _is_plain(type_)}
    defaults = {item.name: item.default for item in dataclasses.fields(cast("Any", kind))} if plain else {}

    def apply(self: Any, ctx: Context, op: builtin.ModuleOp) -> None:
        check_recorded(op, "the module")
        options = with_recorded(op, CompileOptions())
        unit = Unit(op, text_weights(op, None), machine_for(op, None, options.target))
        run_pass(kind(**{name: getattr(self, name) for name in plain}), unit)

    fields = [(name, type_, dataclasses.field(default=defaults[name])) for name, type_ in plain.items()]
    name = f"{PREFIX}{kind.name}"
    made = dataclasses.make_dataclass(
        kind.__name__, fields, bases=(ModulePass,), frozen=True, namespace={"name": name, "apply": apply, "__doc__": kind.__doc__}
    )
    return cast("type[ModulePass]", made)


def _is_plain(type_: Any) -> bool:
    """Return whether xDSL can read values of the type from a pipeline."""
    parts = typing.get_args(type_) if isinstance(type_, types.UnionType) else (type_,)
    return all(part in (int, str, bool, types.NoneType) for part in parts)


UNIVERSE = Universe(
    all_dialects={"ttc": lambda: CORE, "nn": nn, "tile": tile, "netlist": netlist},
    all_passes={f"{PREFIX}{name}": partial(module_pass, kind) for name, kind in all_passes().items()},
)
