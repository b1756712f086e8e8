"""A model that replicas share instead of each holding the whole of it, in scripts that have loops of their own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dist.checkpoints import Checkpointed
from ttc.dist.clipping import clip_grad_norm_
from ttc.dist.compiling import compile_part
from ttc.dist.failures import COMPILING, naming
from ttc.dist.names import ModelTensors, Names
from ttc.dist.passes import SharedPasses
from ttc.dist.processes import Mesh
from ttc.dist.processes import mesh as mesh_of_all
from ttc.dist.sharding import Sharding, replicated, reshard, sharing_optimizer
from ttc.dist.signatures import hash_of, hash_of_modes
from ttc.dist.stages import precision_of

_NUMBERS = count()
"""Sharded models of this process, which all processes make in the same order."""


class Sharded(nn.Module):
    """A model whose replicas share states of the optimizer, gradients, or parameters; `shard` makes it.

    A backward pass gives parameters the mean of the gradients of all replicas.

    Args:
        model: whose parameters process 0 has given to all.
        sharding: what is shared.
        target: that the model is compiled for; None: PyTorch runs it.
        precision: float32 or bf16-mixed.
    """

    def __init__(self, model: nn.Module, mesh: Mesh, sharding: Sharding, target: str | None, precision: str) -> None:
        super().__init__()
        self._autocast = precision_of(precision)
        self._mesh, self._sharding = mesh, sharding
        self.module = model
        broadcast(mesh, model)
        self._names = Names.of((model,), (0,))
        inner = _Inner(model)
        compile_part(model, target)
        self._inner = (replicated(inner, mesh, sharding, target),)  # in a tuple: its parameters are those of `module`
        self._seen: set[tuple[object, ...]] = set()
        name = f"sharded {next(_NUMBERS)}"
        self._passes, self._checkpoints, self._steps = SharedPasses(mesh, name), Checkpointed(mesh, name), 0

    def forward(self, *x: Any, **named: Any) -> Any:
        """Run the model for this process's rows.

        All processes call it together, unless it is for no gradients and parameters are whole.  Raises E0811.
        """
        cast = nullcontext() if self._autocast is None else torch.autocast("cpu", self._autocast)
        with naming(self._mesh, "a forward pass"), self._begun((*x, *named.values())), cast:
            outputs = self._inner[0](*x, **named)
        if not torch.is_grad_enabled():
            reshard(self._inner)
        return outputs

    def backward(self, loss: torch.Tensor) -> None:
        """Add the mean of the gradients of all replicas' losses to those of the parameters, as `loss.backward()` does.

        Raises: E0811 for a process that ends or hangs; PyTorch's own method has an error that names none.
        """
        self._steps += 1
        with naming(self._mesh, f"the backward pass of step {self._steps}"):
            loss.backward()

    def optimizer(self, kind: type[torch.optim.Optimizer] | torch.optim.Optimizer, /, **options: Any) -> torch.optim.Optimizer:
        """Return an optimizer whose states this process has only its part of.

        Args:
            kind: a class that treats each parameter alone, as Adam, AdamW and SGD do; or an optimizer without steps, for its groups.
            options: of the class.
        Raises: E0101 for an optimizer that has states.
        """
        return made_optimizer(kind, list(self.module.parameters()), self._mesh, self._sharding, options)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0, *, error_if_nonfinite: bool = False) -> torch.Tensor:
        """Clip gradients by the norm of the whole model's, and return it; every process calls it.  See `clip_grad_norm_`."""
        return clip_grad_norm_(self.module.parameters(), max_norm, norm_type, mesh=self._mesh, error_if_nonfinite=error_if_nonfinite)

    def save(self, folder: str | Path, optimizer: torch.optim.Optimizer | None = None, steps: int = 0) -> None:
        """Write a checkpoint, to which each process adds what it alone has; every process calls it.

        Args:
            folder: that all processes see; a checkpoint that it has is replaced.
            optimizer: Adam, AdamW or SGD of PyTorch, as `optimizer` gives it.
            steps: that were done, for `load` to return.
        Raises: E0101 for another optimizer, E0103 where a process cannot write, E0811.
        """
        self._checkpoints.save(folder, self._named(), steps, optimizer)

    def load(self, folder: str | Path, optimizer: torch.optim.Optimizer | None = None) -> int:
        """Go on from a checkpoint of any number of processes, of this or of a `Runner`, and return the steps; every process calls it.

        Nothing is changed unless all processes can read it.
        Args:   as of `save`.
        Raises: E0102 without a checkpoint, E0807 for one that is damaged or of another model, E0811.
        """
        return self._checkpoints.load(folder, self._named(), optimizer)

    def _named(self) -> ModelTensors:
        reshard(self._inner)
        return self._names.now((self.module,))

    def _begun(self, given: Sequence[Any]) -> AbstractContextManager[None]:
        """Begin a pass, in which all are patient if one of them has new shapes, for which it compiles."""
        tensors = [leaf for leaf in pytree.tree_leaves(given) if isinstance(leaf, torch.Tensor)]
        key = (hash_of(tensors), hash_of_modes(self.module), torch.is_grad_enabled())
        is_new = key not in self._seen
        self._seen.add(key)
        if not torch.is_grad_enabled() and not self._sharding.is_cut(self._mesh):
            return self._passes.alone() if is_new else nullcontext()
        self._mesh.wait(COMPILING if self._passes.begin(is_new) else None)
        return nullcontext()


class _Inner(nn.Module):
    """What hooks of PyTorch's engines are put around, so that the model's own call is compiled."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *x: Any, **named: Any) -> Any:
        """Call the model."""
        return self.model(*x, **named)


def shard(
    model: nn.Module,
    *,
    mesh: Mesh | None = None,
    stage: int = 1,
    offload: str | Path | None = None,
    units: Sequence[type[nn.Module]] = (),
    precision: str = "float32",
    target: str | None = "host",
) -> Sharded:
    """Let the replicas of a model share what each would hold whole, and compile it; weights become those of one process all the same.

    All processes call it with the same model; they start from the weights of process 0.  In stages 2 and 3 the model has other parameters
    afterwards: each process has its rows of them (`DTensor`).

    Args:
        mesh: of the processes; along `data`, or `shard` where the mesh has it: shares are then those of groups, which are replicas.
            None: all processes.
        stage: 1: states of the optimizer are shared; 2: gradients, too; 3: parameters, too; 0: nothing.
        offload: a folder for states of the optimizer, in mapped files; `cpu` or None: memory.
        units: classes of modules whose parameters are gathered one module after another; without, all are for each pass.
        precision: float32 or bf16-mixed.
        target: that the model is compiled for; None: PyTorch runs it.
    Raises: E0101 for options that cannot be.
    """
    chosen = mesh_of_all() if mesh is None else mesh
    if chosen.size("pipe") > 1 or chosen.size("tensor") > 1:
        raise Error(
            "E0101", "a model is shared by replicas alone", hint="Runner(model, mesh=mesh, shard=stage) shares stages of a pipeline"
        )
    return Sharded(model, chosen, Sharding.of(stage, offload, units), target, precision)


def broadcast(mesh: Mesh, *modules: nn.Module) -> None:
    """Give all processes the parameters and buffers that process 0 has."""
    with torch.no_grad(), naming(mesh, "the first step"):
        for tensor in [x for module in modules for x in (*module.parameters(), *module.buffers())]:
            dist.broadcast(tensor.detach(), 0)


def made_optimizer(
    kind: type[torch.optim.Optimizer] | torch.optim.Optimizer,
    parameters: Sequence[nn.Parameter],
    mesh: Mesh,
    sharding: Sharding,
    options: dict[str, Any],
) -> torch.optim.Optimizer:
    """Return an optimizer of a class, or like one that is there, whose states are shared.  Raises E0101 for one that has states."""
    if isinstance(kind, type):
        return sharing_optimizer(kind, parameters, mesh, sharding, options)
    if kind.state or options:
        raise Error("E0101", "an optimizer is shared before its first step, and with its own options", hint="or give its class")
    own = {id(parameter) for parameter in parameters}
    if any(id(p) not in own for group in kind.param_groups for p in group["params"]):
        raise Error("E0101", "the optimizer has parameters that are not the model's", hint="make it after the model was shared")
    known = signature(type(kind)).parameters  # defaults have members that some classes do not take
    return sharing_optimizer(
        type(kind), kind.param_groups, mesh, sharding, {name: value for name, value in kind.defaults.items() if name in known}
    )
