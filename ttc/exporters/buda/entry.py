"""What `ttc export --to netlist` calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.exporters.buda.export import export
from ttc.exporters.request import ExportRequest


def exported(path: Path, request: ExportRequest) -> dict[str, bytes]:
    """Export a model, or an archive compiled with --kernels buda, as a netlist in the Buda format.

    Raises: E0101 for a program's name, as a netlist holds all, and for a format or fidelity of an archive, which has its own; E0503 for an
        op that Buda lacks; what compilation or loading raises.
    """
    options = request.options
    if request.program is not None:
        raise Error("E0101", "a netlist holds all programs", hint="leave out --program")
    if path.suffix.lower() == ".tti":
        given = {"format": options.storage_format, "fidelity": options.fidelity}
        asked = [f"--{name} {value}" for name, value in given.items() if value is not None]
        if asked:
            raise Error("E0101", f"an archive is of the formats that it was compiled with, not of {asked[0]}", hint="export the model")
        from ttc.runtime.loader import load_program

        program = load_program(path)
    else:
        from ttc.compiler.driver import compile_path

        program = compile_path(path, replace(options, to="tti", kernels="buda")).program()
    return {"": write_netlist(export(program.netlist, program.description).form).encode()}
