"""What `ttc export --to ttnn` calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.exporters.graph import graph_of
from ttc.exporters.ttnn.export import export
from ttc.options import CompileOptions

ARCHITECTURES = ("wormhole_b0", "blackhole")


def exported(path: Path, options: CompileOptions, program: str | None) -> dict[str, bytes]:
    """Export a model as a folder of files for TT-NN.  Raises E0101 for a machine without TT-NN, E0503; what compilation raises."""
    source = replace(options, format="source")  # the device's formats are the exporter's: the IR stays in the model's own
    graph = graph_of(path, source, program)
    if graph.target.arch not in ARCHITECTURES:
        raise Error(
            "E0101", f"TT-NN does not run on '{graph.target.name}'", hint="targets of Wormhole and Blackhole: n150, n300, p100, p150"
        )
    return export(graph, options.storage_format, options.fidelity)
