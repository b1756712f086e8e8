"""What `import ttc` gives: compile a model, save the program, load it, run it.

program = ttc.compile("model.onnx", target="n150")
program.save("model.tti")
with ttc.load("model.tti", threads=2) as executor:
    outputs = executor.run({"x": x})
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ttc.compiler.training_keywords import gradient_checks, in_mode, training_of
from ttc.dialects.core.errors import Error
from ttc.dialects.core.garbage import uncollected
from ttc.loading import load as load
from ttc.loading import options_for
from ttc.options import CompileOptions, DebugOptions, resolve
from ttc.process.platform import require_supported
from ttc.settings.records import settings

if TYPE_CHECKING:
    from ttc.compiler.source import Source
    from ttc.passes.base import Instrument
    from ttc.runtime.program import Program
    from ttc.settings.train_options import TrainOptions

Examples: TypeAlias = "Mapping[str, Any] | Sequence[Any]"


def compile(
    path_or_module: str | os.PathLike[str] | object,
    example_inputs: Examples | None = None,
    *,
    dynamic_shapes: Any = None,
    options: CompileOptions | None = None,
    **option_fields: Any,
) -> Program:
    """Compile a model into a program that can be saved and run.

    Args:
        path_or_module: a model file, IR text (.mlir), a `torch.nn.Module`, a `ttc.nn.Module`, a
            `torch.export.ExportedProgram`, a `keras.Model`, a `tf.function` or a concrete function of TensorFlow.
        example_inputs: arrays by input name; they fix dynamic dimensions.  Where an op needs to know what an integer or boolean input
            holds (a shape, axes), the program is made for the values here, and running it with others raises E0806.  What floating-point
            inputs hold is never used.  A list stands for a sequence, None for an optional without an element.  For a PyTorch module what
            it is exported with: a tuple of positional or a mapping of keyword arguments.
        dynamic_shapes: of a PyTorch module, as torch.export takes them.
        options: all options; without it those not given as keywords come from TTC_* variables.
        option_fields: fields of CompileOptions, such as target="host", format="Float16_b", shape={"x": (1, 3, 224, 224)}, and of
            DebugOptions, such as dump="folder", print_after="fuse-*".  batch=[1, 8, 32], or shapes=[{"x": (1, 3)}, {"x": (8, 3)}],
            make a program for each, which share weights; a run takes the one that its inputs fit.  Fields of TrainOptions make a training
            program: loss (a name, ttc.losses.*, or a module of torch.nn), optimizer (a name, ttc.optim.*, or an instance of torch.optim
            over the module's parameters), microbatches, input_gradients, check_gradients; training=True makes one without a loss, and
            trains dropout and batch norms of a PyTorch module whatever mode it is in, training=False as they are in evaluation.
    Raises: ttc.Error.
    """
    require_supported()
    fields = _with_shapes(dict(option_fields))
    mode = fields.get("training")
    trained = training_of(path_or_module, fields)
    watchers = [*_watchers(fields), *gradient_checks(trained)]
    if is_file(path_or_module) and example_inputs is not None:
        fields = {**_examples(example_inputs), **fields}
    chosen = _for_programs(options, fields, trained)
    with uncollected() as collect:
        program = _program((path_or_module, example_inputs, dynamic_shapes), mode, chosen, watchers, collect)
        collect()
    return program


def _program(
    model: tuple[Any, Any, Any], mode: bool | None, options: CompileOptions, watchers: Sequence[Instrument], collect: Callable[[], None]
) -> Program:
    """Import a model in a mode and compile it; when this returns only the program is left of it, for a collection to free the rest.

    model: as `_source` takes it, with its example inputs and dynamic shapes.
    """
    if is_torch(model[0]) and not watchers and not options.shape and options.batch is None and model[2] is None:
        from ttc.importers.torch import require_torch

        require_torch()
        from ttc.compiler.torch_program import torch_program

        return torch_program(*model[:2], mode, options, collect)
    from ttc.compiler.driver import compile_source

    with in_mode(model[0], mode):
        source = _source(*model, options)
    collect()
    return compile_source(source, options, watchers).program()


def source_of(model: object, example_inputs: Examples | None, **option_fields: Any) -> Source:
    """Import a model as `compile` does, and return its IR with its weights.

    Args:    option_fields: fields of CompileOptions that say how: shape, batch, values, weights.
    Raises:  ttc.Error.
    """
    shapes = _examples(example_inputs) if is_file(model) and example_inputs is not None else {}
    return _source(model, example_inputs, None, resolve(CompileOptions, {**shapes, **option_fields}))


def _with_shapes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with `shapes`, a mapping by input name for each program, as the option that it amounts to.  Raises E0101."""
    shapes = fields.pop("shapes", None)
    if shapes is None:
        return fields
    if "shape" in fields or not shapes or any(set(one) != set(shapes[0]) for one in shapes):
        raise Error("E0101", "shapes are mappings with the same inputs, one for each program", hint="leave out shape")
    fields["shape"] = {name: list(dict.fromkeys(tuple(one[name]) for one in shapes)) for name in shapes[0]}
    return fields


def _for_programs(options: CompileOptions | None, fields: Mapping[str, Any], training: TrainOptions | None) -> CompileOptions:
    found = options_for(CompileOptions, options, fields)
    if training is not None:
        found = dataclasses.replace(found, training=training)
    if found.to != "tti":
        raise Error("E0101", f"ttc.compile gives a program, not stage '{found.to}'", hint="leave out `to`")
    return found


def _watchers(fields: dict[str, Any]) -> list[Instrument]:
    """Return the instruments that keywords ask for, which are taken out of the fields."""
    asked = {item.name: fields.pop(item.name) for item, _ in settings(DebugOptions) if item.name in fields}
    if not asked:
        return []
    from ttc.instruments.chosen import chosen_instruments

    return chosen_instruments(resolve(DebugOptions, asked), lambda text: print(text, file=sys.stderr))


def is_torch(model: object) -> bool:
    """Return whether a model is a module or program of PyTorch, which need not be loaded to tell."""
    return any(base.__module__.partition(".")[0] == "torch" for base in type(model).__mro__)


def is_tensorflow(model: object) -> bool:
    """Return whether a model is a model or function of TensorFlow or Keras, which need not be loaded to tell."""
    return any(base.__module__.partition(".")[0] in ("tensorflow", "keras") for base in type(model).__mro__)


def is_by_hand(model: object) -> bool:
    """Return whether a model is a module of `ttc.nn`, which need not be loaded to tell."""
    return any(base.__module__ == "ttc.nn" and base.__name__ == "Module" for base in type(model).__mro__)


def _source(model: Any, example_inputs: Any, dynamic_shapes: Any, options: CompileOptions) -> Source:
    """Import a model of any kind; what is imported already is copied, as compiling changes it."""
    from ttc.compiler.source import Source
    from ttc.compiler.variants import imported

    if is_torch(model):
        from ttc.importers.torch import import_object as import_torch

        return Source(
            *imported(options, lambda shapes, batch: import_torch(model, example_inputs, dynamic_shapes, shapes=shapes, batch=batch)),
            "import",
        )
    if dynamic_shapes is not None:
        raise Error("E0101", "dynamic_shapes goes with a PyTorch module")
    if isinstance(model, Source):
        return Source(model.module.clone(), model.weights.copy(), model.stage)
    if is_tensorflow(model):
        from ttc.importers.tf import import_object
    elif is_by_hand(model):
        from ttc.ops.importing import import_object
    elif is_file(model):
        return _opened(Path(os.fspath(model)), options)
    else:
        raise Error(
            "E0201", f"cannot compile a {type(model).__name__}", hint="give the path of a model, or a module of PyTorch, Keras, ttc.nn"
        )
    return Source(*imported(options, lambda shapes, batch: import_object(model, example_inputs, shapes=shapes, batch=batch)), "import")


def _opened(path: Path, options: CompileOptions) -> Source:
    from ttc.compiler.driver import check_options
    from ttc.compiler.source import open_source

    check_options(options)
    return open_source(path, options)


def is_file(model: object) -> bool:
    """Return whether a model is given as the path of a file."""
    return isinstance(model, str | os.PathLike)


def _examples(examples: Examples) -> dict[str, Any]:
    """Options that say what examples have: all shapes, and values where programs may be made for them, which those of texts are not."""
    if not isinstance(examples, Mapping):
        raise Error("E0101", "example_inputs of a model file are a mapping from input names to arrays")
    named = cast("Mapping[str, Any]", examples)
    shapes = {name: tuple(value.shape) for name, value in named.items() if hasattr(value, "shape")}
    return {"shape": shapes, "values": {name: x for name, x in named.items() if not hasattr(x, "dtype") or x.dtype.kind in "iubfcV"}}
