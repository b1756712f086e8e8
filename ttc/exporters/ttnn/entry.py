"""What `ttc export --to ttnn` calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ttc.compiler.archived_source import as_compiled, is_archive
from ttc.dialects.core.errors import Error
from ttc.dialects.core.numerics import TENSOR
from ttc.exporters.graph import ModelGraph, divided_graph_of, graphs_of
from ttc.exporters.request import ExportRequest
from ttc.exporters.ttnn.divided import tensor_divided
from ttc.exporters.ttnn.export import export_all
from ttc.exporters.ttnn.precision import FORMATS, require_formats

ARCHITECTURES = ("wormhole_b0", "blackhole")


def exported(path: Path, request: ExportRequest) -> dict[str, bytes]:
    """Export a model as a folder of files for TT-NN, with all its programs unless one is asked for.

    Chips of a mesh divide its batch, or the tensors of its layers.  An archive is exported for the machine, in the format, with the
    fidelity and by the rules of precision that it was compiled with, as far as TT-NN has them and none were asked for.

    Raises: E0101 for a machine without TT-NN, for rules that ask for weights in a format it lacks, and for a batch that the chips do not
        divide; E0503; what compilation raises.
    """
    if is_archive(path):
        known = tuple(name for name in FORMATS if name is not None)
        request = replace(request, options=as_compiled(path, request.options, known))
    programs = exported_programs(path, request)
    target = programs[0][0].target
    if target.arch not in ARCHITECTURES:
        hint = "targets of Wormhole and Blackhole: n150, n300, p100, p150"
        raise Error("E0101", f"TT-NN does not run on '{target.name}'", hint=hint)
    options = request.options
    if "precision_file" in options.given:
        require_formats(options.precision_file)
    return export_all(programs, options.storage_format, options.fidelity, rules=options.rules, trace=request.trace)


def exported_programs(path: Path, request: ExportRequest) -> list[tuple[ModelGraph, ModelGraph]]:
    """Return the programs of a model as `export_all` takes them: for all chips, and for one of them.  Raises what `exported` does."""
    if request.parallel == TENSOR and (request.options.chips or 1) < 2:
        raise Error("E0101", "--parallel tensor divides tensors among chips", hint="say how many by --chips")
    # the device's formats and chips are the exporter's: the IR stays in the model's own, for one chip
    options, chips = replace(request.options, format="source", chips=None), request.options.chips or 1
    if chips > 1 and request.parallel == TENSOR:
        return [tensor_divided(graph, chips) for graph in graphs_of(path, options, request.program)]
    if chips > 1:
        return [divided_graph_of(path, options, chips, request.program)]
    return [(graph, graph) for graph in graphs_of(path, options, request.program)]
