"""All formats that models are exported to, by the name that `ttc export --to` takes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.numerics import BATCH
from ttc.dialects.core.records import record

if TYPE_CHECKING:
    from ttc.exporters.request import ExportRequest
    from ttc.options import CompileOptions


@record
class Exporter:
    """A format that models are exported to.

    Args:
        what: in a line of help.
        module: has `exported(path, request)`, which returns the files of an export by name.
        suffix: of the one file that is written; None for a folder of several.
        formats: of `--format` that it takes beside the default; None where they are the compilation's.  Empty: the model's own types are
            written, and no device multiplies, so that `--fidelity` says nothing either.
        takes: flags of `ttc export` that say something here and not everywhere, see WHAT.
    """

    what: str
    module: str
    suffix: str | None
    formats: tuple[str, ...] | None
    takes: tuple[str, ...] = ()


EXPORTERS: dict[str, Exporter] = {
    "ttnn": Exporter(
        "a folder of a Python module for TT-NN and its weights",
        "ttc.exporters.ttnn.entry",
        None,
        ("Float32", "Float16_b", "Bfp8_b"),
        ("chips", "parallel", "trace", "amp", "precision-file"),
    ),
    "onnx": Exporter("an ONNX model", "ttc.exporters.onnx.entry", ".onnx", ()),
    "stablehlo": Exporter("a module of StableHLO text", "ttc.exporters.stablehlo.entry", ".mlir", ()),
    "netlist": Exporter("a netlist in the Buda format", "ttc.exporters.buda.entry", ".yaml", None, ("chips", "amp", "precision-file")),
}

WHAT = {
    "chips": "programs for several chips",
    "parallel": "programs whose tensors chips divide",
    "trace": "traces",
    "amp": "mixed precision",
    "precision-file": "precision of single ops",
}
"""What those flags ask for that not all exporters take, by flag."""


def exporter(name: str) -> Exporter:
    """Return an exporter by name.  Raises E0101."""
    found = EXPORTERS.get(name)
    if found is None:
        raise Error("E0101", f"there is no export to '{name[:80]}'", hint=nearest(name, EXPORTERS))
    return found


def exported(name: str, path: Path, request: ExportRequest) -> dict[str, bytes]:
    """Export a model; returns the files by name, a single one under the empty name.

    Args:
        path: a model, IR text, or an archive where the format is made of netlists, or the archive holds the text of stage nn.
    Raises: E0101 for a format of numbers, a fidelity, chips, traces or rules of precision that the exporter does not write, E0503 for ops
        that it has no form of, all at once; what compilation raises.
    """
    found, options = exporter(name), request.options
    if found.formats is not None:
        _require_format(name, found.formats, options)
    asked = {
        "chips": options.chips is not None,
        "parallel": request.parallel != BATCH,
        "trace": request.trace,
        "amp": bool(options.amp),
        "precision-file": bool(options.precision_file),
    }
    for flag, what in WHAT.items():
        if asked[flag] and flag not in found.takes:
            raise Error("E0101", f"--to {name} does not write {what}", hint=f"leave out --{flag}")
    return importlib.import_module(found.module).exported(path, request)


def _require_format(name: str, formats: tuple[str, ...], options: CompileOptions) -> None:
    """Raises E0101 for a format or fidelity that somebody asked for and the exporter does not write."""
    hint = f"it writes {', '.join(formats)}" if formats else "it writes the model's own types"
    if options.storage_format is not None and options.format not in formats:
        raise Error("E0101", f"--to {name} does not write --format {options.format}", hint=hint)
    if options.fidelity is not None and not formats:
        raise Error("E0101", f"--to {name} does not write --fidelity {options.fidelity}", hint=hint)
