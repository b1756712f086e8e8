"""The exported module as text: what it says of itself, its weights, `prepare`, and `forward` around the body."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from ttc import __version__
from ttc.dialects.core.errors import Error
from ttc.dialects.core.names import FreeNames
from ttc.exporters.graph import dtype_of
from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import INDENT, WIDTH, items, literal, numbers, statement
from ttc.exporters.ttnn.emitter import Emitter
from ttc.exporters.ttnn.precision import CONFIG
from ttc.exporters.ttnn.traced import traced_text

FORWARD = "forward"
"""The name of the function of a module that has one program."""
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
'''
SEND_OR_MAKE_ROWS = '''

class OnHost:
    """Stands for a mesh where tensors for its chips are made on the host."""

    def __init__(self, mesh):
        self.mesh = mesh


def to_device(device, tensor, layout=ttnn.TILE_LAYOUT, dtype=ttnn.FORMAT, rows=None):
    """Send a tensor of torch to the chips of a mesh; OnHost: make TT-NN's on the host.

    rows: the dimension of which each chip gets a part; None: each gets all of it.
    """
    made = isinstance(device, OnHost)
    mesh = device.mesh if made else device
    if rows is None:
        mapper = ttnn.ReplicateTensorToMesh(mesh)
    else:
        mapper = ttnn.ShardTensorToMesh(mesh, dim=rows)
    return ttnn.from_torch(
        tensor,
        dtype=dtype,
        layout=layout,
        device=None if made else mesh,
        memory_config=None if made else DRAM,
        mesh_mapper=mapper,
    )
'''
FETCH_ROWS = '''

def to_host(device, tensor, rows=0):
    """Bring what the chips hold to the host, one behind the other along a dimension."""
    composer = ttnn.ConcatMeshToTensor(device, dim=rows)
    return ttnn.to_torch(tensor, mesh_composer=composer)
'''
PREPARE = '''

def prepare(device, weights):
    """Bring weights to where the model reads them.

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
EMPTY_CACHES = """    for name, shape in CACHES.items():
        PREPARED[name] = to_device(device, torch.zeros(shape))
"""
PRECISE = """    NAME = ttnn.init_device_compute_kernel_config(
        device.arch(),
        math_fidelity=ttnn.MathFidelity.FIDELITY,
        math_approx_mode=False,
        fp32_dest_acc_en=True,
        packer_l1_acc=True,
    )
"""


def module_text(emitters: Sequence[Emitter], trace: bool = False) -> str:
    """Return the module around the bodies that were written.  trace: its functions are those that traces need."""
    first, names = emitters[0], _function_names(emitters)
    functions = [_function(emitter, name, trace) for emitter, name in zip(emitters, names, strict=True)]
    send = (SEND_OR_MAKE_ROWS if trace else SEND_ROWS) + FETCH_ROWS if first.is_divided else SEND_OR_MAKE if trace else SEND
    return "".join(
        (
            _introduction(emitters, names),
            HEAD if first.weights.caches or any("torch." in text for text in functions) else HEAD.replace("import torch\n", ""),
            "\n".join(_weights(first)) + "\n",
            send.replace("ttnn.FORMAT", f"ttnn.{first.format}"),
            _prepare(first),
            *functions,
        )
    )


def _prepare(emitter: Emitter) -> str:
    """Return the function `prepare`."""
    text = PREPARE.replace("    return", EMPTY_CACHES + "    return") if emitter.weights.caches else PREPARE
    if emitter.graph.chips == 1:
        return text
    text = text.replace("(place, dtype, layout)", "(place, dtype, layout, rows)").replace("name, shape in", "name, (shape, rows) in")
    return text.replace("name], layout, dtype)", "name], layout, dtype, rows)").replace("zeros(shape))", "zeros(shape), rows=rows)")


def _function_names(emitters: Sequence[Emitter]) -> list[str]:
    """Return a name of Python for each program: the only one is called `forward`."""
    if len(emitters) == 1:
        return [FORWARD]
    free, taken = FreeNames("_"), {"prepare", "to_device", "to_host"}
    names = []
    for emitter in emitters:
        names.append(free.of(re.sub(r"\W", "_", emitter.graph.program, flags=re.ASCII) or FORWARD, taken))
        taken.add(names[-1])
    return names


def _function(emitter: Emitter, name: str, trace: bool) -> str:
    """Return the function of a program, or those that its trace needs."""
    body = "\n".join(emitter.lines) + "\n"
    used = sorted(set(re.findall(rf"={CONFIG}\w*", body)))
    precise = "".join(_config(config.removeprefix("="), emitter) for config in used)
    if trace:
        changing = [variable for variable in emitter.variables if variable not in emitter.cached]
        if changing:
            message = f"a trace cannot record the program: recording it would write variable '{changing[0]}' twice"
            raise Error("E0503", message, hint="export without --trace")
        return traced_text(emitter.lines, precise, name, _what(name), "OnHost(device)" if emitter.is_divided else "None")
    head = f"\n\ndef {name}(device, inputs, weights=PREPARED):\n"
    head += f'{INDENT}"""Run the {_what(name)}.  inputs, and what is returned: tensors of torch by name."""\n'
    return head + precise + (body if precise else body.lstrip("\n"))


def _config(name: str, emitter: Emitter) -> str:
    """Return the statement that makes a configuration of the multiplier."""
    fidelity = emitter.precision.fidelity_of(name)
    return PRECISE.replace("NAME", name).replace("FIDELITY", fidelity)


def _what(name: str) -> str:
    return "model" if name == FORWARD else f"program {name}"


def _introduction(emitters: Sequence[Emitter], functions: Sequence[str]) -> str:
    """Return the module's docstring: the model, inputs and outputs of its programs, and how many chips divide their rows."""
    first = emitters[0]
    lines = [f'"""The model {_shown(first.graph.model)} as a program for TT-NN, written by ttc {__version__}.', ""]
    if first.graph.chips > 1:
        lines += [*textwrap.wrap(_of_tensors(first.graph.chips, [name for e in emitters for name in e.graph.kept]), WIDTH), ""]
    elif first.is_divided:
        rows, part = (program.function.inputs[0].shape[0] for program in (first.whole, first.graph))
        lines += [f"The device is a mesh of {rows // part} chips, which divide the {rows} rows of the batch.", ""]
    variables = [name for emitter in emitters for name in emitter.variables]
    if variables:
        lines += [*textwrap.wrap(f"Kept between runs, from `prepare` on: {', '.join(dict.fromkeys(map(_shown, variables)))}.", WIDTH), ""]
    for emitter, function in zip(emitters, functions, strict=True):
        graph, kinds = emitter.graph, emitter.whole.function.value_types
        given = [(output.name, number) for output, number in zip(graph.outputs, graph.function.outputs, strict=True) if not output.updates]
        of = "" if len(emitters) == 1 else f" of {function}"
        for role, named in (("Inputs", list(zip(graph.inputs, range(len(graph.inputs)), strict=True))), ("Outputs", given)):
            lines.append(f"{role}{of}, by name:")
            lines += [f"    {_shown(name)}: {dtype_of(kinds[number])}{list(kinds[number].shape)}" for name, number in named]
    return "\n".join(lines) + '\n"""\n'


def _of_tensors(chips: int, kept: Sequence[str]) -> str:
    """Return what the docstring says of chips that divide tensors."""
    text = f"The device is a mesh of 1 x {chips} chips, opened behind ttnn.set_fabric_config, which divide the tensors of the layers."
    return text + (f" Every chip computes all of {'; '.join(dict.fromkeys(map(_shown, kept)))}." if kept else "")


def _shown(name: str) -> str:
    """Return a name from a file inside a docstring: printable, without quotes and backslashes."""
    return ascii(name)[1:-1].replace("\\", "/").replace('"', "'")


def _weights(emitter: Emitter) -> list[str]:
    """Return the table of weights: where each is put, its format and its layout; and that of caches."""
    lines = ["WEIGHTS = {"] if emitter.weights.stored else ["WEIGHTS = {}"]
    for name, weight in emitter.weights.stored.items():
        format_ = store.BFLOAT16 if (weight.place, weight.format) == (store.KERNEL, store.BFLOAT8) else weight.format
        row = ("None", "None") if weight.place == store.HOST else (f"ttnn.{format_}", f"ttnn.{weight.layout}")
        row = (*row, str(weight.rows)) if emitter.graph.chips > 1 else row
        lines += statement(f"{literal(name)}: ", items([literal(weight.place), *row]), 1, ",")
    lines += ["}"] if emitter.weights.stored else []
    if not emitter.weights.caches:
        return lines
    caches = []
    for name, (shape, rows) in emitter.weights.caches.items():
        code = numbers(shape) if emitter.graph.chips == 1 else items([numbers(shape), str(rows)])
        caches += statement(f"{literal(name)}: ", code, 1, ",")
    return [*lines, "CACHES = {", *caches, "}"]
