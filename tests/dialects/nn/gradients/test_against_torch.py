"""Gradient rules against PyTorch's autograd in float64: also where differences say nothing, at ties, zeros and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients.check import check_rule, evaluate, rule_gradients

torch: Any = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
F: Any = torch.nn.functional

Case = tuple[str, Sequence[tuple[int, ...] | np.ndarray | None], dict[str, Any], Callable[..., Any]]
KINKS = np.array([-3.0, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.5, 3.0, 40.0, -40.0])
TIED = np.array([[2.0, 5.0, 5.0, 1.0], [0.0, 0.0, 0.0, 0.0], [-1.0, -2.0, -1.0, -3.0]])
ZEROS = np.array([[2.0, 0.0, 3.0, 4.0], [0.0, 5.0, 0.0, 2.0], [1.0, -2.0, 3.0, 0.5]])
INSIDE = np.linspace(-0.95, 0.95, 12).reshape(3, 4)
IMAGE = {"strides": (2, 1), "pads": (1, 2, 1, 2), "dilations": (1, 2), "layout": "nchw"}
POOL = {"kernel": (3, 2), "strides": (2, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "layout": "nchw", "ceil_mode": True}
REDUCED = {"axes": (1,), "keepdims": False}
ALONG = {"axis": 1, "exclusive": False, "reverse": False}
INDICES = np.array([[0, 3, 3], [-1, 1, 0]])
PLAIN = {"transpose_a": False, "transpose_b": False}


def _normalized(x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    """Channels last; PyTorch's own function does not differentiate its statistics."""
    return (x - mean) / (var + 1e-3).sqrt() * scale + bias


UNARY: list[Case] = [
    *((f"nn.{name}", [KINKS], {}, getattr(torch, name)) for name in ("tanh", "sigmoid", "relu", "exp", "sin", "cos", "erf", "neg", "abs")),
    *((f"nn.{name}", [KINKS], {}, getattr(torch, name)) for name in ("sinh", "cosh", "atan", "asinh", "sign", "floor", "ceil", "round")),
    *((f"nn.{name}", [INSIDE], {}, getattr(torch, name)) for name in ("asin", "acos", "atanh")),
    *((f"nn.{name}", [INSIDE + 2], {}, getattr(torch, name)) for name in ("acosh", "log", "sqrt", "rsqrt", "reciprocal")),
    ("nn.silu", [KINKS], {}, F.silu),
    ("nn.softplus", [KINKS[:9]], {}, F.softplus),
    ("nn.hard_swish", [KINKS[1:8]], {}, F.hardswish),
    ("nn.gelu", [KINKS], {"approximate": "none"}, F.gelu),
    ("nn.gelu", [KINKS], {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    ("nn.gelu_tanh", [KINKS], {}, lambda x: F.gelu(x, approximate="tanh")),
    ("nn.leaky_relu", [KINKS], {"alpha": 0.3}, lambda x: F.leaky_relu(x, 0.3)),
    ("nn.elu", [KINKS], {"alpha": 0.7}, lambda x: F.elu(x, 0.7)),
    ("nn.hard_sigmoid", [KINKS[1:]], {"alpha": 0.2, "beta": 0.55}, lambda x: (x * 0.2 + 0.55).clamp(0, 1)),
    ("nn.clip", [KINKS], {"min": -1.0, "max": 2.5}, lambda x: torch.clamp(x, -1, 2.5)),
    ("nn.clip", [KINKS], {"max": 2.5}, lambda x: torch.clamp(x, max=2.5)),
    ("nn.identity", [(2, 3)], {}, lambda x: x * 1),
    ("nn.softmax", [(3, 5)], {"axis": 0}, lambda x: torch.softmax(x, 0)),
    ("nn.log_softmax", [(3, 5)], {"axis": -1}, lambda x: torch.log_softmax(x, -1)),
]
BINARY: list[Case] = [
    ("nn.add", [(3, 1, 4), (2, 1)], {}, torch.add),
    ("nn.sub", [(3, 4), ()], {}, torch.sub),
    ("nn.mul", [(0, 4), (1, 4)], {}, torch.mul),
    ("nn.div", [(3, 4), INSIDE[:, :1] + 2], {}, torch.div),
    ("nn.minimum", [TIED, np.array([2.0, 0.0, 5.0, 1.0])], {}, torch.minimum),
    ("nn.maximum", [TIED, np.array([2.0, 0.0, 5.0, 1.0])], {}, torch.maximum),
    ("nn.pow", [np.abs(ZEROS), np.array([2.0, 0.0, 1.0, 3.5])], {}, torch.pow),
    ("nn.pow", [ZEROS, np.array(3)], {}, torch.pow),
    ("nn.mod", [INSIDE * 9, INSIDE[:, ::-1] * 4], {"fmod": True}, torch.fmod),
    ("nn.mod", [INSIDE * 9, INSIDE[:, ::-1] * 4], {"fmod": False}, torch.remainder),
    ("nn.where", [TIED > 0, (3, 4), (1, 4)], {}, torch.where),
    ("nn.matmul", [(2, 3, 4), (4, 5), (5,)], PLAIN, lambda a, b, c: a @ b + c),
    ("nn.matmul", [(3, 4), (2, 1, 4, 5)], PLAIN, torch.matmul),
    ("nn.matmul", [(4, 3), (5, 4)], {"transpose_a": True, "transpose_b": True}, lambda a, b: a.T @ b.T),
    ("nn.matmul", [(2, 3, 4), (4, 5), (5,)], {**PLAIN, "activation": "silu"}, lambda a, b, c: F.silu(a @ b + c)),
    ("nn.matmul", [(3, 0), (0, 5)], PLAIN, torch.matmul),
    ("nn.det", [np.eye(3) * 2 + INSIDE[:, :3]], {}, torch.linalg.det),
    ("nn.solve", [np.eye(3) * 2 + INSIDE[:, :3], (3, 2)], {}, torch.linalg.solve),
    ("nn.qr", [(2, 5, 3)], {"complete": False}, lambda x: tuple(torch.linalg.qr(x))),
]
REDUCTIONS: list[Case] = [
    ("nn.reduce_sum", [(3, 4)], REDUCED, lambda x: x.sum(1)),
    ("nn.reduce_mean", [(3, 4, 2)], {"axes": (0, -1), "keepdims": True}, lambda x: x.mean((0, 2), keepdim=True)),
    ("nn.reduce_max", [TIED], REDUCED, lambda x: x.amax(1)),
    ("nn.reduce_min", [TIED], REDUCED, lambda x: x.amin(1)),
    ("nn.reduce_prod", [ZEROS], REDUCED, lambda x: x.prod(1)),
    ("nn.reduce_sum", [(3, 0)], REDUCED, lambda x: x.sum(1)),
    ("nn.cumsum", [(3, 4)], ALONG, lambda x: x.cumsum(1)),
    ("nn.cumprod", [ZEROS], ALONG, lambda x: x.cumprod(1)),
    ("nn.cumprod", [ZEROS], {**ALONG, "reverse": True}, lambda x: x.flip(1).cumprod(1).flip(1)),
    ("nn.topk", [(3, 6)], {"k": 3, "axis": 1, "largest": True}, lambda x: x.topk(3, 1)[0]),
]
SHAPES: list[Case] = [
    ("nn.reshape", [(3, 4)], {"shape": (2, 6)}, lambda x: x.reshape(2, 6)),
    ("nn.transpose", [(2, 3, 4)], {"perm": (2, 0, 1)}, lambda x: x.permute(2, 0, 1)),
    ("nn.expand", [(3, 1)], {"shape": (2, 3, 4)}, lambda x: x.expand(2, 3, 4)),
    ("nn.repeat", [(2, 3)], {"repeats": (2, 3)}, lambda x: x.repeat(2, 3)),
    ("nn.slice", [(5, 7)], {"starts": (4, 1), "sizes": (2, 3), "steps": (-2, 2)}, lambda x: x.flip(0)[:4:2, 1:6:2]),
    ("nn.slice", [(5, 7)], {"starts": (0, 0), "sizes": (0, 7), "steps": (1, 1)}, lambda x: x[:0]),
    ("nn.concat", [(2, 3), (2, 1), (2, 0)], {"axis": 1}, lambda *xs: torch.cat(xs, 1)),
    ("nn.split", [(5, 3)], {"axis": 0, "sizes": (2, 3)}, lambda x: x.split((2, 3))),
    *(
        ("nn.pad", [(1, 2, 5, 6)], {"before": (0, 0, 2, 3), "after": (0, 0, 1, 2), "value": 7.0, "mode": mode}, pad)
        for mode, pad in (
            ("constant", lambda x: F.pad(x, (3, 2, 2, 1), value=7.0)),
            ("reflect", lambda x: F.pad(x, (3, 2, 2, 1), mode="reflect")),
            ("edge", lambda x: F.pad(x, (3, 2, 2, 1), mode="replicate")),
            ("wrap", lambda x: F.pad(x, (3, 2, 2, 1), mode="circular")),
        )
    ),
    ("nn.gather", [(2, 4, 3), INDICES], {"axis": 1}, lambda x, i: x[:, i]),
    ("nn.gather_elements", [(2, 4), np.abs(INDICES)], {"axis": 1}, lambda x, i: x.gather(1, i)),
    ("nn.gather_nd", [(2, 4, 3), np.array([[0, 3], [1, -1], [0, 3]])], {"batch_dims": 0}, lambda x, i: x[i[:, 0], i[:, 1]]),
    *(
        ("nn.scatter_elements", [ZEROS, np.array([[0, 0], [1, 2], [3, 3]]), TIED[:, :2]], {"axis": 1, "reduction": name}, scatter)
        for name, scatter in (
            ("add", lambda x, i, u: x.scatter_reduce(1, i, u, "sum")),
            ("mul", lambda x, i, u: x.scatter_reduce(1, i, u, "prod")),
            ("max", lambda x, i, u: x.scatter_reduce(1, i, u, "amax")),
            ("min", lambda x, i, u: x.scatter_reduce(1, i, u, "amin")),
        )
    ),
    ("nn.scatter_nd", [(4, 3), np.array([[2], [0]]), (2, 3)], {"reduction": "none"}, lambda x, i, u: x.index_put((i[:, 0],), u)),
]
IMAGES: list[Case] = [
    *(
        ("nn.conv2d", [(2, 4, 7, 8), (6, 4 // groups, 3, 2), (6,)], {**IMAGE, "groups": groups}, conv)
        for groups, conv in ((1, lambda *v: F.conv2d(*v, (2, 1), (1, 2), (1, 2))), (2, lambda *v: F.conv2d(*v, (2, 1), (1, 2), (1, 2), 2)))
    ),
    ("nn.conv2d", [(0, 4, 7, 8), (6, 4, 3, 2)], {**IMAGE, "groups": 1}, lambda *v: F.conv2d(*v, None, (2, 1), (1, 2), (1, 2))),
    (
        "nn.conv_transpose2d",
        [(2, 4, 5, 6), (4, 3, 3, 2), (6,)],
        {**IMAGE, "groups": 2, "output_padding": (1, 0)},
        lambda *v: F.conv_transpose2d(*v, (2, 1), (1, 2), (1, 0), 2, (1, 2)),
    ),
    ("nn.max_pool2d", [(2, 3, 8, 7)], POOL, lambda x: F.max_pool2d(x, (3, 2), (2, 1), 1, 1, True)),
    ("nn.max_pool2d", [np.zeros((1, 1, 8, 7))], POOL, lambda x: F.max_pool2d(x, (3, 2), (2, 1), 1, 1, True)),
    ("nn.max_pool2d", [np.round(INSIDE * 2).reshape(1, 1, 3, 4)], POOL, lambda x: F.max_pool2d(x, (3, 2), (2, 1), 1, 1, True)),
    *(
        ("nn.avg_pool2d", [(2, 3, 8, 7)], {**POOL, "count_include_pad": included}, pool)
        for included, pool in (
            (True, lambda x: F.avg_pool2d(x, (3, 2), (2, 1), 1, True, True)),
            (False, lambda x: F.avg_pool2d(x, (3, 2), (2, 1), 1, True, False)),
        )
    ),
    ("nn.batch_norm", [(2, 4, 3), (3,), (3,), (3,), np.ones(3)], {"eps": 1e-3, "axis": 2}, _normalized),
    ("nn.layer_norm", [(2, 3, 4), (4,), (4,)], {"eps": 1e-5, "axis": -1}, lambda x, s, b: F.layer_norm(x, (4,), s, b)),
    ("nn.rms_norm", [(2, 3, 4), (3, 4)], {"eps": 1e-5, "axis": 1}, lambda x, s: F.rms_norm(x, (3, 4), s, 1e-5)),
    (
        "nn.attention",
        [(2, 2, 3, 4), (2, 1, 5, 4), (2, 1, 5, 6), np.where(np.arange(15).reshape(3, 5) % 4 < 2, 0.0, -np.inf)],
        {"scale": 0.5, "zero_masked": True},
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k.expand(2, 2, 5, 4), v.expand(2, 2, 5, 6), m, scale=0.5),
    ),
    (
        "nn.attention_training",
        [(2, 2, 3, 4), (2, 1, 5, 4), (2, 1, 5, 6), np.where(np.arange(15).reshape(3, 5) % 4 < 2, 0.0, -np.inf)],
        {"scale": 0.5, "zero_masked": True},
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k.expand(2, 2, 5, 4), v.expand(2, 2, 5, 6), m, scale=0.5),
    ),
]  # fmt: skip


def drawn(value: tuple[int, ...] | np.ndarray | None, rng: np.random.Generator) -> np.ndarray | None:
    return rng.standard_normal(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("case", [*UNARY, *BINARY, *REDUCTIONS, *SHAPES, *IMAGES], ids=lambda case: case[0])
def test_rule(case: Case, rng: np.random.Generator) -> None:
    name, given, attrs, function = case
    arrays = [drawn(value, rng) for value in given]
    kind = ops()[name.removeprefix("nn.")]
    tensors = [torch.tensor(x).requires_grad_(x.dtype == np.float64) for x in arrays if x is not None]
    found = function(*tensors)
    outputs = found if isinstance(found, tuple) else (found,)
    results = evaluate(kind, arrays, attrs)
    cotangents = [rng.standard_normal(y.shape) for y in outputs]
    padded = [*cotangents, *[None] * (len(results) - len(cotangents))]
    for y, mine in zip(outputs, results, strict=False):
        np.testing.assert_allclose(mine, y.detach().numpy(), rtol=1e-9, atol=1e-9)
    torch.autograd.backward(outputs, [torch.tensor(u) for u in cotangents])
    gradients = rule_gradients(kind, arrays, attrs, padded)
    assert [g is None for g in gradients if g is None] == [True for x in arrays if x is None or x.dtype != np.float64] or name in FLAT
    for mine, tensor in zip((g for g, x in zip(gradients, arrays, strict=True) if x is not None), tensors, strict=True):
        if tensor.grad is not None:
            wanted = tensor.grad.numpy()
            np.testing.assert_allclose(np.zeros(wanted.shape) if mine is None else mine, wanted, rtol=1e-9, atol=1e-9)


FLAT = ("nn.sign", "nn.floor", "nn.ceil", "nn.round")
"""Ops whose gradients are 0, which their rules say by giving none."""


def test_each_update_of_one_place_counts_as_in_pytorch(rng: np.random.Generator) -> None:
    """Which of several updates is kept depends on their order: differences say nothing, and the check leaves them out."""
    arrays = [rng.standard_normal((1, 3)), np.array([[1, 1, 2]]), rng.standard_normal((1, 3))]
    kind = ops()["scatter_elements"]
    of_x, _, of_updates = rule_gradients(kind, arrays, {"axis": 1, "reduction": "none"}, [np.array([[3.0, 5.0, 7.0]])])
    assert of_x is not None
    assert of_updates is not None
    assert (of_x.tolist(), of_updates.tolist()) == ([[3.0, 0.0, 0.0]], [[5.0, 5.0, 7.0]])
    assert check_rule(kind, arrays, {"axis": 1, "reduction": "none"}) == []
    x, updates = (torch.from_numpy(arrays[index]).requires_grad_() for index in (0, 2))
    x.scatter(1, torch.from_numpy(arrays[1]), updates).backward(torch.tensor([[3.0, 5.0, 7.0]]))
    assert (x.grad.tolist(), updates.grad.tolist()) == (of_x.tolist(), of_updates.tolist())


@pytest.mark.parametrize("norm", [torch.linalg.vector_norm, torch.std, *(partial(torch.linalg.vector_norm, ord=p) for p in (0.5, 3, -1))])
def test_norms_and_deviations_of_equal_numbers_have_gradient_zero(norm: Callable[..., Any]) -> None:
    """A root of a sum has an infinite gradient at 0, which times 0 would be no number."""
    assert_gradient(lambda x: norm(x, dim=1), torch.tensor([[0.0, 0.0], [3.0, -4.0]], dtype=torch.float64))


@pytest.mark.parametrize(
    ("name", "tolerance"), [("i0", 1e-6), ("i1", 1e-6), ("i1e", 1e-6), ("erfcx", 1e-10), ("log_ndtr", 1e-10), ("log1p", 1e-12)]
)
def test_special_functions_at_0_and_far_away(name: str, tolerance: float) -> None:
    """Branches that are not taken overflow, or have a kink where the function has none."""
    x = [0.0, -0.0, 1.0, -0.9 if name == "log1p" else -3.0, 20.0]
    assert_gradient(getattr(torch.special, name), torch.tensor([x], dtype=torch.float64), tolerance)


@pytest.mark.parametrize("function", [torch.special.erfcx, torch.special.log_ndtr, lambda x: torch.log1p(torch.exp(abs(x)))])
def test_special_functions_of_large_numbers(function: Callable[..., Any]) -> None:
    assert_gradient(function, torch.tensor([[-5.0, -3.0, 5.0, 24.0, 600.0]], dtype=torch.float64), 1e-10)


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 6)])
def test_pseudo_inverses_of_singular_matrices_with_equal_singular_values(shape: tuple[int, int], rng: np.random.Generator) -> None:
    left, right = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in shape)

    def inverse(x: Any) -> Any:
        return torch.linalg.pinv((torch.tensor(left) * x) @ torch.tensor(right).T)

    assert_gradient(inverse, torch.ones((1, 2), dtype=torch.float64))


def assert_gradient(function: Callable[[Any], Any], x: Any, tolerance: float = 1e-12) -> None:
    """The gradient of a function of a float64 tensor is PyTorch's, for a cotangent of ones."""
    from ttc.accuracy.module_values import evaluate as values_of
    from ttc.dialects.core.machines.targets import load_target
    from ttc.importers.torch.exported import import_module
    from ttc.passes.base import Unit
    from ttc.passes.manager import run_passes
    from ttc.passes.nn.differentiate import Differentiate

    class Called(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    unit = Unit(*import_module(Called(), (x,)), load_target("host"))
    run_passes([Differentiate(inputs=("x",))], unit)
    given = {"x": x.numpy()}
    (cotangent,) = [name for name in _inputs_of(unit) if name.startswith("grad.")]
    wanted = x.clone().requires_grad_()
    y = function(wanted)
    y.sum().backward()
    found = values_of(unit, {"forward": given, "forward_backward": {**given, cotangent: np.ones(y.shape)}})["forward_backward"]["grad.x"]
    np.testing.assert_allclose(found, wanted.grad.numpy(), rtol=tolerance, atol=tolerance)


def _inputs_of(unit: Any) -> list[str]:
    """Inputs of the entry that gives gradients."""
    from ttc.dialects.core.ir.entries import entry_functions, ports

    return [port.name for f in entry_functions(unit.module) if f.sym_name.data == "forward_backward" for port in ports(f)[0]]
