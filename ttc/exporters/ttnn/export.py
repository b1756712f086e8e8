"""From a program at stage nn to a folder of a Python module and its weights."""

from __future__ import annotations

from safetensors.numpy import save

from ttc.dialects.core.errors import Error
from ttc.exporters.graph import ModelGraph
from ttc.exporters.ttnn.body import write_body
from ttc.exporters.ttnn.emitter import Emitter
from ttc.exporters.ttnn.module import module_text
from ttc.exporters.ttnn.placing import Placing
from ttc.exporters.ttnn.weights import BFLOAT8, BFLOAT16, FLOAT32

FORMATS = {None: (BFLOAT16, BFLOAT16), "Float16_b": (BFLOAT16, BFLOAT16), "Bfp8_b": (BFLOAT8, BFLOAT16), "Float32": (FLOAT32, FLOAT32)}
"""By the format of a compilation: that of weights of products and convolutions, and that of all other tensors."""
MODULE, WEIGHTS = "model.py", "weights.safetensors"


def export(
    graph: ModelGraph, format_: str | None = None, fidelity: str | None = None, whole: ModelGraph | None = None, *, trace: bool = False
) -> dict[str, bytes]:
    """Write a program as a Python module for TT-NN and a file of weights; returns files by name.

    Args:
        graph: the program of one chip.
        whole: the program for the rows of all chips, where several divide a batch; None: there is one.
        format_: of tensors, as `ttc compile --format` names it; None: 16 bits.
        fidelity: of the multiplier; None: all passes for 16 bits and more, two for blocks of 8 bits.
        trace: the module has the functions that record its work on the device, and run the record.
    Raises: E0503 for ops that neither TT-NN nor torch computes, all at once, and for a program that a trace cannot
        record; E0101 for a format that TT-NN lacks, and a trace of several chips.
    """
    if trace and whole is not None and whole is not graph:
        raise Error("E0101", "--trace records the work of one chip", hint="leave out --chips")
    weight_format, rest = FORMATS[format_]
    target = graph.target
    emitter = Emitter(graph, whole or graph, weight_format, rest, Placing(target.cores * target.l1_bytes, {}))
    write_body(emitter)
    text = module_text(emitter, fidelity or ("HiFi2" if weight_format == BFLOAT8 else "HiFi4"), trace)
    weights = save({name: weight.array for name, weight in emitter.weights.stored.items()})
    return {WEIGHTS: weights, MODULE: text.encode()}  # in this order: a module that is there has its weights
