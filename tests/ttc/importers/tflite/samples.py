"""Small models of every kind of content, for tests that damage them."""

from __future__ import annotations

import numpy as np

from tests.draws import generator
from tests.ttc.importers.tflite.writer import Graph, Op, Scalar, Signature, Tensor, model, numbers

WINDOW = {"padding": "SAME", "stride_h": 2, "stride_w": 1, "fused_activation_function": "RELU6"}


def weights(name: str, *shape: int) -> np.ndarray:
    return generator(name).standard_normal(shape).astype(np.float32)


def real_network() -> bytes:
    """A convolution, a pool, a reshape with computed sizes, a dense layer, softmax; an open batch, names of a signature."""
    tensors = [
        Tensor("x", (1, 8, 6, 3), signature=(-1, 8, 6, 3)),
        Tensor("w", (4, 3, 3, 3), data=weights("filters", 4, 3, 3, 3)),
        Tensor("b", (4,), data=weights("bias", 4), outside=True),
        Tensor("conv", (1, 4, 6, 4)),
        Tensor("pool", (1, 4, 3, 4)),
        Tensor("shape", (4,), "INT32"),
        *(Tensor(n, (1,), "INT32", np.array([v], np.int32)) for n, v in (("zero", 0), ("one", 1))),
        Tensor("batch", (), "INT32"),
        Tensor("rest", (), "INT32", np.array(-1, np.int32)),
        Tensor("sizes", (2,), "INT32"),
        Tensor("flat", (1, 48)),
        Tensor("dense", (5, 48), data=weights("dense", 5, 48)),
        Tensor("logits", (1, 5)),
        Tensor("y", (1, 5)),
    ]
    pool = {**WINDOW, "padding": "VALID", "stride_h": 1, "stride_w": 2, "filter_height": 1, "filter_width": 2}
    ops = [
        Op("CONV_2D", ["x", "w", "b"], ["conv"], WINDOW),
        Op("MAX_POOL_2D", ["conv"], ["pool"], {**pool, "fused_activation_function": "NONE"}),
        Op("SHAPE", ["pool"], ["shape"], {"out_type": "INT32"}),
        Op("STRIDED_SLICE", ["shape", "zero", "one", "one"], ["batch"], {"shrink_axis_mask": 1}),
        Op("PACK", ["batch", "rest"], ["sizes"], {"values_count": 2, "axis": 0}),
        Op("RESHAPE", ["pool", "sizes"], ["flat"]),
        Op("FULLY_CONNECTED", ["flat", "dense", None], ["logits"], {"fused_activation_function": "NONE"}),
        Op("SOFTMAX", ["logits"], ["y"], {"beta": 1.0}),
    ]
    return model(Graph(tensors, ["x"], ["y"], ops), signatures=[Signature({"x": "image"}, {"y": "probabilities"})])


def quantized_network() -> bytes:
    """Integers: depthwise and plain convolutions by channel, an addition, a mean, a comparison."""
    codes = {"kind": "INT8", "scale": (0.05,), "zero": (3,)}
    rng = generator("quantized")
    steps = tuple(float(s) for s in rng.uniform(0.005, 0.02, 4))
    integers = rng.integers(-127, 128, (1, 3, 3, 4)).astype(np.int8)
    filters = rng.integers(-127, 128, (4, 1, 1, 4)).astype(np.int8)
    bias = rng.integers(-500, 500, 4).astype(np.int32)
    tensors = [
        Tensor("x", (1, 6, 6, 4), **codes),
        Tensor("w", (1, 3, 3, 4), "INT8", integers, steps, (0,) * 4, 3),
        Tensor("b", (4,), "INT32", bias, tuple(0.05 * s for s in steps), (0,) * 4),
        Tensor("depthwise", (1, 3, 6, 4), **codes),
        Tensor("v", (4, 1, 1, 4), "INT8", filters, steps, (0,) * 4, 0),
        Tensor("pointwise", (1, 3, 6, 4), **codes),
        Tensor("sum", (1, 3, 6, 4), "INT8", None, (0.1,), (-7,)),
        Tensor("axes", (2,), "INT32", np.array([1, 2], np.int32)),
        Tensor("mean", (1, 4), "INT8", None, (0.1,), (-7,)),
        Tensor("y", (1, 4)),
        Tensor("place", (1,), "INT64"),
        Tensor("last", (), "INT32", np.array(-1, np.int32)),
    ]
    ops = [
        Op("DEPTHWISE_CONV_2D", ["x", "w", "b"], ["depthwise"], {**WINDOW, "depth_multiplier": 1}),
        Op("CONV_2D", ["depthwise", "v", "b"], ["pointwise"], {**WINDOW, "stride_h": 1}),
        Op("ADD", ["depthwise", "pointwise"], ["sum"], {"fused_activation_function": "RELU"}),
        Op("MEAN", ["sum", "axes"], ["mean"], {"keep_dims": False}),
        Op("DEQUANTIZE", ["mean"], ["y"]),
        Op("ARG_MAX", ["mean", "last"], ["place"], {"output_type": "INT64"}),
    ]
    return model(Graph(tensors, ["x"], ["y", "place"], ops))


def sparse(shape: tuple[int, int] = (3, 4)) -> tuple[Tensor, np.ndarray]:
    """A matrix stored by rows, and what it holds."""
    dense = np.zeros(shape, np.float32)
    dense[0, 1], dense[2, 0], dense[2, 3] = 1.5, -2, 4
    levels = [
        {0: Scalar("i1", 0), 1: Scalar("i4", shape[0])},
        {0: Scalar("i1", 1), 2: Scalar("u1", 3), 3: {0: numbers("u1", 0, 1, 1, 3)}, 4: Scalar("u1", 2), 5: {0: numbers("u2", 1, 0, 3)}},
    ]
    sparsity = {0: numbers("i4", 0, 1), 2: levels}
    return Tensor("w", shape, data=np.array([1.5, -2, 4], np.float32), sparsity=sparsity), dense


def recurrent_network() -> bytes:
    """A layer with a variable, sparse weights, a loop and a branch."""
    scalar = {"shape": (), "kind": "INT32"}
    state, x = Tensor("h", (1, 3), variable=True), Tensor("x", (1, 4))
    main = Graph(
        [
            x,
            sparse()[0],
            Tensor("dense", (3, 4)),
            Tensor("r", (3, 3), data=weights("recurrent", 3, 3)),
            Tensor("b", (3,), data=weights("start", 3)),
            state,
            Tensor("step", (1, 3)),
            Tensor("i", data=np.array(0, np.int32), **scalar),
            Tensor("n", **scalar),
            Tensor("out", (1, 3)),
            Tensor("c", (), "BOOL"),
            Tensor("y", (1, 3)),
            Tensor("sum", ()),
            Tensor("axes", (2,), "INT32", np.array([0, 1], np.int32)),
            Tensor("zero", (), data=np.zeros((), np.float32)),
        ],
        ["x"],
        ["y"],
        [
            Op("DENSIFY", ["w"], ["dense"]),
            Op("RNN", ["x", "dense", "r", "b", "h"], ["step"], {"fused_activation_function": "TANH"}),
            Op("WHILE", ["i", "step"], ["n", "out"], {"cond_subgraph_index": 1, "body_subgraph_index": 2}),
            Op("SUM", ["out", "axes"], ["sum"]),
            Op("LESS", ["sum", "zero"], ["c"]),
            Op("IF", ["c", "out"], ["y"], {"then_subgraph_index": 3, "else_subgraph_index": 4}),
        ],
    )
    carried = [Tensor("i", **scalar), Tensor("v", (1, 3)), Tensor("k", data=np.array(2, np.int32), **scalar)]
    less = Graph([*carried, Tensor("c", (), "BOOL")], ["i", "v"], ["c"], [Op("LESS", ["i", "k"], ["c"])])
    after = [*carried, Tensor("j", **scalar), Tensor("u", (1, 3))]
    body = Graph(after, ["i", "v"], ["j", "u"], [Op("ADD", ["i", "k"], ["j"]), Op("ADD", ["v", "v"], ["u"])])
    branches = [Graph([Tensor("a", (1, 3)), Tensor("b", (1, 3))], ["a"], ["b"], [Op(op, ["a"], ["b"])]) for op in ("EXP", "NEG")]
    return model(main, less, body, *branches)


def all_samples() -> list[bytes]:
    return [real_network(), quantized_network(), recurrent_network()]
