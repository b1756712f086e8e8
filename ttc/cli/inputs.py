"""Inputs of a run: from .npy and .npz files, or random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Argument
from ttc.inputs.npy_files import draw, read_array, read_bundle

if TYPE_CHECKING:
    from ttc.runtime.executor import Executor
    from ttc.runtime.variants import Fit

NOTHING_FIXED: Mapping[str, NDArray[Any]] = MappingProxyType({})


@record
class Inputs:
    """The inputs of a run.  arrays: by input name, in the program's order; drawn: names of those that are random."""

    arrays: dict[str, NDArray]
    drawn: tuple[str, ...]


def gather(
    arguments: Sequence[Argument],
    files: Sequence[str],
    bundle: Path | None,
    *,
    random: bool,
    seed: int,
    fixed: Mapping[str, NDArray[Any]] = NOTHING_FIXED,
) -> Inputs:
    """Return the inputs of a program.

    Args:
        arguments: its signature.
        files: `NAME=FILE.npy` texts.
        bundle: an .npz file with one array an input.
        random: draw the inputs that are not given; without any given, all are drawn.
        fixed: values that inputs have where none are given.
    Raises: E0801 for unknown, missing or unfitting inputs; E0102 for unreadable files.
    """
    known = {argument.name: argument for argument in arguments}
    given = _read_files(known, files)
    if bundle is not None:
        for name, array in read_bundle(bundle, known).items():
            if name in given:
                raise Error("E0801", f"input '{name}' is given twice")
            given[name] = array
    missing = [name for name in known if name not in given and name not in fixed]
    if missing and given and not random:
        raise Error("E0801", f"no value for input {', '.join(missing)}", hint="give it with --input NAME=FILE.npy, or --random")
    generator = np.random.default_rng(seed)
    given = {**fixed, **given}
    arrays = {name: given[name] if name in given else draw(argument, generator) for name, argument in known.items()}
    return Inputs(arrays, tuple(missing))


def known_inputs(executor: Executor, arguments: Sequence[Argument]) -> dict[str, NDArray[Any]]:
    """Return values of inputs that a program's archive knows, by name: those it was compiled for, and the optimizer's hyper-parameters."""
    training = executor.description.training
    hyper = {} if training is None else {name: np.asarray(number, np.float32) for name, number in training.hyper.items()}
    values = {**hyper, **executor.fixed_inputs}
    return {argument.name: values[argument.name] for argument in arguments if argument.name in values}


def fitting(executor: Executor, program: str | None, files: Sequence[str], bundle: Path | None, *, pad_batch: bool = False) -> Fit:
    """Return the program that runs on inputs in files: the one named, else one of their shapes; without any, the first.

    Raises: E0801 if none has these shapes, E0803 for an unknown program, E0101 and E0102 for files.
    """
    if program is not None or not executor.variants.several or (not files and bundle is None):
        return executor.fit(None, program)
    from ttc.inputs.input_values import read_examples

    shapes = {name: tuple(array.shape) for name, array in read_examples(files, bundle).items()}
    return executor.fit(shapes, pad_batch=pad_batch)


def _read_files(known: Mapping[str, Argument], files: Sequence[str]) -> dict[str, NDArray]:
    given: dict[str, NDArray] = {}
    for text in files:
        name, path = _split(text, known)
        if name in given:
            raise Error("E0801", f"input '{name}' is given twice")
        given[name] = read_array(path, known[name])
    return given


def _split(text: str, known: Mapping[str, Argument]) -> tuple[str, Path]:
    """`NAME=FILE`; a name may itself hold `=`, so the longest known one counts."""
    matching = [name for name in known if text.startswith(name + "=")]
    if matching:
        name = max(matching, key=len)
        return name, Path(text[len(name) + 1 :])
    name, equals, _ = text.partition("=")
    if not equals:
        raise Error("E0101", f"--input cannot be '{text}'", hint="it takes NAME=FILE.npy")
    raise Error("E0801", f"there is no input '{name}'", hint=nearest(name, known))
