"""`ttc tune-precision` without its command line: open, search, compile, check, tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.accuracy.distances import compare
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.netlist.model import Argument
from ttc.dialects.tile.base import tile_of
from ttc.options import CompileOptions, TuneOptions
from ttc.passes.precision import assign, chosen
from ttc.passes.tile_to_netlist.lower_to_netlist import usual_fidelity
from ttc.runtime.arguments import inputs_of
from ttc.runtime.contract import known_values
from ttc.runtime.executor import Executor
from ttc.runtime.program import build_program
from ttc.tune.cost import Cost
from ttc.tune.knobs import Knob, KnobMember, State, candidates_for, knobs_of
from ttc.tune.search import Search, Show
from ttc.tune.subject import Compiled, TuneSubject, open_subject
from ttc.tune.trial import Deviation, Trials, microbatches, worst

Gather = Callable[[list[Argument]], Mapping[str, NDArray]]


@record
class KnobRow:
    """The final setting of one knob: kind of ops, how many, the setting, and how many ops have each value."""

    kind: str
    ops: int
    key: str
    values: dict[str, int]


@record
class TuneOutcome:
    """The outcome of a search for precision: rules, and what they gain and cost.

    Args:
        rules: to compile with.
        rows: what they amount to, by kind of op.
        deviation: of the compiled program's outputs from those in Float32.
        before, after: the model compiled without and with the rules.
        evaluations: of the model, that the search took.
    """

    rules: tuple[PrecisionRule, ...]
    rows: tuple[KnobRow, ...]
    deviation: Deviation
    before: Compiled
    after: Compiled
    evaluations: int


def tune(path: Path, options: TuneOptions, gather: Gather, show: Show) -> TuneOutcome:
    """Find the cheapest precision that keeps `options.pcc`.  Raises E0503 if none does.

    Args:
        gather: gives the values of a program's inputs, but of those that can have one value alone.
        show: told what goes on.
    """
    show(f"compiling {path.name}")
    made = CompileOptions(target=options.target, shape=options.shape, batch=options.batch, values=options.values)
    subject = open_subject(path, made, options.program)
    candidates = candidates_for(subject.unit.target, options.candidates)
    state = State(knobs_of(subject, candidates))
    before = subject.compile(())
    netlist = before.package.netlist
    fixed = known_values(before.package.description.fixed_inputs)
    arguments = inputs_of(netlist.programs[subject.function.sym_name.data])
    inputs = {**fixed, **gather([argument for argument in arguments if argument.name not in fixed])}
    show("evaluating in Float32")
    trials = Trials(subject, microbatches(netlist, options.program, inputs))
    search = Search(trials, Cost(subject, before.sites), options.pcc, options.effort, show)
    first = search.run(state)
    if not first.keeps(options.pcc):
        hint = f"with nothing changed it is {first.pcc_text(7)}, with a relative L2 error of {first.relative_l2:.3g}"
        raise Error("E0503", f"{path.name} does not reach a correlation of {options.pcc} on {options.target}", hint=hint)
    return _confirmed(search, subject, before, inputs, options)


def _confirmed(search: Search, subject: TuneSubject, before: Compiled, inputs: Mapping[str, NDArray], options: TuneOptions) -> TuneOutcome:
    """Return the cheapest accepted state whose program, compiled and run as a whole, keeps the bound; steps back are doubled."""
    expected = _run(before, options.program, inputs)
    position, step = len(search.history) - 1, 1
    while True:
        state = search.history[position]
        search.show("compiling and running what was found")
        after = subject.compile(state.rules())
        found = _run(after, options.program, inputs)
        deviation = worst([compare(found[name], expected[name]) for name in search.trials.compared_names])
        if deviation.keeps(options.pcc) or position == 0:
            return TuneOutcome(state.rules(), tuple(_rows(state, subject)), deviation, before, after, search.trials.count)
        position, step = max(position - step, 0), 2 * step


def _run(compiled: Compiled, program: str, inputs: Mapping[str, NDArray]) -> dict[str, NDArray]:
    package = compiled.package
    with Executor(build_program(package.netlist, package.description, package.tensors)) as executor:
        return executor.run(inputs, program=program)


def _rows(state: State, subject: TuneSubject) -> list[KnobRow]:
    """Return what the rules of a state give to the ops of each knob."""
    rules = state.rules()
    formats = assign(subject.unit.module, rules).formats
    rows: list[KnobRow] = []
    for knob in state.knobs:
        values = Counter(_value(knob, member, rules, formats) for member in knob.members)
        rows.append(KnobRow(knob.kind, len(knob.members), knob.key, dict(values.most_common())))
    return rows


def _value(knob: Knob, member: KnobMember, rules: tuple[PrecisionRule, ...], formats: Mapping[SSAValue, str]) -> str:
    """Return the setting that an op has under rules, made by one of them or not."""
    found = chosen(member.op, rules).get(knob.key)
    if found is not None or knob.key != "fidelity":
        return found[0] if found is not None else member.base
    result = member.op.results[0]
    return usual_fidelity(formats.get(result) or tile_of(result).format)
