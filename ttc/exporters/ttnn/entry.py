"""What `ttc export --to ttnn` calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.exporters.graph import divided_graph_of
from ttc.exporters.ttnn.export import export
from ttc.options import CompileOptions

ARCHITECTURES = ("wormhole_b0", "blackhole")


def exported(path: Path, options: CompileOptions, program: str | None, *, trace: bool = False) -> dict[str, bytes]:
    """Export a model as a folder of files for TT-NN; chips of a mesh divide its batch.  trace: as `export` takes it.

    Raises: E0101 for a machine without TT-NN, and for a batch that the chips do not divide; E0503; what compilation raises.
    """
    # the device's formats and chips are the exporter's: the IR stays in the model's own, for one chip
    whole, graph = divided_graph_of(path, replace(options, format="source", chips=None), options.chips or 1, program)
    if graph.target.arch not in ARCHITECTURES:
        raise Error(
            "E0101", f"TT-NN does not run on '{graph.target.name}'", hint="targets of Wormhole and Blackhole: n150, n300, p100, p150"
        )
    return export(graph, options.storage_format, options.fidelity, whole, trace=trace)
