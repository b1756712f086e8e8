"""The norm of gradients that lie in several processes, and clipping by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from ttc.dialects.core.errors import Error
from ttc.dist.failures import naming
from ttc.dist.processes import Mesh

COPY = "_ttc_copy"
"""The attribute of a parameter that another stage has, too, and counts."""


def clip_grad_norm_(
    parameters: Iterable[torch.nn.Parameter] | torch.nn.Parameter,
    max_norm: float,
    norm_type: float = 2.0,
    *,
    mesh: Mesh,
    error_if_nonfinite: bool = False,
) -> torch.Tensor:
    """Scale gradients so that the norm of those of all stages is at most a bound, and return the norm before.

    Every process calls it, also one without gradients.  Shards of a gradient are taken together, replicas and copies of a parameter in
    several stages count once.

    Args:
        parameters: of this process, with gradients of the whole batch.
        max_norm: the bound.
        norm_type: p of the norm; `inf` for the largest magnitude.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error, in all processes.
    Raises: E0101 for a norm_type that is not above 0; E0801 for a norm that is not finite; E0811 for a process that ends or hangs.
    """
    power = float(norm_type)
    if not power > 0:
        raise Error("E0101", f"norm_type is above 0, not {norm_type!r}")
    chosen = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    counted = [p.grad for p in chosen if p.grad is not None and not hasattr(p, COPY)]
    with naming(mesh, "clipping"):
        norm = _norm_of_all(counted, power, mesh)
    if error_if_nonfinite and not torch.isfinite(norm):
        raise Error("E0801", f"the norm of the gradients is {float(norm)}", hint="nothing was clipped; lower the learning rate")
    torch.nn.utils.clip_grads_with_norm_([p for p in chosen if p.grad is not None], max_norm, norm)
    return norm


def _norm_of_all(own: Sequence[torch.Tensor], power: float, mesh: Mesh) -> torch.Tensor:
    """Return the norm of gradients of all stages, of which some are this process's."""
    plain = [grad for grad in own if not isinstance(grad, DTensor)]
    sharded = [grad for grad in own if isinstance(grad, DTensor)]
    total = _joined(_norm(plain, power), _norm(sharded, power), power)
    if mesh.size("pipe") > 1:
        dist.all_reduce(total, dist.ReduceOp.MAX if power == inf else dist.ReduceOp.SUM, group=mesh.group("pipe"))
    return (total if power == inf else total ** (1 / power)).float()


def _norm(grads: Sequence[torch.Tensor], power: float) -> torch.Tensor:
    norm = torch.nn.utils.get_total_norm(grads, power)
    return (norm.full_tensor() if isinstance(norm, DTensor) else norm).double()


def _joined(one: torch.Tensor, other: torch.Tensor, power: float) -> torch.Tensor:
    """Return the sum of the powers of two norms, or the largest."""
    return torch.maximum(one, other) if power == inf else one**power + other**power
