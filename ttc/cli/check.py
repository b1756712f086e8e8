"""The command `ttc check`: whether a model compiles, and what stands in its way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, size_text
from ttc.cli.examples import example_flags, with_examples
from ttc.cli.options import FILE, flags_of, options_from, verbosity
from ttc.dialects.core.errors import Error
from ttc.options import STAGES, CompileOptions

if TYPE_CHECKING:
    from ttc.exporters.refusals import RefusedOp
    from ttc.importers.common.unsupported import Refusal
    from ttc.reports.readiness import HostOp, ReadinessFindings

FAILED = 2
"""The exit status for a model that does not compile."""
SHOWN = 4
"""The most nodes that a line of the text names; -v names all, as the JSON does."""


@click.command("check")
@click.argument("model", type=FILE)
@click.option("--program", metavar="NAME", help="Count the arithmetic of this program alone, where there are several.")
@click.option("--exporter", metavar="NAME", help="Say instead whether the model can be exported to this format of `ttc export --to`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@example_flags
@flags_of(CompileOptions)
@verbosity
@click.pass_obj
def command(
    console: Console, model: Path, program: str | None, exporter: str | None, config: Path | None, as_json: bool, **raw: Any
) -> int:
    """Say whether MODEL compiles, what of it is not supported, and what would run on the device and on the host.

    Exit status 0 if `ttc compile` with the same options succeeds, else 2; with --exporter, if `ttc export` does.
    """
    from ttc.process.platform import require_supported
    from ttc.reports.readiness import check

    require_supported()
    options = with_examples(options_from(CompileOptions, raw, config), raw)
    if exporter is not None:
        return _check_export(console, model, exporter, options, program, as_json)
    with console.progress() as progress:
        progress.show(f"checking {model.name}")
        found = check(model, options, program)
    console.json(document(model.name, options, found)) if as_json else _print(console, model, options, found)
    return 0 if found.compiles else FAILED


def _check_export(console: Console, model: Path, name: str, options: CompileOptions, program: str | None, as_json: bool) -> int:
    """Tell the ops that an exporter has no form of.  Raises what stops an export before its ops are looked at."""
    from ttc.exporters.refusals import RefusedOps
    from ttc.exporters.request import ExportRequest
    from ttc.exporters.table import exported

    refused: tuple[RefusedOp, ...] = ()
    try:
        with console.progress() as progress:
            progress.show(f"checking {model.name}")
            exported(name, model, ExportRequest(options, program))
    except RefusedOps as error:
        refused = error.rows
    if as_json:
        rows = [{"op": row.op, "nodes": list(row.sources), "why": row.why} for row in refused]
        console.json({"model": model.name, "exporter": name, "exports": not refused, "refused": rows})
        return FAILED if refused else 0
    if refused:
        console.table(["op", "nodes", "why"], [[row.op, _named(console, row.sources), row.why] for row in refused], prose=True)
    console.say(f"{model.name} {'cannot be' if refused else 'can be'} exported to {name}")
    return FAILED if refused else 0


def document(name: str, options: CompileOptions, found: ReadinessFindings) -> dict[str, Any]:
    """Return the findings of a check as a dictionary for JSON."""
    facts = found.facts
    return {
        "model": name,
        "target": str(options.recorded()["target"]),
        "compiles": found.compiles,
        "stage": found.stage,
        "error": None if found.error is None else _error(found.error),
        "error_with_flags": None if found.open is None or found.failure is None else _error(found.failure),
        "flags": list(found.flags),
        "kind": facts.kind,
        "opsets": dict(facts.opsets),
        "nodes": sum(facts.ops.values()),
        "ops": dict(facts.ops),
        "weights": {"tensors": facts.weights, "elements": facts.weight_elements, "bytes": facts.weight_bytes},
        "file_bytes": found.file_bytes,
        "inputs": [{"name": i.name, "dtype": str(i.dtype), "dims": list(i.dims)} for i in facts.inputs or ()],
        "fixed_shapes": {input_name: list(shape) for input_name, shape in found.fixed.items()},
        "assumed_shapes": {input_name: list(shape) for input_name, shape in found.assumed.items()},
        "unsupported": [{**row._asdict(), "nodes": list(row.nodes), "needed": needed(row, found.wanted)} for row in found.refusals],
        "flops": _flops(found),
    }


def _error(error: Error) -> dict[str, str | None]:
    return {"code": error.code, "message": error.message, "where": error.where, "hint": error.hint}


def _flops(found: ReadinessFindings) -> dict[str, Any] | None:
    """Shares on the device and in host segments; of what could be imported, if that is not all."""
    if found.flops is None:
        return None
    reached = found.stage is not None and STAGES.index(found.stage) >= STAGES.index("tile")
    host = found.host_flops if reached else None
    return {
        "of_the_whole_model": not found.refusals,
        "total": found.flops,
        "device": None if host is None else max(found.flops - host, 0),
        "host": host,
        "host_ops": [{"op": h.op, "nodes": list(h.nodes), "flops": h.flops, "why": list(h.why)} for h in found.host],
    }


def needed(row: Refusal, wanted: tuple[str, ...]) -> str:
    """Return what would make nodes importable that were refused."""
    if row.why == "no mapping":
        return f"an importer's mapping of {row.op}, or a function of that name in the model"
    if row.why in ("its domain is not imported", "no such op in this opset"):
        return f"a function of that name in the model, or a set of ops that has {row.op}"
    if row.why.startswith("needs a constant"):
        from ttc.importers.common.unsupported import values_flag

        values = "".join(f" or {values_flag(name)}" for name in wanted)
        return f"{row.why.removeprefix('needs ')} in the model{values}"
    return f"a model that does without: {row.why}"


# ---- text -----------------------------------------------------------------------------------------------------------------------------


def _print(console: Console, model: Path, options: CompileOptions, found: ReadinessFindings) -> None:
    from ttc.importers.common.likely_shapes import flags_text

    if not console.quiet:
        _print_facts(console, model, found)
        _print_inputs(console, found)
        _print_unsupported(console, found)
        _print_shares(console, found)
    target = options.recorded()["target"]
    if found.compiles:
        console.say(f"compiles for {target}")
    elif found.compiles_with_flags:
        console.say(f"compiles for {target} once open dimensions are fixed, for example: {' '.join(found.flags)}")
    else:
        sizes = f" with {flags_text(found.assumed)}, sizes taken as nobody gave them: others may compile" if found.assumed else ""
        console.say(f"does not compile for {target}{sizes}")
        if found.failure is not None and not found.refusals:
            console.failure(found.failure)
        elif found.flags:
            console.say(f"flags that would help: {' '.join(found.flags)}")


def _print_facts(console: Console, model: Path, found: ReadinessFindings) -> None:
    facts = found.facts
    opsets = ", ".join(f"{domain} {version}" for domain, version in facts.opsets.items())
    console.say(f"{model.name}: {facts.kind}{f', opset {opsets}' if opsets else ''}, {size_text(found.file_bytes)}")
    if not facts.ops:
        return
    nodes = sum(facts.ops.values())
    often = ", ".join(f"{op} {count}" for op, count in list(facts.ops.items())[: None if console.verbose else 2 * SHOWN])
    more = ", ..." if not console.verbose and len(facts.ops) > 2 * SHOWN else ""
    console.paragraph(f"{nodes} nodes of {len(facts.ops)} ops: {often}{more}")
    console.say(f"{facts.weights} weights: {facts.weight_elements} numbers, {size_text(facts.weight_bytes)}")


def _print_inputs(console: Console, found: ReadinessFindings) -> None:
    for item in found.facts.inputs or ():
        dims = ", ".join(str(dim) if dim != "" else "?" for dim in item.dims)
        assumed = found.assumed.get(item.name)
        taken = f", dynamic; taken as {list(assumed)}" if assumed is not None else ""
        taken = f", fixed to {list(found.fixed[item.name])}" if item.name in found.fixed else taken
        console.say(f"input {item.name}: {item.dtype}[{dims}]{taken}")


def _print_unsupported(console: Console, found: ReadinessFindings) -> None:
    if not found.refusals:
        return
    nodes = sum(len(row.nodes) for row in found.refusals)
    console.say(f"{nodes} nodes cannot be imported:")
    rows = [[row.op, row.domain, len(row.nodes), _named(console, row.nodes), row.why, needed(row, found.wanted)] for row in found.refusals]
    console.table(["op", "domain", "count", "nodes", "why", "needed"], rows, prose=True)


def _print_shares(console: Console, found: ReadinessFindings) -> None:
    shares = _flops(found)
    if shares is None:
        return
    what = "" if shares["of_the_whole_model"] else " of the nodes that can be imported"
    total = shares["total"]
    if shares["host"] is None:
        console.say(f"arithmetic{what}: {flops_text(total)}")
        return
    percent = 100 * shares["host"] / total if total else 0.0
    console.say(f"arithmetic{what}: {flops_text(total)}, {100 - percent:.2f} % on the device, {percent:.2f} % in host segments")
    if found.host:
        console.table(
            ["host op", "count", "share %", "nodes", "why"], [_host_row(console, entry, total) for entry in found.host], prose=True
        )


def _host_row(console: Console, entry: HostOp, total: int) -> list[object]:
    share = round(100 * entry.flops / total, 2) if total else 0.0
    return [entry.op, len(entry.nodes), share, _named(console, entry.nodes), "; ".join(entry.why) or "-"]


def _named(console: Console, nodes: tuple[str, ...]) -> str:
    shown = nodes if console.verbose else nodes[:SHOWN]
    return ", ".join(shown) + (", ..." if len(shown) < len(nodes) else "")


def flops_text(flops: float) -> str:
    """Return operations as text: `8.18 GFLOP`; powers of 1000."""
    for unit in ("", "k", "M", "G"):
        if flops < 1000:
            return f"{flops:.3g} {unit}FLOP"
        flops /= 1000
    return f"{flops:.3g} TFLOP"
