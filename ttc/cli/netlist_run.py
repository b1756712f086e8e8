"""The command `ttc netlist run`: the programs of a Buda netlist, executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity
from ttc.cli.run import limit_threads
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ttc.dialects.netlist.buda.form import BudaNetlist
    from ttc.dialects.netlist.model import Netlist
    from ttc.runtime.golden.records import Record
    from ttc.runtime.golden.session import GoldenSession
    from ttc.stimulus.config import HostConfig

STIMULI = ("uniform", "normal", "constant")
ROUNDINGS = ("golden", "formats")
ENGINES = ("reference", "native")


@record
class ProgramCall:
    """One call of a program, with the values of its parameters."""

    program: str
    params: dict[str, int]


@click.command("run")
@click.argument("file", type=FILE)
@click.option("--arch", metavar="ARCH", help="Architecture to take the netlist for; the first that it names if not given.")
@click.option("--program", "programs", multiple=True, metavar="NAME", help="Run this program (repeatable, in order); default: all.")
@click.option("--param", "params", multiple=True, metavar="NAME=N", help="Value of a program parameter (repeatable).")
@click.option("--stimulus", type=click.Choice(STIMULI), help="Fill queues so, whatever the file says: in [-1, 1), standard normal, or 1.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="N", help="Of what is drawn.")
@click.option(
    "--inputs", "bundles", multiple=True, type=FILE, metavar="FILE.npz", help="Entries of queues: [entries, t, rows, columns] (repeatable)."
)
@click.option(
    "--rounding",
    type=click.Choice(ROUNDINGS),
    default="golden",
    show_default=True,
    help="Round to formats what the host pushes alone, toward zero; or that and all results of ops, to nearest.",
)
@click.option("--output-dir", "folder", type=FILE, metavar="DIR", help="Write what went into and came out of QUEUE to QUEUE.npy.")
@click.option("--engine", type=click.Choice(ENGINES), default="reference", show_default=True, help="What computes the ops.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True, metavar="N", help="Threads that compute an op.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, file: Path, folder: Path | None, seed: int, rounding: str, as_json: bool, **given: Any) -> int:
    """Run the programs of FILE, a netlist in the Buda format, with golden semantics: one after the other, on the same queues.

    Queues that the host fills take values from --inputs, else by --stimulus, else as the file's test-config says, else uniform ones,
    those of weights scaled so that results keep their size.
    Parameters take values from --param, else from test-config, else 1 for counts, and the sizes of microbatches that the graphs have.
    """
    from ttc.inputs.files import require_folder, require_input

    limit_threads(given["threads"])
    require_input(file)
    if folder is not None:
        require_folder(folder)
    with console.progress() as progress:
        progress.show(f"reading {file.name}")
        form = _read(file)
        broken = _broken(form, given["arch"])
        netlist, config = _netlist(form, given["arch"], rounding)
        calls = _calls(netlist, given["programs"], _params(given["params"]), config)
        session = _session(netlist, config, calls, {**given, "seed": seed, "rounding": rounding}, keep=folder is not None)
        for call in calls:
            progress.show(f"running program {call.program}")
            session.run(call.program, call.params)
        records = list(session.records())
    if broken:
        console.note(f"note: {broken} rules of the format are broken; ttc netlist check {file} lists them")
    if folder is not None:
        _write(folder, records)
    _print_json(console, session, calls, records, seed) if as_json else _print(console, calls, records)
    return 0


def _read(file: Path) -> BudaNetlist:
    from ttc.dialects.netlist.buda.reader import read_netlist

    return read_netlist(file)


def _broken(form: BudaNetlist, arch: str | None) -> int:
    """Return how many rules of the format the netlist breaks: it may still run."""
    from ttc.dialects.netlist.buda.rules.check import check_form

    return len(check_form(form, arch))


def _netlist(form: BudaNetlist, arch: str | None, rounding: str) -> tuple[Netlist, HostConfig]:
    from ttc.dialects.netlist.buda.to_netlist import to_netlist
    from ttc.stimulus.config import host_config

    netlist = to_netlist(form, arch)
    return (_rounded(netlist) if rounding == "formats" else netlist), host_config(form.extra)


def _rounded(netlist: Netlist) -> Netlist:
    """Return the netlist with results of ops rounded to their formats."""
    graphs = {name: replace(graph, ops=tuple(replace(op, rounding="rne") for op in graph.ops)) for name, graph in netlist.graphs.items()}
    return replace(netlist, graphs=graphs)


def _params(texts: Sequence[str]) -> dict[str, int]:
    """Return values by name, of `NAME=N` texts; a `$` before the name is left out.  Raises E0101."""
    found: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        name = name.removeprefix("$")
        try:
            number = int(value, 0)
        except ValueError:
            raise Error("E0101", f"--param cannot be '{text[:80]}'", hint="it takes NAME=N, N an integer") from None
        if name in found:
            raise Error("E0101", f"parameter '{name}' is given twice")
        if abs(number) >> 31:
            raise Error("E0101", f"parameter '{name}' is {number}, beyond 2^31")
        found[name] = number
    return found


def _calls(netlist: Netlist, names: Sequence[str], given: Mapping[str, int], config: HostConfig) -> list[ProgramCall]:
    """The programs to run, in order.  Raises E0803 for one that does not exist, E0101 for a parameter that none of them has."""
    from ttc.stimulus.parameters import parameters

    calls: list[ProgramCall] = []
    for name in names or netlist.programs:
        program = netlist.programs.get(name)
        if program is None:
            raise Error("E0803", f"there is no program '{name}'", hint=nearest(name, netlist.programs))
        calls.append(ProgramCall(name, parameters(program, netlist, given, config.arguments)))
    known = {name for call in calls for name in call.params}
    for name in given:
        if name not in known:
            raise Error("E0101", f"no program that runs has a parameter '{name}'", hint=nearest(name, known))
    return calls


def _session(netlist: Netlist, config: HostConfig, calls: Sequence[ProgramCall], given: Mapping[str, Any], *, keep: bool) -> GoldenSession:
    from ttc.runtime.cpu import checked_threads
    from ttc.runtime.engines.table import engine_named
    from ttc.runtime.golden.session import GoldenSession
    from ttc.stimulus.host import host_of
    from ttc.stimulus.rules import Rules, StimulusRule

    rules = config.rules if given["stimulus"] is None else Rules(StimulusRule(given["stimulus"]))
    values = _bundles(given["bundles"], netlist)
    host = host_of(netlist, rules, given["seed"], values, "rne" if given["rounding"] == "formats" else "truncate")
    engine = engine_named(given["engine"], checked_threads(given["threads"]))
    return GoldenSession(netlist, host, [call.program for call in calls], keep=keep, engine=engine)


def _bundles(paths: Sequence[Path], netlist: Netlist) -> dict[str, NDArray]:
    """Entries of queues, checked against their types.  Raises E0102, E0801."""
    from ttc.dialects.core.formats import format_named
    from ttc.dialects.netlist.buda.roles import host_owned
    from ttc.dialects.netlist.model import Argument
    from ttc.inputs.npy_files import read_bundle

    known = {
        queue.name: Argument(queue.name, "input", queue.name, (-1, *queue.tensor.shape), format_named(queue.tensor.format).compute.name)
        for queue in host_owned(netlist)
    }
    found: dict[str, NDArray] = {}
    for path in paths:
        for name, array in read_bundle(path, known).items():
            if name in found:
                raise Error("E0801", f"queue '{name}' is given twice", where=str(path))
            found[name] = array
    return found


# ---- results -----------------------------------------------------------------------------------------------------------------------------


def _title(record: Record) -> str:
    """Return the queue's name; of what a ram held before ops wrote it, with `.initial`."""
    written = record.queue.source != "HOST" and record.role == "input"
    return f"{record.queue.name}.initial" if written else record.queue.name


def _write(folder: Path, records: Sequence[Record]) -> None:
    from ttc.cli.outputs import write_outputs

    arrays = {_title(record): record.array() for record in records}
    write_outputs(folder, arrays, {_title(record): {"role": record.role, **_numbers(record)} for record in records})


def _numbers(record: Record) -> dict[str, list[int]]:
    """Return which entries there are, where these are not the first ones."""
    return {} if record.numbers == list(range(record.entries)) else {"numbers": record.numbers}


def _print_json(console: Console, session: GoldenSession, calls: Sequence[ProgramCall], records: Sequence[Record], seed: int) -> None:
    console.json(
        {
            "programs": [{"name": call.program, "parameters": call.params} for call in calls],
            "seed": seed,
            "microbatches": session.meter.microbatches,
            "queues": [
                {
                    "name": record.queue.name,
                    "role": record.role,
                    "format": record.queue.tensor.format,
                    "shape": list(record.queue.tensor.shape),
                    "entries": record.entries,
                    **_numbers(record),
                    **record.figures(),
                }
                for record in records
            ],
        }
    )


def _print(console: Console, calls: Sequence[ProgramCall], records: Sequence[Record]) -> None:
    for call in calls:
        values = ", ".join(f"{name}={value}" for name, value in call.params.items())
        console.note(f"program {call.program}" + (f" with {values}" if values else ""))
    if console.quiet:
        return
    columns = ["queue", "role", "format", "shape", "entries", "mean", "std", "min", "max", "non-finite"]
    rows = [
        [
            _title(record),
            record.role,
            record.queue.tensor.format,
            "x".join(map(str, record.queue.tensor.shape)),
            record.entries,
            *["-" if value is None else value for value in record.figures().values()],
        ]
        for record in records
    ]
    console.table(columns, rows)
