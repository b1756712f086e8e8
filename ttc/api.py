"""What `import ttc` gives: compile a model, save the program, load it, run it.

program = ttc.compile("model.onnx", target="n150")
program.save("model.tti")
with ttc.load("model.tti", threads=2) as executor:
    outputs = executor.run({"x": x})
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.machine import require_supported
from ttc.options import CompileOptions, RunOptions, resolve

if TYPE_CHECKING:
    from ttc.runtime.executor import Executor
    from ttc.runtime.program import Program

Examples: TypeAlias = "Mapping[str, NDArray[Any]] | Sequence[NDArray[Any]]"


def compile(
    path_or_module: str | os.PathLike[str] | object,
    example_inputs: Examples | None = None,
    *,
    options: CompileOptions | None = None,
    **option_fields: Any,
) -> Program:
    """Compile a model.

    Args:
        path_or_module: an ONNX file, or IR text (.mlir).
        example_inputs: arrays by input name; they fix dynamic dimensions, their values are not used.
        options: all options; without it those not given as keywords come from TTC_* variables.
        option_fields: fields of CompileOptions, such as target="host", format="Float16_b", shape={"x": (1, 3, 224, 224)}.
    Raises: ttc.Error.
    """
    require_supported()
    path = _path_of(path_or_module)
    fields = dict(option_fields)
    if example_inputs is not None:
        fields.setdefault("shape", _example_shapes(example_inputs))
    found = options_for(CompileOptions, options, fields)
    if found.to != "tti":
        raise Error("E0101", f"ttc.compile gives a program, not stage '{found.to}'", hint="leave out `to`")
    from ttc.driver import compile_path

    return compile_path(path, found).program()


def load(path: str | os.PathLike[str], threads: int | None = None, *, options: RunOptions | None = None, **option_fields: Any) -> Executor:
    """Open an archive for running; use it as a context manager, or close it.

    Args:
        path: of the archive.
        threads: CPU threads; default: variable TTC_THREADS, else all that the process may use.
        options, option_fields: as in `compile`, of RunOptions; exact=True computes as the device does.
    Raises: E0101, E0102, E06xx, E07xx.
    """
    require_supported()
    found = options_for(RunOptions, options, {"threads": threads, **option_fields})
    if found.stochastic_rounding is not None and not found.exact:
        raise Error("E0101", "--stochastic-rounding is arithmetic of the device", hint="add --exact")
    from ttc.runtime.engines.table import Exact
    from ttc.runtime.loader import load as load_archive

    exact = Exact(found.stochastic_rounding) if found.exact else None
    return load_archive(Path(path), engine=found.engine, threads=found.threads, exact=exact)


def options_for(kind: type[Any], options: Any, fields: Mapping[str, Any]) -> Any:
    """The options given, changed by keywords; without options, keywords over TTC_* variables.  Raises E0101."""
    if options is None:
        return resolve(kind, fields, os.environ)
    if not isinstance(options, kind):
        raise Error("E0101", f"options are {type(options).__name__}, not {kind.__name__}")
    explicit = {name: value for name, value in fields.items() if value is not None}
    changed = resolve(kind, explicit)
    return dataclasses.replace(options, given=options.given | changed.given, **{name: getattr(changed, name) for name in explicit})


def _path_of(model: object) -> Path:
    if isinstance(model, str | os.PathLike):
        return Path(os.fspath(model))
    if any(base.__module__.partition(".")[0] == "torch" for base in type(model).__mro__):
        hint = "export it: torch.onnx.export(model, example_inputs, 'model.onnx', dynamo=True)"
        raise Error("E0202", f"{type(model).__name__} is a PyTorch module, and there is no importer for them", hint=hint)
    raise Error("E0201", f"cannot compile a {type(model).__name__}", hint="give the path of an ONNX model")


def _example_shapes(examples: Examples) -> dict[str, tuple[int, ...]]:
    if not isinstance(examples, Mapping):
        raise Error("E0101", "example_inputs of a model file are a mapping from input names to arrays")
    return {name: tuple(array.shape) for name, array in examples.items()}
