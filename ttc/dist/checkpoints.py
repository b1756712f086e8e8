"""Checkpoints of models whose stages lie in several processes: a file of each process, and an index that makes them one.

Files are of the safetensors format, with tensors `model/NAME` and `optimizer/NAME/KEY`; names are the model's, so that a checkpoint loads
into any other number of processes.  Files of a checkpoint are never written over: it is the index that is replaced, once all are whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from secrets import randbits

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as packed
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist.codec import decode, encode
from ttc.dist.failures import meet
from ttc.dist.optimizers import STATES, state_of, take_state
from ttc.dist.processes import Mesh
from ttc.inputs.files import require_folder, write_bytes
from ttc.runtime.archive import in_file, open_regular
from ttc.runtime.machine.checkpoint import check_header, damaged
from ttc.runtime.manifest import unique_keys

INDEX = "checkpoint.json"
"""The file of a checkpoint's folder that says which others belong to it."""
FORMAT_VERSION = 1
MAX_INDEX_BYTES = 1 << 20
_PART = re.compile(r"part-\d{5}-[0-9a-f]{16}\.safetensors")


@record
class Index:
    """Describes a checkpoint, whose files it names.

    Args:
        format_version: of these checkpoints.
        steps: that the runner had done.
        optimizer: the class whose state there is; None: there is none.
        parts: names of the files.
    """

    format_version: int
    steps: int
    optimizer: str | None
    parts: tuple[str, ...]


@record(eq=False)
class Names:
    """Tensors of a model by the names that a checkpoint has for them.

    Args:
        all: of all stages, in order; a tensor that several have is there once, under its first name.
        here: those that this process's stages have.
        first: those of `here` that no stage before them has, in another process.
    """

    all: Mapping[str, torch.Tensor]
    here: Mapping[str, torch.Tensor]
    first: Mapping[str, torch.Tensor]

    @staticmethod
    def of(parts: Sequence[nn.Module], own: Sequence[int]) -> Names:
        """Name the tensors of stages, of which some are this process's.

        Stages that were not cut from one model may use a name for two tensors: those have the number of the stage before it.
        """
        found: dict[str, torch.Tensor] = {}
        names: dict[int, str] = {}
        places: dict[str, list[int]] = {}
        for number, part in enumerate(parts):
            for plain, tensor in part.state_dict(keep_vars=True).items():
                if not isinstance(tensor, torch.Tensor):
                    raise Error("E0103", f"'{plain}' is no tensor, and a checkpoint holds no other values")
                if id(tensor) not in names:
                    names[id(tensor)] = f"{number}:{plain}" if plain in found else plain
                    found[names[id(tensor)]] = tensor
                places.setdefault(names[id(tensor)], []).append(number)
        here = {name: tensor for name, tensor in found.items() if set(places[name]) & set(own)}
        return Names(found, here, {name: tensor for name, tensor in here.items() if places[name][0] in own})


def save(folder: Path, names: Names, mesh: Mesh, what: str, steps: int, optimizer: torch.optim.Optimizer | None) -> None:
    """Write a checkpoint, whole or not at all; all processes call it, and those of the first replica write.

    Args:
        folder: that all processes see; it is made where it is not there.
        what: name of this writing, another one each time.
    Raises: E0103 in all processes where one cannot write.
    """
    token = torch.tensor(randbits(62))
    dist.broadcast(token, 0)
    here = f"part-{mesh.coordinate('pipe'):05}-{int(token):016x}.safetensors"
    with _together(mesh, what, "E0103", "cannot write its part of a checkpoint"):
        if mesh.is_first("data"):
            tensors = {f"model/{name}": tensor for name, tensor in names.first.items()}
            if optimizer is not None:
                tensors.update((f"optimizer/{name}", value) for name, value in state_of(optimizer, names.first).items())
            require_folder(folder).mkdir(exist_ok=True)
            write_bytes(folder / here, packed(_apart(tensors)))
    with _together(mesh, f"{what}, index", "E0103", "cannot write the index of a checkpoint"):
        if mesh.rank == 0:
            parts = tuple(f"part-{place:05}-{int(token):016x}.safetensors" for place in range(mesh.size("pipe")))
            kind = None if optimizer is None else type(optimizer).__name__
            write_bytes(folder / INDEX, json.dumps(encode(Index(FORMAT_VERSION, steps, kind, parts))).encode())
            _remove_others(folder, parts)


def load(folder: Path, names: Names, mesh: Mesh, what: str, optimizer: torch.optim.Optimizer | None) -> int:
    """Take parameters, buffers and the state of an optimizer from a checkpoint, and return the steps that were done; all processes call it.

    Nothing is changed in any process unless all can read what they need.
    Args:   as of `save`.
    Raises: E0102 without a checkpoint, E0807 for one that is damaged or of another model: in all processes.
    """
    with _together(mesh, what, "E0807", "cannot read its part of the checkpoint"):
        index = _index(folder / INDEX)
        if optimizer is not None and index.optimizer != type(optimizer).__name__:
            raise Error("E0807", f"the checkpoint has state of {index.optimizer or 'no optimizer'}", str(folder))
        with in_file(folder):
            found = _tensors(folder, index, names)
            model = {name: _fitting(found[f"model/{name}"], name, like) for name, like in names.here.items()}
            take = None if optimizer is None else take_state(optimizer, names.here, _states(found))
    with torch.no_grad():
        for name, value in model.items():
            names.here[name].copy_(value)
    if take is not None:
        take()
    return index.steps


@contextmanager
def _together(mesh: Mesh, what: str, code: str, otherwise: str) -> Iterator[None]:
    """Let the block succeed in all processes, or end in an error in all.  Processes wait for as long as compiling may take."""
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    meet(mesh, what)
    failed = torch.tensor(0 if failure is None else 1)
    dist.all_reduce(failed)
    if failure is not None:
        raise failure
    if failed:
        raise Error(code, f"another process {otherwise}", hint="its own error says why")


def _apart(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors of which no two share memory, as the format wants them."""
    known: set[int] = set()
    found: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        found[name] = tensor.detach().clone(memory_format=torch.contiguous_format) if place in known else tensor.detach().contiguous()
        known.add(place)
    return found


def _remove_others(folder: Path, parts: Sequence[str]) -> None:
    """Remove files of checkpoints that were replaced, or never became whole."""
    for name in os.listdir(folder):
        if _PART.fullmatch(name) and name not in parts:
            with suppress(OSError):  # a file that somebody else removed, or that cannot be: there is no harm in it
                (folder / name).unlink()


def _index(path: Path) -> Index:
    with in_file(path), closing(os.fdopen(open_regular(path), "rb")) as file:
        text = file.read(MAX_INDEX_BYTES + 1)
        try:
            if len(text) > MAX_INDEX_BYTES:
                raise damaged("its index has no end")
            index = decode(Index, json.loads(text, object_pairs_hook=unique_keys), "index")
        except (ValueError, RecursionError) as error:
            raise damaged(str(error)) from None
        except Error as error:
            raise Error("E0807", error.message, error.where, error.hint) from None
        if index.format_version != FORMAT_VERSION:
            raise Error("E0807", f"the checkpoint is of format version {index.format_version}; this ttc reads version {FORMAT_VERSION}")
        if index.steps < 0 or not all(_PART.fullmatch(part) for part in index.parts):
            raise damaged("its index names no steps, or files, of a checkpoint")
        if index.optimizer is not None and index.optimizer not in STATES:
            raise damaged(f"'{index.optimizer[:40]}' is no optimizer whose state is kept")
        return index


def _tensors(folder: Path, index: Index, names: Names) -> dict[str, torch.Tensor]:
    """The tensors that this process needs, of those of all parts.  Raises E0807 unless the model's are the same as here."""
    found: dict[str, torch.Tensor] = {}
    known: set[str] = set()
    for part in index.parts:
        with in_file(folder / part), closing(os.fdopen(open_regular(folder / part), "rb", buffering=0)) as file:
            check_header(file)
            try:
                with safe_open(f"/proc/self/fd/{file.fileno()}", framework="pt", backend="pread") as opened:
                    keys = set(opened.keys())
                    if keys & known:
                        raise damaged(f"'{min(keys & known)[:80]}' is in two files")
                    known |= keys
                    found.update((key, opened.get_tensor(key)) for key in keys if _model_name(key) in names.here)
            except (SafetensorError, OSError) as error:
                raise damaged(str(error)) from None
    there = {_model_name(key) for key in known if key.startswith("model/")}
    if there != set(names.all):
        name = min(there ^ set(names.all))
        raise Error("E0807", f"the checkpoint is of another model: '{name[:80]}' is only {'there' if name in there else 'here'}")
    return found


def _model_name(key: str) -> str:
    kind, _, rest = key.partition("/")
    return rest.rpartition("/")[0] if kind == "optimizer" else rest


def _fitting(value: torch.Tensor, name: str, like: torch.Tensor) -> torch.Tensor:
    """A tensor of the shape and type that it must have.  Raises E0807."""
    if value.shape != like.shape or value.dtype != like.dtype:
        there, here = (f"{x.dtype} of {list(x.shape)}".removeprefix("torch.") for x in (value, like))
        raise Error("E0807", f"the checkpoint is of another model: '{name[:80]}' is {there} there and {here} here")
    return value


def _states(found: Mapping[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
    """What an optimizer has for each parameter."""
    states: dict[str, dict[str, torch.Tensor]] = {}
    for key, value in found.items():
        if key.startswith("optimizer/"):
            states.setdefault(_model_name(key), {})[key.rpartition("/")[2]] = value
    return states
