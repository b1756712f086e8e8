"""Stage nn leaves no transpose inside networks, whether channels come first or last in them.

Networks whose channels come last are written twice: with ops of that layout, and with transposes around ops whose channels come first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tests.passes.conftest import check_numbers
from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, make_function
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import ops
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.pipeline import stages

FLOAT32 = np.dtype(np.float32)
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


class Network:
    """A function in the making.  around: channels come last, but ops on images have them first, between transposes."""

    def __init__(self, shape: tuple[int, ...], *, around: bool = False) -> None:
        self.around = around
        self.weights = WeightStore()
        self.count = 0
        self.function = make_function("main", [(Port("x"), tensor_type(Spec(shape, FLOAT32)))])
        self.x: SSAValue = self.function.body.block.args[0]

    def op(self, name: str, *xs: SSAValue | None, **attrs: Any) -> Any:
        made = ops()[name].build(*xs, location=named_location(name), **attrs)
        self.function.body.block.add_op(made)
        return made.results[0] if len(made.results) == 1 else list(made.results)

    def weight(self, *shape: int) -> SSAValue:
        self.count += 1
        key = f"w{self.count}"
        self.weights.add_array(key, np.random.default_rng(self.count).random(shape, np.float32) + np.float32(0.5))
        spec = Spec(shape, FLOAT32)
        leaf = ConstantOp.make((), {"value": WeightAttr.of(key, spec)}, [tensor_type(spec)], named_location(key))
        self.function.body.block.add_op(leaf)
        return leaf.result

    def turn(self, x: SSAValue, *perm: int) -> SSAValue:
        return self.op("transpose", x, perm=perm)

    def shaped(self, x: SSAValue, *shape: int) -> SSAValue:
        return self.op("reshape", x, shape=shape)

    def image_op(self, name: str, x: SSAValue, *weights: SSAValue | None, **attrs: Any) -> SSAValue:
        """An op on channels-last images."""
        if not self.around:
            return self.op(name, x, *weights, layout="nhwc", **attrs)
        turned = [None if w is None else self.turn(w, 3, 2, 0, 1) for w in weights]
        return self.turn(self.op(name, self.turn(x, *FIRST), *turned, layout="nchw", **attrs), *LAST)

    def conv(self, x: SSAValue, channels: int, kernel: int = 3, stride: int = 1, groups: int = 1, pad: int = 1) -> SSAValue:
        w = self.weight(kernel, kernel, spec_of(x.type).shape[-1] // groups, channels)
        attrs = {"strides": (stride,) * 2, "pads": (pad if kernel > 1 else 0,) * 4, "dilations": (1, 1), "groups": groups}
        return self.image_op("conv2d", x, w, None, **attrs)

    def conv_first(self, x: SSAValue, channels: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> SSAValue:
        """A convolution whose channels come first, as PyTorch has it."""
        w = self.weight(channels, spec_of(x.type).shape[1] // groups, kernel, kernel)
        attrs = {"strides": (stride,) * 2, "pads": (kernel // 2 * (stride == 1),) * 4, "dilations": (1, 1), "groups": groups}
        return self.op("conv2d", x, w, self.weight(channels), layout="nchw", **attrs)

    def pool(self, kind: str, x: SSAValue) -> SSAValue:
        attrs = {"kernel": (2, 2), "strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1), "ceil_mode": False}
        return self.image_op(f"{kind}_pool2d", x, **attrs, **({"count_include_pad": False} if kind == "avg" else {}))

    def norm(self, x: SSAValue) -> SSAValue:
        return self.op("batch_norm", x, *(self.weight(spec_of(x.type).shape[-1]) for _ in range(4)), axis=3, eps=1e-3)

    def pad(self, x: SSAValue) -> SSAValue:
        return self.op("pad", x, before=(0, 0, 0, 0), after=(0, 1, 1, 0), value=0.0, mode="constant")

    def dense(self, x: SSAValue, width: int) -> SSAValue:
        return self.op("matmul", x, self.weight(spec_of(x.type).shape[-1], width), None, transpose_a=False, transpose_b=False)

    def unit(self, y: SSAValue) -> Unit:
        finish_function(self.function, [(Port("y"), y)])
        module = ModuleOp([self.function])
        verify(module)
        return Unit(module, self.weights, load_target("host"))


def residual(net: Network) -> SSAValue:
    x = net.op("relu", net.norm(net.op("add", net.conv(net.x, 8), net.weight(8))))
    y = net.norm(net.conv(net.op("relu", net.norm(net.conv(x, 8))), 8))
    x = net.op("relu", net.op("add", x, y))
    y = net.conv(net.pad(x), 16, stride=2, pad=0)
    x = net.op("add", net.conv(x, 16, kernel=1, stride=2), y)
    return net.op("softmax", net.dense(net.op("reduce_mean", x, axes=(1, 2), keepdims=False), 10), axis=-1)


def flattened(net: Network) -> SSAValue:
    x = net.pool("max", net.op("relu", net.conv(net.x, 8)))
    return net.dense(net.op("relu", net.dense(net.shaped(x, 2, 4 * 4 * 8), 16)), 10)


def mobile(net: Network) -> SSAValue:
    x = net.op("clip", net.norm(net.conv(net.x, 8)), min=0.0, max=6.0)
    y = net.norm(net.conv(net.op("clip", net.norm(net.conv(x, 8, groups=8)), min=0.0, max=6.0), 8, kernel=1))
    x = net.op("add", x, y)
    gate = net.conv(net.op("reduce_mean", x, axes=(1, 2), keepdims=True), 8, kernel=1)
    x = net.op("mul", x, net.op("sigmoid", gate))
    x = net.pool("avg", net.conv(net.pad(x), 8, stride=2, groups=8, pad=0))
    return net.shaped(x, 2, 2 * 2 * 8)


def decoder(net: Network) -> SSAValue:
    a = net.op("relu", net.conv(net.x, 8))
    b = net.op("relu", net.conv(net.pool("max", a), 16))
    attrs = {"strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1), "groups": 1, "output_padding": (0, 0)}
    up = net.image_op("conv_transpose2d", b, net.weight(2, 2, 8, 16), None, **attrs)
    y = net.op("relu", net.conv(net.op("concat", a, up, axis=-1), 8))
    rest = {"rounding": "floor", "cubic": -0.75, "exclude_outside": False, "antialias": False, "fill": 0.0, "mode": "linear"}
    window = (0.0,) * 4 + (1.0,) * 4
    larger = net.op("resize", b, sizes=(2, 8, 8, 16), scales=(1.0, 2.0, 2.0, 1.0), window=window, coordinates="half_pixel", **rest)
    first, second = net.op("split", net.conv(net.op("concat", y, larger, axis=3), 6, kernel=1), axis=3, sizes=(4, 2))
    return net.op("concat", net.op("softmax", first, axis=3), second, axis=3)


def tokens(net: Network) -> SSAValue:
    x = net.shaped(net.conv(net.x, 16, kernel=4, stride=4, pad=0), 2, 4, 16)
    x = net.op("layer_norm", net.op("add", x, net.weight(1, 4, 16)), net.weight(16), net.weight(16), axis=-1, eps=1e-6)
    x = net.conv(net.shaped(net.dense(x, 16), 2, 2, 2, 16), 16)
    return net.dense(net.shaped(x, 2, 64), 3)


CHANNELS_LAST = (residual, flattened, mobile, decoder, tokens)


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("network", CHANNELS_LAST, ids=lambda f: f.__name__)
def test_no_transpose_is_left(network: Callable[[Network], SSAValue], around: bool) -> None:
    assert transposes(network, (2, 8, 8, 3), around=around) == []


def group_norm(net: Network) -> SSAValue:
    """As exporters write it: instances of groups, scaled by 1, moved by 0; then a scale of channels."""
    x = net.conv_first(net.x, 8)
    y = net.op("layer_norm", net.shaped(x, 2, 4, 128), None, None, axis=2, eps=1e-5)
    y = net.op("add", net.op("mul", y, net.weight(4, 1)), net.weight(1, 4, 1))
    y = net.op("add", net.op("mul", net.shaped(y, 2, 8, 8, 8), net.weight(8, 1, 1)), net.weight(8, 1, 1))
    return net.conv_first(net.op("relu", y), 4)


def instance_norm(net: Network) -> SSAValue:
    y = net.op("layer_norm", net.conv_first(net.x, 8), None, None, axis=2, eps=1e-5)
    return net.conv_first(net.op("mul", y, net.weight(8, 1, 1)), 4)


def norm_of_channels(net: Network) -> SSAValue:
    x = net.conv_first(net.x, 8)
    centred = net.op("sub", x, net.op("reduce_mean", x, axes=(1,), keepdims=True))
    variance = net.op("reduce_mean", net.op("mul", centred, centred), axes=(1,), keepdims=True)
    return net.conv_first(net.op("mul", net.op("mul", centred, net.op("rsqrt", variance)), net.weight(8, 1, 1)), 8)


def block_of_both(net: Network) -> SSAValue:
    x = net.conv_first(net.x, 8)
    y = net.turn(net.conv_first(x, 8, groups=8), *LAST)
    y = net.dense(net.op("relu", net.dense(net.op("layer_norm", y, net.weight(8), None, axis=-1, eps=1e-6), 16)), 8)
    return net.conv_first(net.op("add", x, net.turn(y, *FIRST)), 4)


def normed_between(net: Network) -> SSAValue:
    """A sum of what was normalized with channels last and turned back, read with channels last again."""
    x = net.turn(net.conv_first(net.x, 8), *LAST)
    x = net.turn(net.op("layer_norm", x, net.weight(8), None, axis=-1, eps=1e-6), *FIRST)
    y = net.turn(net.dense(net.turn(net.conv_first(x, 8, groups=8), *LAST), 8), *FIRST)
    x = net.turn(net.op("add", x, net.op("mul", y, net.weight(8, 1, 1))), *LAST)
    x = net.turn(net.op("layer_norm", x, net.weight(8), None, axis=-1, eps=1e-6), *FIRST)
    return net.conv_first(net.op("relu", x), 4)


def tokens_beside_maps(net: Network) -> SSAValue:
    """Tokens become a map beside another one, as in decoders of segmentation."""
    x = net.conv_first(net.x, 8)
    tokens = net.dense(net.turn(net.shaped(x, 2, 8, 64), 0, 2, 1), 8)
    y = net.shaped(net.turn(tokens, 0, 2, 1), 2, 8, 8, 8)
    return net.conv_first(net.op("concat", x, y, axis=1), 4)


def places(net: Network) -> SSAValue:
    x = net.op("repeat", net.conv_first(net.x, 8), repeats=(1, 1, 2, 1))
    x = net.conv_first(net.op("cumsum", x, axis=1, exclusive=False, reverse=False), 4)
    return net.op("argmax", x, axis=1, keepdims=False, select_last=False)


@pytest.mark.parametrize(
    "network", [group_norm, instance_norm, norm_of_channels, block_of_both, normed_between, places], ids=lambda f: f.__name__
)
def test_transposes_stand_at_the_ends_alone(network: Callable[[Network], SSAValue]) -> None:
    left = transposes(network, (2, 4, 8, 8))
    assert left[:1] == [LAST]
    assert left[1:] in ([], [FIRST])


def transposes(network: Callable[[Network], SSAValue], shape: tuple[int, ...], *, around: bool = False) -> list[tuple[int, ...]]:
    """Permutations that stage nn leaves, which keeps the numbers; all but one of an argument feed the results."""
    before, after = (made(network, Network(shape, around=around)) for _ in range(2))
    for pass_ in stages(after.target)["nn"]:
        run_pass(pass_, after)
    check_numbers(before, after, tolerance=1e-5)
    (function,) = entry_functions(after.module)
    found = [op for op in function.walk() if op.name == "nn.transpose"]
    inner = [op for op in found if op.operands[0] is not function.body.block.args[0]]
    assert all(use.operation.name == "func.return" for op in inner for use in op.results[0].uses)
    return [op.plain_attrs()["perm"] for op in found]  # pyright: ignore[reportAttributeAccessIssue]


def made(network: Callable[[Network], SSAValue], net: Network) -> Unit:
    return net.unit(network(net))
