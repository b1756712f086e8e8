"""Checkpoints of models whose stages lie in several processes: a file of each process, and an index that makes them one.

Files are of the safetensors format, with tensors `model/NAME` and `optimizer/NAME/KEY`; names are the model's, so that a checkpoint loads
into any other number of processes.  A process that has some rows of a tensor writes those: metadata of the file has their first row by the
tensor's name.  Files of a checkpoint are never written over: it is the index that is replaced, once all are whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from secrets import randbits

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as packed
from torch.distributed.tensor import DTensor

from ttc.dialects.core.errors import Error
from ttc.dialects.core.json_hooks import unique_keys
from ttc.dialects.core.records import record
from ttc.dialects.netlist.codec import decode, encode
from ttc.dist.failures import naming, together
from ttc.dist.names import ModelTensors
from ttc.dist.optimizers import STATES, state_of, take_state
from ttc.dist.pieces import Collected, RowRange, SavedTensor, local_part, pieces
from ttc.dist.processes import Mesh
from ttc.dist.sharding import own_optimizer
from ttc.inputs.files import require_folder, write_bytes
from ttc.runtime.machine.checkpoint import check_header, damaged
from ttc.runtime.read_file import in_file, open_regular

INDEX = "checkpoint.json"
"""The file of a checkpoint's folder that says which others belong to it."""
FORMAT_VERSION = 2
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


class Checkpointed:
    """Writes and reads checkpoints of one model, in all processes together.

    Args:   name: of the model, which no other one of the processes has.
    """

    def __init__(self, mesh: Mesh, name: str) -> None:
        self._mesh, self._name, self._count = mesh, name, count()

    def save(self, folder: str | Path, names: ModelTensors, steps: int, optimizer: torch.optim.Optimizer | None) -> None:
        """Write a checkpoint, whole or not at all; all processes call it, and write what they have as the first.

        Args:   folder: that all processes see; it is made where it is not there.
        Raises: E0101 for an optimizer whose state is not kept, E0103 in all processes where one cannot write, E0811.
        """
        with naming(self._mesh, "a checkpoint"):
            _write(Path(folder), names, self._mesh, self._next(), steps, optimizer)

    def load(self, folder: str | Path, names: ModelTensors, optimizer: torch.optim.Optimizer | None) -> int:
        """Take parameters, buffers and the state of an optimizer from a checkpoint, and return the steps that were done.

        All processes call it.  Nothing is changed in any of them unless all can read what they need.
        Raises: E0102 without a checkpoint, E0807 for one that is damaged or of another model, in all processes; E0811.
        """
        with naming(self._mesh, "a checkpoint"):
            return _read(Path(folder), names, self._mesh, self._next(), optimizer)

    def _next(self) -> str:
        return f"{self._name}, checkpoint {next(self._count)}"


def _write(folder: Path, names: ModelTensors, mesh: Mesh, what: str, steps: int, optimizer: torch.optim.Optimizer | None) -> None:
    """Write the files of this process; `what` is a name that no other writing or reading has."""
    token = torch.tensor(randbits(62))
    dist.broadcast(token, 0)
    writers = torch.zeros(dist.get_world_size(), dtype=torch.int64)
    with together(mesh, what, "E0103", "cannot write its part of a checkpoint"):
        tensors = {f"model/{name}": tensor for name, tensor in names.first.items() if _writes(mesh, tensor)}
        if optimizer is not None:
            own = own_optimizer(optimizer)
            states = {f"optimizer/{name}": value for name, value in state_of(own, names.first).items()}
            tensors.update((key, value) for key, value in states.items() if _writes(mesh, value, is_only=own is not optimizer))
        if tensors:
            writers[mesh.rank] = 1
            held, firsts = pieces(tensors)
            require_folder(folder).mkdir(exist_ok=True)
            write_bytes(folder / _part_name(mesh.rank, token), packed(_apart(held), firsts))
    dist.all_reduce(writers)
    with together(mesh, f"{what}, index", "E0103", "cannot write the index of a checkpoint"):
        if mesh.rank == 0:
            parts = tuple(_part_name(rank, token) for rank, writes in enumerate(writers.tolist()) if writes)
            kind = None if optimizer is None else type(own_optimizer(optimizer)).__name__
            write_bytes(folder / INDEX, json.dumps(encode(Index(FORMAT_VERSION, steps, kind, parts))).encode())
            _remove_others(folder, parts)


def _read(folder: Path, names: ModelTensors, mesh: Mesh, what: str, optimizer: torch.optim.Optimizer | None) -> int:
    """Read what this process needs; `what` is a name that no other writing or reading has."""
    own = None if optimizer is None else own_optimizer(optimizer)
    with together(mesh, what, "E0807", "cannot read its part of the checkpoint"):
        index = _index(folder / INDEX)
        if own is not None and index.optimizer != type(own).__name__:
            raise Error("E0807", f"the checkpoint has state of {index.optimizer or 'no optimizer'}", str(folder))
        with in_file(folder):
            found = _tensors(folder, index, names, _updated(names, own))
            model = {name: _fitting(found[f"model/{name}"], name, like) for name, like in names.here.items()}
            take = None if own is None else take_state(own, names.here, _states(found))
    for name, value in model.items():
        local_part(names.here[name]).copy_(value)
    if take is not None:
        take()
    return index.steps


def _part_name(rank: int, token: torch.Tensor) -> str:
    """Return the file of a process, in one writing of a checkpoint."""
    return f"part-{rank:05}-{int(token):016x}.safetensors"


def _writes(mesh: Mesh, tensor: torch.Tensor, *, is_only: bool = False) -> bool:
    """Return whether this process writes a tensor: it is the first that has it, or rows of it.

    Args:   is_only: whether of those that share states of optimizers no other process has it.
    """
    if not isinstance(tensor, DTensor) and not is_only:
        return mesh.is_first("data") and mesh.is_first("shard")
    return mesh.is_first_group() and local_part(tensor).numel() > 0


def _updated(names: ModelTensors, optimizer: torch.optim.Optimizer | None) -> set[str]:
    """Return names of the parameters that an optimizer updates."""
    updated = {id(p) for group in optimizer.param_groups for p in group["params"]} if optimizer is not None else set()
    return {name for name, tensor in names.here.items() if id(tensor) in updated}


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
            raise Error("E0807", f"the checkpoint is of format version {index.format_version}; this ttc reads {FORMAT_VERSION}")
        if index.steps < 0 or not all(_PART.fullmatch(part) for part in index.parts):
            raise damaged("its index names no steps, or files, of a checkpoint")
        if index.optimizer is not None and index.optimizer not in STATES:
            raise damaged(f"'{index.optimizer[:40]}' is no optimizer whose state is kept")
        return index


def _tensors(folder: Path, index: Index, names: ModelTensors, updated: set[str]) -> dict[str, SavedTensor]:
    """Return the tensors that this process needs, of those of all parts.  Raises E0807 unless the model's are the same as here.

    Args:   updated: names of parameters whose states it needs.
    """
    found: dict[str, Collected] = {}
    known: set[str] = set()
    for part in index.parts:
        with in_file(folder / part), closing(os.fdopen(open_regular(folder / part), "rb", buffering=0)) as file:
            check_header(file)
            try:
                with safe_open(f"/proc/self/fd/{file.fileno()}", framework="pt", backend="pread") as opened:
                    firsts = opened.metadata() or {}
                    keys = set(opened.keys())
                    if any(key in known and key not in firsts for key in keys):
                        raise damaged(f"'{min(keys & known)[:80]}' is in two files")
                    known |= keys
                    for key in keys:
                        name = _model_name(key)
                        if name in (updated if key.startswith("optimizer/") else names.here):
                            rows = None if _is_count(key) else RowRange.of(names.here[name])
                            found.setdefault(key, Collected(key, rows)).add(opened.get_slice(key), firsts.get(key))
            except (SafetensorError, OSError) as error:
                raise damaged(str(error)) from None
    there = {_model_name(key) for key in known if key.startswith("model/")}
    if there != names.all:
        name = min(there ^ names.all)
        raise Error("E0807", f"the checkpoint is of another model: '{name[:80]}' is only {'there' if name in there else 'here'}")
    return {key: collected.put_together() for key, collected in found.items()}


def _is_count(key: str) -> bool:
    """Return whether a tensor of an optimizer is its number of steps, which all that share a parameter have."""
    return key.startswith("optimizer/") and key.endswith("/step")


def _model_name(key: str) -> str:
    kind, _, rest = key.partition("/")
    return rest.rpartition("/")[0] if kind == "optimizer" else rest


def _fitting(found: SavedTensor, name: str, like: torch.Tensor) -> torch.Tensor:
    """A tensor of the shape and type that it must have.  Raises E0807."""
    if found.shape != like.shape or found.value.dtype != like.dtype:
        there = f"{found.value.dtype} of {list(found.shape)}".removeprefix("torch.")
        here = f"{like.dtype} of {list(like.shape)}".removeprefix("torch.")
        raise Error("E0807", f"the checkpoint is of another model: '{name[:80]}' is {there} there and {here} here")
    return found.value


def _states(found: Mapping[str, SavedTensor]) -> dict[str, dict[str, SavedTensor]]:
    """Return what an optimizer has for each parameter."""
    states: dict[str, dict[str, SavedTensor]] = {}
    for key, stored in found.items():
        if key.startswith("optimizer/"):
            states.setdefault(_model_name(key), {})[key.rpartition("/")[2]] = stored
    return states
