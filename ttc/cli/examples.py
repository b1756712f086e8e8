"""Example inputs of commands that compile: arrays in files, which fix shapes and what shapes follow from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ttc.cli.options import FILE, CommandT
from ttc.options import CompileOptions


def example_flags(command: CommandT) -> CommandT:
    """Give a command the flags --input and --inputs, whose values it passes on to `with_examples`."""
    one = click.option(
        "--input", "example_files", multiple=True, metavar="NAME=FILE.npy", help="Example of an input: it fixes the shape (repeatable)."
    )
    return one(click.option("--inputs", "example_bundle", type=FILE, metavar="FILE.npz", help="Examples of inputs, by name.")(command))


def with_examples(options: CompileOptions, raw: dict[str, Any]) -> CompileOptions:
    """Return the options with shapes of example inputs, and values that shapes may follow from; --shape and --values come first.

    raw: what the flags of `example_flags` gave, which is taken out of it.  Raises E0101, E0102, E0801.
    """
    files, bundle = raw.pop("example_files"), raw.pop("example_bundle")
    if not files and bundle is None:
        return options
    from ttc.inputs.input_values import InputValue, read_examples

    examples = read_examples(files, bundle)
    shapes = {name: tuple(array.shape) for name, array in examples.items()} | dict(options.shape)
    known = {value.name for value in options.values}
    values = [InputValue.of(name, array) for name, array in examples.items() if name not in known and array.dtype.kind in "iubfcV"]
    return replace(options, shape=tuple(sorted(shapes.items())), values=(*options.values, *values))
