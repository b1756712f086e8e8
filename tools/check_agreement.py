"""Compare what `ttc check` says with what `ttc compile` does, on random models or on those of real_models.py.

    python tools/check_agreement.py --count 2000
    python tools/check_agreement.py --real FOLDER [-k PATTERN] [--sources shipped,converted,pipelines]

For every model and set of options both end in the same: success, or an error of the same code.  Where check says that a model compiles
once its open dimensions are fixed as it suggests, or does not, compile agrees on that, too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import onnx

import checkout  # noqa: F401 - finds ttc where it is not installed
from random_models import random_model
from real_catalogue import Model, ports_of, shipped, sizes_of, write_inputs
from real_converted import converted, pipelines
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.importers.common.inputs import OpenDimensions
from ttc.options import CompileOptions, resolve
from ttc.reports.readiness import check
from ttc.settings.option_values import Shape

TARGETS = ("host", "n150")
SUCCESS = "compiles"
SOURCES = {"shipped": shipped, "converted": converted, "pipelines": pipelines}
"""The functions that make the models of real_models.py, given their folder."""


@dataclass
class Disagreement:
    """A model on which the commands differ.

    Args:    model: its index or name; what: `check` or, with the sizes that it suggests, `with flags`.
    """

    model: int | str
    options: str
    what: str
    check: str
    compile: str


def options_of(random: Random, target: str, shapes: Mapping[str, Shape]) -> CompileOptions:
    """Return options for one model: mostly the defaults.  shapes: those that its inputs were made for."""
    fields: dict[str, object] = {"target": target}
    if random.random() < 0.1:
        fields["batch"] = random.choice([1, 2, 4])
    if random.random() < 0.6:
        fields["shape"] = shapes
    if random.random() < 0.3:
        fields["format"] = random.choice(["Float32", "Float16_b", "Bfp8_b", "Bfp4_b"])
    if random.random() < 0.2 and target != "host":
        fields["kernels"] = "buda"
    if random.random() < 0.03:
        fields["shape"] = {"x0": tuple(random.choice([1, 3, 32]) for _ in range(random.randint(1, 4)))}
    if random.random() < 0.3:
        fields["effort"] = 0
    return resolve(CompileOptions, fields)


def verdict(command: Callable[[], str | None]) -> str:
    """Return `compiles`, the code of the error, or what came instead of one."""
    try:
        return command() or SUCCESS
    except Error as error:
        return error.code
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def compared(path: Path, options: CompileOptions, index: int | str, archive: Path | None = None) -> tuple[str, list[Disagreement]]:
    """Return what compile ends in, and where check says something else.  archive: to write, else beside the model."""
    shown = json.dumps({key: value for key, value in options.recorded().items() if key != "format" or value != "source"})
    ends: list[tuple[str | None, OpenDimensions | None]] = []

    def checked() -> str | None:
        found = check(path, options)
        ends.append((found.failure.code if found.failure else None, found.open))
        return found.error.code if found.error is not None else None

    def compiled(with_options: CompileOptions) -> str | None:
        compile_path(path, with_options).save(archive or path.with_suffix(".tti"))

    said, ended = verdict(checked), verdict(lambda: compiled(options))
    found = [] if said == ended else [Disagreement(index, shown, "check", said, ended)]
    failure, still_open = ends[0] if ends else (None, None)
    if still_open is not None:
        shapes = tuple(sorted((dict(options.shape) | dict(still_open.likely)).items()))
        fixed = verdict(lambda: compiled(replace(options, shape=shapes)))
        found += [] if fixed == (failure or SUCCESS) else [Disagreement(index, shown, "with flags", failure or SUCCESS, fixed)]
    return ended, found


def run(count: int, seed: int, targets: Sequence[str], first: int = 0) -> Iterator[tuple[str, str, list[Disagreement]]]:
    """Yield the target, what compile ends in and the disagreements of each model and target."""
    with tempfile.TemporaryDirectory() as folder:
        for index in range(first, first + count):
            path = Path(folder) / "m.onnx"
            model, shapes = random_model(Random(f"{seed} {index}"))
            onnx.save(model, path)
            for target in targets:
                yield target, *compared(path, options_of(Random(f"{seed} {index} {target}"), target, shapes), index)


def run_real(folder: Path, sources: Sequence[str], pattern: str, targets: Sequence[str]) -> Iterator[tuple[str, str, list[Disagreement]]]:
    """Compare as `run` does, for the models of real_models.py in a folder, with sizes and values as that compiles them and all else by
    default.
    """
    with tempfile.TemporaryDirectory() as place:
        for source in sources:
            for model in SOURCES[source](folder):
                name = f"{model.source}/{model.label}"
                for target in targets if re.search(pattern, name) else ():
                    ended, found = compared(model.path, real_options(model, target), name, Path(place) / "m.tti")
                    yield target, ended, found


def real_options(model: Model, target: str) -> CompileOptions:
    """Return the options that real_models.py compiles a model with."""
    ports = ports_of(model)
    write_inputs(model, ports)
    shapes, values = sizes_of(model, ports)
    return resolve(CompileOptions, {"target": target, "shape": shapes, "values": values})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns status 1 if any model gave two verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="index of the first model")
    parser.add_argument("--target", action="append", choices=TARGETS, help="default: all")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="the models that real_models.py has there, instead of random ones")
    parser.add_argument("--sources", default=",".join(SOURCES), help="of real models")
    parser.add_argument("-k", dest="pattern", default="", help="regular expression for `source/model` of real models")
    given = parser.parse_args(arguments)
    ends: Counter[tuple[str, str]] = Counter()
    disagreements = 0
    targets = given.target or TARGETS
    if given.real:
        made = run_real(given.real, given.sources.split(","), given.pattern, targets)
    else:
        made = run(given.count, given.seed, targets, given.first)
    for target, ended, found in made:
        ends[target, ended] += 1
        disagreements += len(found)
        for row in found:
            print(f"model {row.model} {row.options} {row.what}: check says {row.check}, compile {row.compile}", flush=True)
    for (target, ended), times in sorted(ends.items()):
        print(f"{target}: {ended}: {times}")
    print(f"{sum(ends.values())} compilations of {sum(ends.values()) // len(targets)} models, {disagreements} disagreements")
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
