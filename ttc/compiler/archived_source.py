"""An archive as the start of a compilation: the text of stage nn that it holds, over its weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ttc.compiler.source import MAX_TEXT_BYTES, Source, check_recorded, dialects, text_weights
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import module_attr
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import target_names
from ttc.inputs.files import require_input
from ttc.options import CompileOptions
from ttc.runtime.archive import NN_TEXT, open_archive

SHAPED = ("shape", "batch", "values", "weights")
"""Options of a model, which an archive has settled."""
CHOSEN = ("target", "format", "fidelity", "amp", "precision_file")
"""Options that an archive was compiled with, which exports of it take over."""


def is_archive(path: Path) -> bool:
    """Return whether a file is taken as an archive."""
    return path.suffix.lower() == ".tti"


def archived_source(path: Path, options: CompileOptions) -> Source:
    """Return the IR at the end of stage nn that an archive holds as text, with the archive's weights.

    Raises E0101 for an archive without it, and for options that it has settled; E03xx for text that is damaged; what opening an archive
    raises.
    """
    given = [name for name in SHAPED if getattr(options, name)]
    if given:
        raise Error("E0101", f"--{given[0]} goes with a model: an archive has its shapes, values and weights", where=path.name)
    archive = open_archive(require_input(path))
    name = f"debug/{NN_TEXT}"
    if name not in archive.entries:
        message = f"{path.name} holds no ops of dialect nn: it was compiled from text past stage nn, or by an older version"
        raise Error("E0101", message, hint="export from the model, or from the text that `ttc compile --to nn` writes")
    where = f"{path.name}/{name}"
    data = archive.member(name)
    if len(data) > MAX_TEXT_BYTES:
        raise Error("E0301", f"the text is larger than {MAX_TEXT_BYTES >> 20} MB", where=where)
    try:
        module = parse_module(str(data, "utf-8"), where, dialects())
    except UnicodeDecodeError as error:
        raise Error("E0301", f"not text: {error}", where=where) from None
    if module_attr(module, "stage") != "nn":
        raise Error("E0305", "the text is not of stage nn", where=where)
    check_recorded(module, where)
    verify(module)
    return Source(module, text_weights(module, path, archive), "nn")


def as_compiled(path: Path, options: CompileOptions, formats: tuple[str, ...]) -> CompileOptions:
    """Return options with the target, format and fidelity that an archive was compiled with, where none were given.

    formats: that can be taken over.  Raises what opening an archive raises.
    """
    recorded = open_archive(require_input(path), verify_tensors=False).manifest.options
    found: dict[str, Any] = {name: recorded[name] for name in CHOSEN if name in recorded and name not in options.given}
    if str(found.get("target")) not in set(target_names()) - {"host"}:
        found.pop("target", None)
    if str(found.get("format")) not in formats:
        found.pop("format", None)
    return replace(options, **found)
