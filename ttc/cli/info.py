"""The command `ttc info`: what an archive or a model holds."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, size_text
from ttc.cli.options import FILE, verbosity
from ttc.dialects.core.errors import Error, nearest

if TYPE_CHECKING:
    from ttc.dialects.netlist.model import Argument, Netlist
    from ttc.runtime.archive import Archive
    from ttc.runtime.contract import FixedInput

MEANING = {
    "format": "how tensors are stored between ops; what was compiled is what runs",
    "precision": "of the multiplier on the CPU that runs the archive; high: products to about 2^-16 with AMX, to 2^-14 of norms elsewhere",
    "fidelity": "of the device's multiplier; results on a CPU depend on it under `ttc run --exact` alone",
}


@click.command("info")
@click.argument("archive", type=FILE)
@click.option("--program", metavar="NAME", help="Show this program alone, and the epochs that it runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, archive: Path, program: str | None, as_json: bool) -> int:
    """Show what ARCHIVE (.tti) holds."""
    from ttc.inputs.files import require_input
    from ttc.runtime.archive import open_archive

    opened = open_archive(require_input(archive), verify_tensors=False)
    netlist = opened.netlist() if program is None else _alone(opened.netlist(), program)
    facts = _facts(opened, netlist, archive)
    console.json(facts) if as_json else _print(console, facts)
    return 0


def _alone(netlist: Netlist, name: str) -> Netlist:
    """Return the netlist with one of its programs, and the graphs that it runs.  Raises E0803."""
    from ttc.dialects.netlist.instructions import executed_graphs

    program = netlist.programs.get(name)
    if program is None:
        raise Error("E0803", f"there is no program '{name}'", hint=nearest(name, netlist.programs))
    wanted = set(executed_graphs(program))
    graphs = {key: graph for key, graph in netlist.graphs.items() if key in wanted}
    return replace(netlist, programs={name: program}, graphs=graphs)


def _facts(opened: Archive, netlist: Netlist, path: Path) -> dict[str, Any]:
    from ttc.reports.netlist_summary import memory_facts, summarize

    description, figures = opened.manifest.description, summarize(netlist)
    return {
        "model": description.model,
        "producer": f"ttc {description.version}",
        "target": figures.target,
        "chip": asdict(netlist.chip),
        "options": dict(description.options),
        "parameters": len(description.parameters),
        "states": list(description.states),
        "programs": {
            name: {"arguments": [_signature(a) for a in p.arguments], "results": [_signature(r) for r in p.results]}
            for name, p in netlist.programs.items()
        },
        "training": None if description.training is None else asdict(description.training),
        "fixed_inputs": [_fixed(item) for item in description.fixed_inputs],
        "epochs": [asdict(epoch) for epoch in figures.epochs],
        "chips": sorted({epoch.chip for epoch in figures.epochs if epoch.cores}),
        "ops": figures.ops,
        "queues": figures.queues,
        "cores": {"grid": figures.grid_cores, "used": figures.cores_used, "mean": figures.cores_mean},
        "dram_bytes": {str(channel): size for channel, size in figures.dram_bytes.items()},
        "memory": [memory_facts(use) for use in figures.memory],
        "host_bytes": figures.host_bytes,
        "tensors": len(opened.manifest.tensors),
        "tensor_bytes": sum(m.size for name, m in opened.manifest.members.items() if name.startswith("tensors/")),
        "text_bytes": _text_bytes(opened),
        "file_bytes": path.stat().st_size,
        "numbers": _numbers(netlist, description.options),
    }


def _text_bytes(opened: Archive) -> int | None:
    """Return the size of the text that exports start from; None if the archive holds none."""
    from ttc.runtime.archive import NN_TEXT

    member = opened.manifest.members.get(f"debug/{NN_TEXT}")
    return None if member is None else member.size


def _signature(argument: Argument) -> dict[str, Any]:
    found = {"name": argument.name, "kind": argument.kind, "dtype": argument.dtype, "shape": list(argument.shape)}
    return found if argument.updates is None else {**found, "updates": argument.updates}


def _fixed(item: FixedInput) -> dict[str, Any]:
    """An input and the one value that it may have."""
    return {"name": item.name, "dtype": item.dtype, "shape": list(item.shape), "value": item.array().tolist()}


def _numbers(netlist: Netlist, options: Any) -> dict[str, dict[str, Any]]:
    """Formats, precisions and fidelities of the archive at hand, with what each means."""
    ops = [op for graph in netlist.graphs.values() for op in graph.ops]
    formats = sorted({queue.tensor.format for queue in netlist.queues.values()})
    return {
        "format": {"asked": options.get("format", "source"), "found": formats, "meaning": MEANING["format"]},
        "precision": {"found": sorted({op.precision for op in ops}), "meaning": MEANING["precision"]},
        "fidelity": {"found": sorted({op.fidelity for op in ops}) if netlist.chip.grid else [], "meaning": MEANING["fidelity"]},
    }


def _print(console: Console, facts: dict[str, Any]) -> None:
    console.say(f"{facts['model']}, compiled by {facts['producer']} for {facts['target']}")
    for name, program in facts["programs"].items():
        console.say(f"program {name}")
        for argument in (*program["arguments"], *program["results"]):
            updates = f", updates {argument['updates']}" if "updates" in argument else ""
            console.say(f"  {argument['kind']:9} {argument['name']}: {argument['dtype']}{argument['shape']}{updates}")
    if facts["training"] is not None:
        _print_training(console, facts)
    for item in facts["fixed_inputs"]:
        console.say(f"input {item['name']} must be {_shortened(item['value'])}: the programs hold for this value alone")
    _print_placement(console, facts)
    console.say(f"file: {size_text(facts['file_bytes'])}, of which {facts['tensors']} tensors {size_text(facts['tensor_bytes'])}")
    text = "no text of stage nn: to netlist alone" if facts["text_bytes"] is None else f"from text of {size_text(facts['text_bytes'])}"
    console.say(f"exports: {text}")
    for name, entry in facts["numbers"].items():
        console.say(f"{name}: {', '.join(entry['found']) or '-'} ({entry['meaning']})")


def _print_training(console: Console, facts: dict[str, Any]) -> None:
    """What the programs are trained with: the loss, the optimizer, its numbers, the variables."""
    training = facts["training"]
    loss = f"{training['loss']} of {training['output']}" if training["loss"] is not None else "none: gradients of outputs are inputs"
    console.say(f"training: loss {loss}; microbatches of {training['batch']} rows, {training['microbatches']} a step")
    for number, group in enumerate(training["groups"]):
        numbers = ", ".join(f"{group['inputs'][key]}={value:g}" for key, value in group["values"].items())
        console.say(f"optimizer {group['optimizer']}: {len(group['parameters'])} parameters in group {number}; inputs {numbers}")
    console.say(f"variables: {facts['parameters']} parameters, {len(facts['states'])} states: {_shortened(', '.join(facts['states']))}")


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _print_placement(console: Console, facts: dict[str, Any]) -> None:
    cores = facts["cores"]
    used = f", at most {cores['used']} of {cores['grid']} cores (mean {cores['mean']:.1f})" if cores["grid"] else ""
    chips = f" on {len(facts['chips'])} chips" if len(facts["chips"]) > 1 else ""
    console.say(f"{len(facts['epochs'])} epochs{chips}, {facts['ops']} ops, {facts['queues']} queues{used}")
    if facts["dram_bytes"]:
        channels = ", ".join(f"{channel}: {size_text(size)}" for channel, size in facts["dram_bytes"].items())
        console.say(f"DRAM by channel: {channels}")
    for use in facts["memory"]:
        peak, bound = size_text(use["peak_bytes"]), size_text(use["bound_bytes"])
        console.say(f"DRAM of chip {use['chip']}: peak {peak}, lower bound {bound}, {use['fragmentation']:.1%} fragmented")
    if facts["host_bytes"]:
        console.say(f"host memory: {size_text(facts['host_bytes'])}")
    if console.verbose:
        console.table(["epoch", "ops", "on host", "cores", "inputs", "cycles", "chip"], [list(epoch.values()) for epoch in facts["epochs"]])
