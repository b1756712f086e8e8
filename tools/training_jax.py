"""Networks of PyTorch as functions of JAX, for `training_worker.py`: one function of jax.numpy for each op that an exported network has."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch.fx.node import map_arg

BETAS, EPS, WEIGHT_DECAY = (0.9, 0.999), 1e-8, 0.01
"""The numbers of AdamW as PyTorch has it."""


def step_of(module: torch.nn.Module, arguments: tuple[torch.Tensor, ...], rate: float, precision: str) -> Callable[[], jax.Array]:
    """Return a step of training of a module that gives its loss: the loss before it.  Raises KeyError for an op that the table lacks."""
    from torch.export import export

    program = export(module, arguments, strict=False)
    named = {**dict(program.named_parameters()), **dict(program.named_buffers()), **program.constants}
    values = {name: jnp.asarray(value.detach().numpy()) for name, value in named.items() if isinstance(value, torch.Tensor)}
    trained = {name: values.pop(name) for name, _ in program.named_parameters()}
    batch = [jnp.asarray(value.numpy()) for value in arguments]

    def loss(parameters: Mapping[str, jax.Array]) -> jax.Array:
        narrow = {name: _cast(value) if precision == "bfloat16" else value for name, value in parameters.items()}
        inputs = [_cast(value) if precision == "bfloat16" else value for value in batch]
        return _run(program, {**values, **narrow}, inputs).astype(jnp.float32)

    def update(state: Any) -> tuple[Any, jax.Array]:
        parameters, first, second, count = state
        found, gradients = jax.value_and_grad(loss)(parameters)
        count = count + 1
        first = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, first, gradients)
        second = jax.tree.map(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g * g, second, gradients)

        def moved(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            size = jnp.sqrt(v / (1 - BETAS[1] ** count)) + EPS
            return p * (1 - rate * WEIGHT_DECAY) - rate / (1 - BETAS[0] ** count) * m / size

        return (jax.tree.map(moved, parameters, first, second), first, second, count), found

    compiled = jax.jit(update, donate_argnums=0)
    zeros = jax.tree.map(jnp.zeros_like, trained)
    state: list[Any] = [(trained, zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros((), jnp.float32))]

    def step() -> jax.Array:
        state[0], found = compiled(state[0])
        return jax.block_until_ready(found)

    return step


def _cast(value: jax.Array) -> jax.Array:
    return value.astype(jnp.bfloat16) if jnp.issubdtype(value.dtype, jnp.floating) else value


def _run(program: Any, named: Mapping[str, jax.Array], inputs: Sequence[jax.Array]) -> jax.Array:
    """Return the first result that is no new value of a buffer."""
    given, values = iter(inputs), dict[str, Any]()
    sources = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if hasattr(spec.arg, "name")}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            target = sources.get(node.name)
            values[node.name] = next(given) if target is None else named[target]
        elif node.op == "call_function":
            arguments = map_arg((node.args, dict(node.kwargs)), lambda found: values[found.name])
            values[node.name] = _op(node.target)(*arguments[0], **arguments[1])
    return values[program.graph_signature.user_outputs[-1]]


def _op(target: Any) -> Callable[..., Any]:
    return target if target is operator.getitem else OPS[str(target)]


# ---- ops ------------------------------------------------------------------------------------------------------------------------


def _window(x: jax.Array, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> jax.Array:
    pads = ((0, 0), (0, 0), *((pad, pad) for pad in (*padding, *padding)[:2]))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *kernel), (1, 1, *(stride or kernel)), pads)


def _pool(x: jax.Array, kernel: Any, stride: Any = (), padding: Any = (0, 0)) -> jax.Array:
    kernel, padding = (tuple(np.broadcast_to(value, 2).tolist()) for value in (kernel, padding))
    return _window(x, kernel, tuple(np.broadcast_to(stride or kernel, 2).tolist()), padding)


def _convolution(
    x: jax.Array, w: jax.Array, bias: Any = None, stride: Any = (1, 1), pads: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1
) -> jax.Array:
    stride, pads, dilation = (np.broadcast_to(value, 2).tolist() for value in (stride, pads, dilation))
    found = lax.conv_general_dilated(x, w, stride, [(p, p) for p in pads], rhs_dilation=dilation, feature_group_count=groups)
    return found if bias is None else found + bias[:, None, None]


def _turned_convolution(
    x: jax.Array, w: jax.Array, bias: Any = None, stride: Any = (1, 1), pads: Any = (0, 0), extra: Any = (0, 0)
) -> jax.Array:
    """Without groups and dilations."""
    stride, pads, extra = (np.broadcast_to(value, 2).tolist() for value in (stride, pads, extra))
    around = [(k - 1 - p, k - 1 - p + e) for k, p, e in zip(w.shape[2:], pads, extra, strict=True)]
    found = lax.conv_general_dilated(x, jnp.flip(w, (2, 3)).swapaxes(0, 1), (1, 1), around, lhs_dilation=stride)
    return found if bias is None else found + bias[:, None, None]


def _batch_norm(x: jax.Array, scale: Any, bias: Any, mean: Any, var: Any, training: bool, rate: float, eps: float, *_: Any) -> jax.Array:
    """In training; running statistics, which no gradient needs, stay as they are."""
    del mean, var, training, rate
    wide = x.astype(jnp.float32)
    average = wide.mean((0, 2, 3), keepdims=True)
    centred = wide - average
    normal = centred * lax.rsqrt((centred * centred).mean((0, 2, 3), keepdims=True) + eps)
    return (normal * scale[:, None, None] + bias[:, None, None]).astype(x.dtype)


def _layer_norm(x: jax.Array, shape: Sequence[int], scale: Any, bias: Any, eps: float = 1e-5, *_: Any) -> jax.Array:
    axes, wide = tuple(range(x.ndim - len(shape), x.ndim)), x.astype(jnp.float32)
    centred = wide - wide.mean(axes, keepdims=True)
    return (centred * lax.rsqrt((centred * centred).mean(axes, keepdims=True) + eps) * scale + bias).astype(x.dtype)


def _rms_norm(x: jax.Array, shape: Sequence[int], scale: Any, eps: Any = None) -> jax.Array:
    axes, wide = tuple(range(x.ndim - len(shape), x.ndim)), x.astype(jnp.float32)
    least = float(jnp.finfo(x.dtype).eps) if eps is None else eps
    return (wide * lax.rsqrt((wide * wide).mean(axes, keepdims=True) + least) * scale).astype(x.dtype)


def _attention(q: jax.Array, k: jax.Array, v: jax.Array, mask: Any = None, dropout: float = 0.0, is_causal: bool = False) -> jax.Array:
    del dropout
    scores = (q @ k.swapaxes(-1, -2)).astype(jnp.float32) / q.shape[-1] ** 0.5
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    return jax.nn.softmax(scores, -1).astype(v.dtype) @ v


def _cross_entropy(x: jax.Array, target: jax.Array, *_: Any) -> jax.Array:
    logs = jax.nn.log_softmax(x.astype(jnp.float32), -1)
    return -jnp.take_along_axis(logs, target[:, None], 1).mean()


def _lstm(x: jax.Array, states: Sequence[jax.Array], weights: Sequence[jax.Array], *_: Any) -> tuple[jax.Array, ...]:
    """Return one direction, rows first."""
    y, ends = x.swapaxes(0, 1), list[Any]()
    for layer in range(len(weights) // 4):
        inner, outer, one, other = weights[4 * layer : 4 * layer + 4]

        def cell(carry: Any, row: jax.Array, outer: jax.Array = outer) -> Any:
            i, f, g, o = jnp.split(row + carry[0] @ outer.T, 4, -1)
            c = jax.nn.sigmoid(f) * carry[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = tuple(state[layer].astype(y.dtype) for state in states)
        end, y = lax.scan(cell, start, y @ inner.T + one + other)
        ends.append(end)
    return y.swapaxes(0, 1), jnp.stack([h for h, _ in ends]), jnp.stack([c for _, c in ends])


def _linear(x: jax.Array, w: jax.Array, bias: Any = None) -> jax.Array:
    return x @ w.T if bias is None else x @ w.T + bias


def _flat(x: jax.Array, first: int = 0, last: int = -1) -> jax.Array:
    last %= x.ndim
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


def _piece(x: jax.Array, axis: int = 0, first: Any = None, last: Any = None, step: int = 1) -> jax.Array:
    return x[(slice(None),) * (axis % x.ndim) + (slice(first, last, step),)]


def _permuted(x: jax.Array, order: Sequence[int]) -> jax.Array:
    return x.transpose(order)


def _expanded(x: jax.Array, sizes: Sequence[int], **_: Any) -> jax.Array:
    lead = len(sizes) - x.ndim
    return jnp.broadcast_to(x, [x.shape[i - lead] if size == -1 else size for i, size in enumerate(sizes)])


def _same(x: Any, *_: Any, **__: Any) -> Any:
    return x


def _zeros(sizes: Sequence[int], **_: Any) -> jax.Array:
    return jnp.zeros(sizes, jnp.float32)


def _range(count: int, **_: Any) -> jax.Array:
    return jnp.arange(count)


OPS: dict[str, Callable[..., Any]] = {
    "aten.linear.default": _linear,
    "aten.conv2d.default": _convolution,
    "aten.conv_transpose2d.input": _turned_convolution,
    "aten.batch_norm.default": _batch_norm,
    "aten.layer_norm.default": _layer_norm,
    "aten.rms_norm.default": _rms_norm,
    "aten.max_pool2d.default": _pool,
    "aten.adaptive_avg_pool2d.default": lambda x, _: x.mean((2, 3), keepdims=True),
    "aten.relu.default": jax.nn.relu,
    "aten.silu.default": jax.nn.silu,
    "aten.sigmoid.default": jax.nn.sigmoid,
    "aten.gelu.default": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "aten.scaled_dot_product_attention.default": _attention,
    "aten.cross_entropy_loss.default": _cross_entropy,
    "aten.lstm.input": _lstm,
    "aten.embedding.default": lambda w, index, *_: w[index],
    "aten.flatten.using_ints": _flat,
    "aten.view.default": jnp.reshape,
    "aten.reshape.default": jnp.reshape,
    "aten.permute.default": _permuted,
    "aten.transpose.int": jnp.swapaxes,
    "aten.unbind.int": lambda x, axis=0: list(jnp.moveaxis(x, axis, 0)),
    "aten.chunk.default": lambda x, count, axis=0: jnp.split(x, count, axis),
    "aten.cat.default": lambda xs, axis=0: jnp.concatenate(xs, axis),
    "aten.slice.Tensor": _piece,
    "aten.select.int": lambda x, axis, index: jnp.take(x, index, axis),
    "aten.unsqueeze.default": jnp.expand_dims,
    "aten.expand.default": _expanded,
    "aten.repeat_interleave.self_int": jnp.repeat,
    "aten.add.Tensor": operator.add,
    "aten.add_.Tensor": operator.add,
    "aten.mul.Tensor": operator.mul,
    "aten.neg.default": operator.neg,
    "aten.cos.default": jnp.cos,
    "aten.sin.default": jnp.sin,
    "aten.arange.default": _range,
    "aten.zeros.default": _zeros,
    "aten.contiguous.default": _same,
    "aten.clone.default": _same,
    "aten.lift_fresh_copy.default": _same,
    "aten.detach_.default": _same,
}
"""Functions of jax.numpy by the name of the overload, in what `torch.export` gives before anything is decomposed."""
