"""Ops that PyTorch computes by one kernel and has no decomposition of, or a wrong one: in terms of functions that it takes apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional


def composites() -> dict[Any, Callable[..., Any]]:
    """Return definitions of aten ops in terms of others, by overload."""
    aten = torch.ops.aten
    return {
        aten._transformer_encoder_layer_fwd.default: encoder_layer,
        aten._native_multi_head_attention.default: multi_head_attention,
        aten._cdist_backward.default: distance_backward,
        aten.multilabel_margin_loss_forward.default: multilabel_margin,
    }


def encoder_layer(
    x: Any,
    width: int,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *rest: Any,
) -> Any:
    """Return the result of an encoder layer without dropout.

    rest: weight and bias of two norms and of two linear layers, then the mask of the attention and its kind, as `_hidden` takes them.
    """
    norms, (weight_in, bias_in, weight_out, bias_out), masking = (rest[0:2], rest[2:4]), rest[4:8], rest[8:]

    def attended(value: Any) -> Any:
        return _attention(value, value, value, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, *masking)[0]

    def fed(value: Any) -> Any:
        inner = functional.linear(value, weight_in, bias_in)
        return functional.linear(functional.gelu(inner) if use_gelu else functional.relu(inner), weight_out, bias_out)

    for block, (weight, bias) in zip((attended, fed), norms, strict=True):
        if norm_first:
            x = x + block(functional.layer_norm(x, (width,), weight, bias, eps))
        else:
            x = functional.layer_norm(x + block(x), (width,), weight, bias, eps)
    return x


def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    width: int,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """Return the result and, if they are needed, the weights that positions have, as a mean over the heads where that is asked for."""
    found, weights = _attention(query, key, value, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type)
    if not need_weights:
        return found, query.new_empty(0)
    return found, weights.mean(1) if average_attn_weights else weights


def _attention(
    query: Any,
    key: Any,
    value: Any,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    kind: int | None = None,
) -> tuple[Any, Any]:
    """Return the result [n, s, width] and the weights [n, heads, s, t]."""
    parts = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    q, k, v = (functional.linear(x, w, c).unflatten(-1, (heads, -1)).transpose(1, 2) for x, w, c in parts)
    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(_hidden(mask, kind), float("-inf"))
    weights = scores.softmax(-1)
    return functional.linear(torch.matmul(weights, v).transpose(1, 2).flatten(2), proj_weight, proj_bias), weights


def _hidden(mask: Any, kind: int | None) -> Any:
    """Return which scores [n, heads, s, t] are hidden: those where a mask is not 0.

    kind: 0 for a mask[s, t], 1 for one of the keys[n, t], else [n, heads, s, t].
    """
    hidden = mask.to(torch.bool)
    return hidden[:, None, None, :] if kind == 1 else hidden


def distance_backward(grad: Any, x: Any, y: Any, order: float, distances: Any) -> Any:
    """Return the gradient of x[..., p, m] in the distances [..., p, r] of its rows to those of y[..., r, m]; 0 where a distance is 0."""
    apart = x.unsqueeze(-2) - y.unsqueeze(-3)
    grad, distances = grad.unsqueeze(-1), distances.unsqueeze(-1)
    if order == 0:
        return torch.zeros_like(x)
    if order == 1:
        return (grad * apart.sign()).sum(-2)
    if order == float("inf"):
        return (grad * apart.sign() * (apart.abs() == distances)).sum(-2)
    shares = apart if order == 2 else apart.sign() * apart.abs() ** (order - 1)
    if order < 2:
        shares = torch.where(apart == 0, 0.0, shares)
    over = distances if order == 2 else distances ** (order - 1)
    return torch.where(distances == 0, 0.0, grad * shares / torch.where(distances == 0, 1.0, over)).sum(-2)


def multilabel_margin(x: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """Return the margin loss of rows with several classes each, and 1 for each class that is a row's target, else 0.

    PyTorch's decomposition counts class 0 for every place behind the -1 that ends a row's classes; its kernel counts none.

    Args:
        x: scores[n, c], or [c].
        target: classes[n, c], or [c], up to the first -1.
        reduction: 0, the loss of each row; 1, their mean; 2, their sum.
    """
    scores, classes = torch.atleast_2d(x), torch.atleast_2d(target)
    count = scores.shape[-1]
    given = (classes < 0).to(torch.int64).cumsum(-1) == 0
    chosen = torch.where(given, classes, 0)
    of_row = (torch.arange(count) == torch.where(given, classes, -1).unsqueeze(-1)).any(-2)
    margins = (1.0 - scores.gather(-1, chosen).unsqueeze(-1) + scores.unsqueeze(-2)).clamp_min(0)
    counted = given.unsqueeze(-1) & ~of_row.unsqueeze(-2)
    losses = torch.where(counted, margins, 0.0).sum((-2, -1)) / count
    found = losses.mean() if reduction == 1 else losses.sum() if reduction == 2 else losses if x.ndim > 1 else losses.squeeze(0)
    return found, of_row.to(x.dtype).reshape(target.shape)
