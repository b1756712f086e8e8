"""From the plain netlist to the form of a Buda netlist.

A form is derived from the plain netlist's own fields; settings, which `to_netlist` left, overrule what is derived.  A netlist that came
from YAML so comes out as it was written (in normal form), and one that the compiler made in the reference compiler's manner:

- buf_size_mb is the `out` buffer in macro blocks; input_buf_min_size_tiles what `in<i>` holds beyond what kernels buffer anyway.
- Queues of the compiler's have `pointers` set by programs that `from_netlist_programs` makes of theirs.
- Graphs on the host are left out: their work is done by whoever runs the netlist, between its programs; queues that they fill are fed by
  the host.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Plain, TensorType
from ttc.dialects.netlist.buda import settings as kept
from ttc.dialects.netlist.buda.form import BudaGraph, BudaNetlist, BudaOp, BudaProgram, FusedOp
from ttc.dialects.netlist.buda.from_netlist_ops import op_form, queue_form
from ttc.dialects.netlist.buda.from_netlist_programs import made_programs, program_form
from ttc.dialects.netlist.buda.instances import Devices, folded
from ttc.dialects.netlist.buda.normal import normalised
from ttc.dialects.netlist.buda.work import work_of
from ttc.dialects.netlist.model import Graph, Host, Netlist, Op

Instances = dict[str, tuple[str, Devices]]


def from_netlist(netlist: Netlist) -> BudaNetlist:
    """Return the plain netlist as a Buda netlist, in normal form.

    Raises E0503 naming the op that Buda lacks or whose numeric variant it lacks; E0609 for settings that are none, or that say something
    else than the work of their op.
    """
    failures: dict[str, Error] = {}
    form = derived(netlist, failures)
    where = "the netlist's settings"
    whole = dict(netlist.settings)
    _check_known(whole)
    fused = {**form.fused_ops, **kept.fused_ops(whole.get("fused_ops"), where)}
    order = kept.texts(whole.get("fused_order"), where) or tuple(fused)
    form = replace(
        form,
        archs=kept.texts(whole.get("archs"), where) or form.archs,
        queues={name: kept.restored(queue, netlist.queues[name].settings, f"queue '{name}'") for name, queue in form.queues.items()},
        graphs={name: _restored(graph, netlist.graphs[name]) for name, graph in form.graphs.items()},
        fused_ops={name: fused[name] for name in dict.fromkeys((*order, *fused)) if name in fused},
        extra=_extra(whole.get("extra")),
    )
    form = normalised(form)
    _check_works(form, netlist, failures)
    return folded(form, _instances(netlist.queues), _instances(netlist.graphs))


def _check_works(form: BudaNetlist, netlist: Netlist, failures: Mapping[str, Error]) -> None:
    """Each op of the form means the work of the op that it was made of; one whose work cannot be read is left to its settings.

    Raises what had failed, or E0609.
    """
    if netlist.positions != "pointers":
        for error in failures.values():
            raise error
        return
    forms = {op.name: op for graph in form.graphs.values() for op in graph.ops}
    for op in (op for graph in netlist.graphs.values() for op in graph.ops):
        written = forms[op.name]
        fused = form.fused_ops.get(str(written.attributes.get("fused_op_id"))) if written.type == "fused_op" else None
        if not _means(written, fused, op.work, netlist.chip.arch):
            message = "its settings say something else than its work"
            raise failures.get(op.name) or Error("E0609", message, where=f"op '{op.name}'", hint="leave out those of what has changed")


def _means(op: BudaOp, fused: FusedOp | None, work: Function, arch: str) -> bool:
    try:
        made = work_of(op, work.inputs, fused, arch)
    except Error:
        return False
    return [(w.op, w.operands, w.attrs, w.results) for w in made.works] == [(w.op, w.operands, w.attrs, w.results) for w in work.works]


def derived(netlist: Netlist, failures: dict[str, Error]) -> BudaNetlist:
    """Return the Buda netlist, in normal form, that the plain netlist's own fields imply, without settings that only the format knows.

    failures: why works cannot be read, by op: their type and attributes are left to settings.
    """
    graphs = {name: graph for name, graph in netlist.graphs.items() if not on_host(graph)}
    writers = {queue: op for graph in graphs.values() for op, queue in graph.writes}
    types = dict(_types(netlist))
    read = {name for graph in graphs.values() for op in graph.ops for name in op.inputs}
    used = {name: q for name, q in netlist.queues.items() if netlist.positions == "pointers" or name in read or name in writers}
    fused = _FusedOps()
    sums = {op for queue, op in writers.items() if netlist.queues[queue].summed}
    return normalised(
        BudaNetlist(
            archs=(netlist.chip.arch,),
            queues={name: queue_form(queue, writers.get(name)) for name, queue in used.items()},
            graphs={name: _graph(graph, types, fused, failures, sums) for name, graph in graphs.items()},
            programs=_programs(netlist),
            fused_ops=fused.entries,
        )
    )


def on_host(graph: Graph) -> bool:
    """Return whether a graph's ops run on the host."""
    return any(isinstance(op.place, Host) for op in graph.ops)


def _programs(netlist: Netlist) -> dict[str, BudaProgram]:
    if netlist.positions == "pointers":
        types = {name: queue.type for name, queue in netlist.queues.items()}
        return {name: program_form(program, types) for name, program in netlist.programs.items()}
    return {made.name: made for program in netlist.programs.values() for made in made_programs(program, netlist)}


def _types(netlist: Netlist) -> Iterator[tuple[str, TensorType]]:
    for queue in netlist.queues.values():
        yield queue.name, queue.tensor
    for graph in netlist.graphs.values():
        for op in graph.ops:
            yield op.name, op.work.value_types[op.work.outputs[0]]


class _FusedOps:
    """Entries of section fused_ops: one for all ops that run the same."""

    def __init__(self) -> None:
        self.entries: dict[str, FusedOp] = {}
        self._names: dict[str, str] = {}

    def name(self, fused: FusedOp, wanted: str | None) -> str:
        """Return the name under which a fused op is an entry; wanted: as the text had it."""
        identity = repr(replace(fused, name=""))
        name = wanted or self._names.get(identity)
        if name is None:
            name = str(len(self.entries))
            while name in self.entries:
                name += "_"
        self._names.setdefault(identity, name)
        self.entries.setdefault(name, replace(fused, name=name))
        return name


def _graph(graph: Graph, types: Mapping[str, TensorType], fused: _FusedOps, failures: dict[str, Error], sums: Collection[str]) -> BudaGraph:
    """Return a graph.  sums: ops whose results add up in rams."""
    ops = [replace(_op(op, types, fused, failures), gradient_op=op.name in sums or None) for op in graph.ops]
    return BudaGraph(graph.name, (graph.chip,), graph.input_count, tuple(ops))


def _op(op: Op, types: Mapping[str, TensorType], fused: _FusedOps, failures: dict[str, Error]) -> BudaOp:
    form, own = op_form(op, types, failures)
    if own is None:
        return form
    wanted = kept.setting(op.settings, "fused_op")
    name = fused.name(own, wanted if isinstance(wanted, str) else None)
    return replace(form, attributes={**form.attributes, "fused_op_id": int(name) if name.isdecimal() and str(int(name)) == name else name})


# ---- what settings add -----------------------------------------------------------------------------------------------------------------


def _restored(graph: BudaGraph, plain: Graph) -> BudaGraph:
    where = f"graph '{graph.name}'"
    ops = {form.name: kept.restored(form, op.settings, f"op '{op.name}'") for form, op in zip(graph.ops, plain.ops, strict=True)}
    order = kept.texts(kept.setting(plain.settings, "order"), where) or ()
    names = [name for name in order if name in ops]
    return replace(kept.restored(graph, plain.settings, where), ops=tuple([ops[name] for name in dict.fromkeys((*names, *ops))]))


def _check_known(whole: Mapping[str, Plain]) -> None:
    unknown = next((name for name in whole if name not in kept.OWN), None)
    if unknown is not None:
        raise Error("E0609", f"'{unknown[:40]}' is no setting of a netlist")


def _extra(value: Plain) -> dict[str, Plain]:
    """Sections without a meaning, by name."""
    try:
        found = dict(cast("Any", value or ()))
    except (TypeError, ValueError):
        raise Error("E0609", "setting 'extra' does not read as sections") from None
    if not all(isinstance(key, str) for key in found):
        raise Error("E0609", "setting 'extra' does not read as sections")
    return found


def _instances(items: Mapping[str, Any]) -> Instances:
    found: Instances = {}
    for name, item in items.items():
        value = kept.setting(item.settings, "instances")
        if value is not None:
            found[name] = kept.named_devices(value, f"'{name}'")
    return found
