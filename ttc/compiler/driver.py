"""One compilation: from a source through the stages, as far as asked, under the eyes of instruments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ttc import __version__
from ttc.compiler.probes import add_probes
from ttc.compiler.source import Source, open_source
from ttc.compiler.training_plan import plan_of, recorded_training
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.garbage import uncollected
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import module_attr, set_module_attr
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import Target, described, harvest, is_target_file, load_target, parse_rows, target_of
from ttc.dialects.core.numerics import PIPELINE
from ttc.dialects.core.records import record
from ttc.instruments.stage_text import StageText
from ttc.instruments.timing import StageTime, Timing
from ttc.options import STAGES, CompileOptions
from ttc.passes.base import Instrument, Pass, Unit
from ttc.passes.emit import Package, emit
from ttc.passes.manager import run_stage
from ttc.passes.pipeline import USUAL, PipelineSettings, stages
from ttc.runtime.archive import NN_TEXT, check_loadable, write_archive
from ttc.runtime.metrics import counter
from ttc.runtime.program_checks import check_program
from ttc.runtime.tracing import span
from ttc.settings.records import UNSET, flag_of, settings

if TYPE_CHECKING:
    from ttc.runtime.program import Program

_COMPILATIONS, _SECONDS, _ERRORS = counter("compilations"), counter("compile_seconds"), counter("compile_errors")
TRIES = 2
"""The effort of placement from which on several microbatches are tried."""


@record
class Compilation:
    """The result of a compilation, at the stage where it stopped.

    Args:
        unit: the module at the end of `stage`, its weights, the machine.
        stage: where it stopped.
        options: as they were in force, those recorded in resumed IR included.
        package: what an archive holds; None unless the stage is `tti`.
        times: of the stages that ran.
    """

    unit: Unit
    stage: str
    options: CompileOptions
    package: Package | None
    times: tuple[StageTime, ...]

    def text(self) -> str:
        """Return the module as text that compilation can resume from."""
        return print_op(self.unit.module) + "\n"

    def program(self) -> Program:
        """Return the compiled program, its netlist checked.  Raises E0305 if compilation stopped earlier, and E06xx."""
        from ttc.runtime.program import build_program  # with the engines, which nobody needs who only writes an archive

        package = self._contents()
        return build_program(package.netlist, package.description, package.tensors, texts=lambda: package.texts)

    def save(self, path: Path) -> None:
        """Write the archive of the compiled program, checked.  Raises E0305 if compilation stopped earlier, E06xx, E0103."""
        found = self._contents()
        check_program(found.netlist, found.description, found.tensors)
        write_archive(path, netlist=found.netlist, tensors=found.tensors, description=found.description, debug=found.texts)

    def verify(self) -> None:
        """Check what was compiled as `save` does, without reading tensors.  Raises E0305 if compilation stopped earlier, E06xx, E0703."""
        found = self._contents()
        check_program(found.netlist, found.description, found.tensors)
        check_loadable(found.netlist, found.tensors, found.description)

    def _contents(self) -> Package:
        if self.package is None:
            raise Error("E0305", f"compilation stopped at stage '{self.stage}': there is no program")
        return self.package


def compile_path(path: Path, options: CompileOptions, instruments: Sequence[Instrument] = (), *, count_ops: bool = False) -> Compilation:
    """Compile a model file or IR text.  count_ops: count the ops around every pass, too.  Raises Error."""
    check_options(options)
    timing = Timing(count_ops)
    source = open_source(path, options)
    return compile_source(source, options, instruments, timing)


def check_options(options: CompileOptions) -> None:
    """Refuse options that do not fit the target, before a model is read.  Raises E0101."""
    if "target" in options.given:
        used_chips(configured(load_target(options.target), options), options)


def compile_source(
    source: Source,
    options: CompileOptions,
    instruments: Sequence[Instrument] = (),
    timing: Timing | None = None,
    *,
    exportable: bool = True,
) -> Compilation:
    """Take IR from the stage it is at to the stage that `options.to` names.

    exportable: archives of the program hold its text at the end of stage nn, from which it can be exported.

    Raises E0305 if that stage lies behind it, E0101 if an option contradicts what the IR was compiled with, and what passes raise.
    """
    start = perf_counter()
    try:
        with span("compile", f"compile for {options.target}"):
            found = _compiled(source, options, instruments, timing or Timing(), StageText("nn") if exportable else None)
    except Error as error:
        _ERRORS.add(1, error.code)
        raise
    _COMPILATIONS.add()
    _SECONDS.add(perf_counter() - start)
    return found


def _compiled(
    source: Source, options: CompileOptions, instruments: Sequence[Instrument], timing: Timing, text: StageText | None
) -> Compilation:
    if STAGES.index(options.stop[0]) < STAGES.index(source.stage) or options.stop[0] == source.stage and options.stop[1]:
        raise Error("E0305", f"the IR is at the end of stage '{source.stage}', past '{options.to}'")
    asked = options.target if "target" in options.given else None
    options = with_recorded(source.module, options)
    if source.stage != "import" and options.training is not None and options.training.wanted and not module_attr(source.module, "training"):
        raise Error("E0305", f"the IR is at the end of stage '{source.stage}': a training program is made of the imported model")
    unit = Unit(source.module, source.weights, configured(machine_for(source.module, asked, options.target), options))
    set_module_attr(unit.module, "options", options.recorded())
    stopped = options.stop[0]
    watchers: list[Instrument] = [*instruments, timing]
    if text is not None and stopped == "tti":
        watchers.append(text)
    if source.stage == "import" and options.probe:
        add_probes(unit.module, options.probe)
    with uncollected() as collect:
        _begin(source, unit, watchers)
        _run(unit, source.stage, options, watchers, collect)
        texts = {NN_TEXT: text.text} if text is not None and text.text else {}
        package = emit(unit, __version__, texts) if stopped == "tti" else None
    if package is not None:
        _end_stage("tti", unit, watchers)
    for watcher in watchers:
        watcher.finish()
    return Compilation(unit, stopped, options, package, tuple(timing.stages))


def configured(target: Target, options: CompileOptions) -> Target:
    """Return the machine that options describe: its kernel set, the chips of a cluster, and no harvested rows of cores. Raises E0101."""
    if options.kernels is not None:
        if target.is_host and options.kernels != target.kernels:
            raise Error("E0101", f"target '{target.name}' has no kernel set '{options.kernels}'", hint=f"it has '{target.kernels}'")
        target = replace(target, kernels=options.kernels)
    if target.is_host and options.dram_placement is not None:
        raise Error("E0101", f"target '{target.name}' has no DRAM channels to choose from")
    for cluster in options.cluster:
        target = cluster.of_target(target)
    return target if options.harvested_rows is None else harvest(target, parse_rows(options.harvested_rows))


def used_chips(target: Target, options: CompileOptions) -> tuple[int, ...]:
    """Return the chips that a program is spread over; for a pipeline each is linked to the next.  Raises E0101 if there are not as many."""
    from ttc.dialects.core.machines.chip_rows import chips_in_a_row, some_chips

    find = chips_in_a_row if options.parallel == PIPELINE else some_chips
    cluster = options.cluster[0] if options.cluster else None
    if cluster is None:
        return find(target, options.chips or 1)
    return find(target, options.chips or len(cluster.chips), cluster.mmio, cluster.chips)


def machine_for(module: ModuleOp, asked: str | None, name: str) -> Target:
    """Return the machine compiled for; one that a file describes is recorded in the module, so that IR can be resumed without the file.

    asked: what the option names, None if it was not given; name: of the machine, as far as the module records one.
    Raises E0101 if the module records another machine than asked for.
    """
    recorded = module_attr(module, "target")
    if recorded is not None:
        target = target_of(recorded, "ttc.target")
        if asked is not None and load_target(asked) != target:
            raise Error("E0101", f"{flag_of('target')} {asked}: the IR was compiled for another target of that name")
        return target
    if asked is None and is_target_file(name):
        raise Error("E0101", f"the IR names the target '{name}', which is no machine's name")
    if asked is None or not is_target_file(asked):
        return load_target(name)
    target = load_target(asked)
    set_module_attr(module, "target", described(target))
    return target


def _begin(source: Source, unit: Unit, watchers: Sequence[Instrument]) -> None:
    if source.stage == "import":
        set_module_attr(unit.module, "stage", "import")
        verify(unit.module)
    _end_stage(source.stage, unit, watchers)


def _run(unit: Unit, done: str, options: CompileOptions, watchers: Sequence[Instrument], collect: Callable[[], None]) -> None:
    wanted = PipelineSettings(
        format=options.storage_format,
        precision=options.precision,
        rules=options.rules,
        dram_placement=options.dram_placement or USUAL.dram_placement,
        placement=options.placement_file,
        chips=used_chips(unit.target, options),
        parallel=options.parallel,
        effort=USUAL.effort if options.effort is None else options.effort,
        training=plan_of(options.training, unit.module) if done == "import" else None,
    )
    passes = stages(unit.target, wanted)
    last, name = options.stop
    for stage in ("nn", "tile", "netlist"):
        if not STAGES.index(done) < STAGES.index(stage) <= STAGES.index(last):
            continue
        if stage == "tile" and len(wanted.chips) > 1 and not unit.target.is_host:
            from ttc.passes.spread import best_spread  # with the performance model, which other compilations do without

            wanted = best_spread(unit, wanted)
            passes = stages(unit.target, wanted)
        if stage == "tile" and wanted.effort >= TRIES and not unit.target.is_host:
            from ttc.passes.microbatch import best_microbatch  # with the performance model, too

            passes = stages(unit.target, replace(wanted, samples=best_microbatch(unit, wanted)))
        end = _place_of(name, passes[stage], stage) if stage == last and name is not None else None
        run_stage(stage, passes[stage], unit, watchers, end)
        if stage != last:  # after the last one all is done soon, and its IR with it
            collect()


def _place_of(name: str, passes: Sequence[Pass], stage: str) -> int:
    """Return how many passes of a stage run up to the one named.

    name: `canonicalize` (its first run), `canonicalize@2` (its second), or `7` (the seventh pass).  Raises E0101.
    """
    if name.isdecimal() and 0 < int(name) <= len(passes):
        return int(name)
    stem, _, number = name.partition("@")
    places = [index for index, pass_ in enumerate(passes, 1) if pass_.name == stem]
    if not places:
        raise Error("E0101", f"stage '{stage}' has no pass '{stem[:80]}'", hint=nearest(stem, [p.name for p in passes]))
    times = int(number) if number.isdecimal() else 1 if not number else 0
    if not 1 <= times <= len(places):
        raise Error("E0101", f"there is no run '{name[:80]}' in stage '{stage}': the pass runs {len(places)} times in it")
    return places[times - 1]


def _end_stage(stage: str, unit: Unit, watchers: Sequence[Instrument]) -> None:
    for watcher in watchers:
        watcher.on_stage(stage, unit)


def with_recorded(module: ModuleOp, options: CompileOptions) -> CompileOptions:
    """Return options that change the result, as resumed IR records them.  Raises E0101 if one was given differently."""
    recorded = module_attr(module, "options")
    if not recorded:
        return options
    given, changes = replace(options, to="tti").recorded(), {}
    for item, setting in settings(CompileOptions):
        if not setting.in_result:
            continue
        now = given.get(item.name)
        then = recorded.get(item.name, None if item.default in UNSET else now)
        if item.name in options.given and now != then:
            without = f"with {then}" if then is not None else "without it"
            raise Error("E0101", f"{flag_of(item.name)} {now}: the IR was compiled {without}", hint="compile from the model")
        changes[item.name] = item.default if then is None else then
    return replace(options, training=recorded_training(recorded, options.training), **changes)
