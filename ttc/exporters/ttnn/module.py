"""The exported module as text: what it says of itself, its weights, `prepare`, and `forward` around the body."""

from __future__ import annotations

from ttc import __version__
from ttc.exporters.graph import ModelGraph, dtype_of
from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import INDENT, items, literal, statement
from ttc.exporters.ttnn.emitter import Emitter
from ttc.exporters.ttnn.traced import traced_text

HEAD = """
import torch
import ttnn

DRAM = ttnn.DRAM_MEMORY_CONFIG
L1 = ttnn.L1_MEMORY_CONFIG
PREPARED = {}
"""
SEND = '''

def to_device(device, tensor, layout=ttnn.TILE_LAYOUT, dtype=ttnn.FORMAT):
    """Send a tensor of torch to the device."""
    return ttnn.from_torch(
        tensor, dtype=dtype, layout=layout, device=device, memory_config=DRAM
    )
'''
SEND_OR_MAKE = '''

def to_device(device, tensor, layout=ttnn.TILE_LAYOUT, dtype=ttnn.FORMAT):
    """Send a tensor of torch to the device; None: make TT-NN's on the host."""
    place = None if device is None else DRAM
    return ttnn.from_torch(
        tensor, dtype=dtype, layout=layout, device=device, memory_config=place
    )
'''
SEND_ROWS = '''

def to_device(device, tensor, layout=ttnn.TILE_LAYOUT, dtype=ttnn.FORMAT, rows=None):
    """Send a tensor of torch to the chips of a mesh.

    rows: the dimension of which each chip gets a part; None: each gets all of it.
    """
    if rows is None:
        mapper = ttnn.ReplicateTensorToMesh(device)
    else:
        mapper = ttnn.ShardTensorToMesh(device, dim=rows)
    return ttnn.from_torch(
        tensor,
        dtype=dtype,
        layout=layout,
        device=device,
        memory_config=DRAM,
        mesh_mapper=mapper,
    )


def to_host(device, tensor, rows=0):
    """Bring what the chips hold to the host, one behind the other along a dimension."""
    composer = ttnn.ConcatMeshToTensor(device, dim=rows)
    return ttnn.to_torch(tensor, mesh_composer=composer)
'''
PREPARE = '''

def prepare(device, weights):
    """Bring weights to where `forward` reads them.

    weights: tensors of torch by name, as safetensors.torch.load_file gives them.
    Convolutions lay out theirs when they first run.
    """
    for name, (place, dtype, layout) in WEIGHTS.items():
        if place == "host":
            PREPARED[name] = weights[name]
        elif place == "kernel":
            PREPARED[name] = ttnn.from_torch(weights[name], dtype=dtype, layout=layout)
        else:
            PREPARED[name] = to_device(device, weights[name], layout, dtype)
    return PREPARED
'''
PRECISE = """    precise = ttnn.init_device_compute_kernel_config(
        device.arch(),
        math_fidelity=ttnn.MathFidelity.FIDELITY,
        math_approx_mode=False,
        fp32_dest_acc_en=True,
        packer_l1_acc=True,
    )
"""


def module_text(emitter: Emitter, fidelity: str, trace: bool = False) -> str:
    """Return the module around the body that was written.  trace: its functions are those that a trace needs."""
    body = "\n".join(emitter.lines) + "\n"
    precise = PRECISE.replace("FIDELITY", fidelity) if "=precise" in body else ""
    forward = "\n\ndef forward(device, inputs, weights=PREPARED):\n"
    forward += f'{INDENT}"""Run the model.  inputs, and what is returned: tensors of torch by name."""\n'
    forward += precise + (body if precise else body.lstrip("\n"))
    send = SEND_ROWS if emitter.is_divided else SEND_OR_MAKE if trace else SEND
    return "".join(
        (
            _introduction(emitter.graph, emitter.whole),
            HEAD if "torch." in body else HEAD.replace("import torch\n", ""),
            "\n".join(_weights(emitter)) + "\n",
            send.replace("ttnn.FORMAT", f"ttnn.{emitter.format}"),
            PREPARE,
            traced_text(emitter.lines, precise) if trace else forward,
        )
    )


def _introduction(graph: ModelGraph, whole: ModelGraph) -> str:
    """Return the module's docstring: the model, its inputs and its outputs, and how many chips divide their rows."""
    kinds = whole.function.value_types
    lines = [f'"""The model {_shown(graph.model)} as a program for TT-NN, written by ttc {__version__}.', ""]
    if whole is not graph:
        rows, part = (program.function.inputs[0].shape[0] for program in (whole, graph))
        lines += [f"The device is a mesh of {rows // part} chips, which divide the {rows} rows of the batch.", ""]
    for role, names, numbers in (
        ("Inputs", graph.inputs, range(len(graph.inputs))),
        ("Outputs", [output.name for output in graph.outputs], graph.function.outputs),
    ):
        lines.append(f"{role}, by name:")
        lines += [f"    {_shown(name)}: {dtype_of(kinds[n])}{list(kinds[n].shape)}" for name, n in zip(names, numbers, strict=True)]
    return "\n".join(lines) + '\n"""\n'


def _shown(name: str) -> str:
    """Return a name from a file inside a docstring: printable, without quotes and backslashes."""
    return ascii(name)[1:-1].replace("\\", "/").replace('"', "'")


def _weights(emitter: Emitter) -> list[str]:
    """Return the table of weights: where each is put, its format and its layout."""
    lines = ["WEIGHTS = {"] if emitter.weights.stored else ["WEIGHTS = {}"]
    for name, weight in emitter.weights.stored.items():
        format_ = store.BFLOAT16 if (weight.place, weight.format) == (store.KERNEL, store.BFLOAT8) else weight.format
        row = ("None", "None") if weight.place == store.HOST else (f"ttnn.{format_}", f"ttnn.{weight.layout}")
        lines += statement(f"{literal(name)}: ", items([literal(weight.place), *row]), 1, ",")
    return [*lines, "}"] if emitter.weights.stored else lines
