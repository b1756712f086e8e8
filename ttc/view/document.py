"""The document inside a page of `ttc view`: plain values for JSON, whose form `schema.json` beside this file says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ttc
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist.checks import require_valid
from ttc.dialects.netlist.model import Argument, Netlist
from ttc.runtime.archive import Archive, open_archive
from ttc.runtime.manifest import Description
from ttc.runtime.read_file import in_file
from ttc.view.netlist_ops import device_of, netlist_ops
from ttc.view.run_costs import program_costs
from ttc.view.texts import clipped
from ttc.view.weight_figures import weight_figures

if TYPE_CHECKING:
    from ttc.comparison.layers import Layers
    from ttc.view.dumped_passes import DumpedPasses

SCHEMA = "ttc.view/1"
"""The name and version of the document's form; the version grows when a reader of the one before would be wrong."""
SCHEMA_FILE = Path(__file__).with_name("schema.json")


@record
class ViewParts:
    """The parts that a page shows, each of which may be missing.

    Args:
        archive: a compiled program; None: what a dump alone says.
        dump: what `ttc compile --dump` wrote when it made the archive.
        other: an archive to compare with.
        layers: how far the values of the model's nodes are from the model's own.
        profile: the jobs of a run on this machine, from `profiled`.
        live: whether the dump is still being written, and the page asks for a newer one.
    """

    archive: Archive | None = None
    dump: DumpedPasses | None = None
    other: Archive | None = None
    layers: Layers | None = None
    profile: Mapping[str, Any] | None = None
    live: bool = False
    title: str = field(default="")


def document(view: ViewParts) -> dict[str, Any]:
    """Return the document.  Raises E03xx for IR that is none, E06xx and E07xx for an archive that is not sound."""
    stages = _stages(view)
    netlist = _netlist(view)
    device = None
    programs: list[dict[str, Any]] = []
    if netlist is not None:
        ops = netlist_ops(netlist)
        programs, costs = program_costs(netlist)
        for op in ops:
            op.update({"cost": costs[op["id"]]} if op.get("id") in costs else {})
        stages["netlist"] = ops
        device = device_of(netlist, ops)
    description = None if view.archive is None else view.archive.manifest.description
    return {
        "schema": SCHEMA,
        "producer": f"ttc {ttc.__version__}",
        "title": clipped(view.title or (description.model if description is not None else "a dump")),
        "live": view.live,
        "options": {} if description is None else {clipped(k): clipped(v) for k, v in description.options.items()},
        "signatures": {} if netlist is None else _signatures(netlist),
        "training": None if description is None or description.training is None else _training(description),
        "stages": [{"name": name, "ops": found} for name, found in stages.items()],
        "weights": {} if view.archive is None else weight_figures(view.archive),
        "passes": [] if view.dump is None else view.dump.passes,
        "texts": [] if view.dump is None else view.dump.texts,
        "device": device,
        "programs": programs,
        "profile": None if view.profile is None else dict(view.profile),
        "numbers": None if view.layers is None else _numbers(view.layers),
        "other": None if view.other is None or view.archive is None else _compared(view.archive, view.other),
    }


def summary(netlist: Netlist, description: Description) -> dict[str, Any]:
    """Return what a notebook shows of a program in a few lines: name, target, signatures, epochs, ops, estimated time."""
    programs, _ = program_costs(netlist)
    return {
        "title": clipped(description.model),
        "target": clipped(netlist.chip.target),
        "signatures": _signatures(netlist),
        "epochs": len(netlist.graphs),
        "ops": sum(len(graph.ops) for graph in netlist.graphs.values()),
        "programs": [{key: p[key] for key in ("name", "us", "samples_per_second") if key in p} for p in programs],
    }


def checked_netlist(archive: Archive) -> Netlist:
    """Return the netlist of an archive.  Raises E06xx for one that breaks a rule."""
    netlist = archive.netlist()
    with in_file(archive.path):
        require_valid(netlist)
    return netlist


def opened(path: Path) -> Archive:
    """Open an archive to be shown.  Raises E0102, E07xx."""
    if path.suffix.lower() != ".tti":
        hint = "ttc compile MODEL -o m.tti --dump DIR, then ttc view m.tti --dump DIR"
        raise Error("E0201", f"{path.name} is no archive (.tti)", hint=hint)
    return open_archive(path)


def _netlist(view: ViewParts) -> Netlist | None:
    if view.archive is not None:
        return checked_netlist(view.archive)
    if view.dump is None or "netlist" not in view.dump.last or "allocate-memory" not in view.dump.last["netlist"].name:
        return None  # addresses come with the last pass
    from ttc.dialects.netlist.to_model import to_model

    netlist = to_model(_module(view.dump.last["netlist"]))
    require_valid(netlist)
    return netlist


def _stages(view: ViewParts) -> dict[str, list[dict[str, Any]]]:
    """Return the ops of the stages that the dump has, but for the netlist."""
    if view.dump is None:
        return {}
    from ttc.view.module_ops import module_ops

    return {stage: module_ops(_module(path)) for stage, path in view.dump.last.items() if stage != "netlist"}


def _module(path: Path) -> Any:
    from ttc.compiler.source import dialects, read_text
    from ttc.dialects.core.ir.parsing import parse_module

    return parse_module(read_text(path), path.name, dialects())


def _signatures(netlist: Netlist) -> dict[str, Any]:
    return {
        clipped(name): {"arguments": [_argument(a) for a in program.arguments], "results": [_argument(r) for r in program.results]}
        for name, program in netlist.programs.items()
    }


def _argument(argument: Argument) -> dict[str, str]:
    shape = "x".join(map(str, argument.shape)) or "scalar"
    return {"name": clipped(argument.name), "kind": argument.kind, "type": clipped(f"{shape} {argument.dtype}")}


def _training(description: Description) -> dict[str, str]:
    training = description.training
    if training is None:
        return {}
    optimizers = ", ".join(dict.fromkeys(clipped(group.optimizer) for group in training.groups))
    return {"loss": clipped(training.loss), "optimizer": optimizers, "batch": str(training.batch)}


def _numbers(layers: Layers) -> dict[str, Any]:
    return {
        "against": clipped(layers.by),
        "layers": [
            {
                "node": clipped(layer.node),
                "op": clipped(layer.op),
                "fused": [clipped(name) for name in layer.fused],
                "figures": None if layer.figures is None else {**layer.figures.figures(), "of_bound": layer.figures.of_bound},
                "reason": clipped(layer.reason),
            }
            for layer in layers.layers
        ],
    }


def _compared(a: Archive, b: Archive) -> dict[str, Any]:
    """Return how archive B differs from archive A."""
    from ttc.comparison.diff import archive_side, sides_differ

    netlist = checked_netlist(b)
    found = sides_differ(archive_side(a, checked_netlist(a)), archive_side(b, netlist))
    programs, _ = program_costs(netlist)
    return {
        "title": clipped(b.path.name),
        "same": found.same,
        "removed": [clipped(item) for item in found.removed],
        "added": [clipped(item) for item in found.added],
        "fused": [[[clipped(item) for item in old], clipped(new)] for old, new in found.fused],
        "split": [[clipped(old), [clipped(item) for item in new]] for old, new in found.split],
        "changed": [_changes(item, fields) for item, fields in found.changed],
        "moved": [_changes(item, fields) for item, fields in found.moved],
        "others": [_changes(name, fields) for name, fields in found.others.items()],
        "programs": [{key: p[key] for key in ("name", "us", "samples_per_second") if key in p} for p in programs],
    }


def _changes(item: object, fields: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    return {"item": clipped(item), "fields": {clipped(name): [clipped(old), clipped(new)] for name, (old, new) in fields.items()}}


def as_json(found: Mapping[str, Any]) -> str:
    """Return a document as JSON of one line; numbers that are not finite are null."""
    return json.dumps(_finite(found), separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
