"""Small graphs of every tile op that has a shape rule: odd sizes, all storages, attributes at their limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.runtime.engines.native.guarded import Graph
from tests.runtime.engines.native.guarded_graphs import graph_of
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.core.shapes import Shape

SIZES = (1, 15, 17, 33)
FLOATS = ("Float32", "Float16_b", "Half")
ALL = (*FLOATS, "Float64", "Int32", "Int64", "Int16", "UInt8", "Bool")


# ---- by family -------------------------------------------------------------------------------------------------------------------------


def products() -> Iterator[Graph]:
    """Matrix products and attention."""
    plain = {"transpose_a": False, "transpose_b": False}
    for n in SIZES:
        for format in FLOATS:
            for held in ((), (1, 2)):
                yield graph_of("matmul", [(n, 33), (33, 17), (17,)], plain, format, held=held)
                yield graph_of("matmul", [(2, n, 7), (7, n)], plain, format, held=held[:1])
        yield graph_of("matmul", [(3, 1, 5, n), (2, 5, 13), (n, 13)], {"transpose_a": True, "transpose_b": False, "activation": "relu"})
        yield graph_of("matmul", [(2, n, 5), (1, 19, 5), (n, 1)], {"transpose_a": False, "transpose_b": True, "activation": "gelu"})
        yield graph_of("matmul", [(n, 34), (34, 17), (17,)], plain, held=(1, 2), precision="bfloat16")
        yield graph_of("matmul", [(n, 5), (5, 3)], plain, "Int32")
        scaled = {"scale": 0.5, "zero_masked": False}
        for format in FLOATS:
            yield graph_of("attention", [(2, 3, n, 5), (2, 3, 13, 5), (2, 3, 13, 7)], scaled, format)
        yield graph_of("attention", [(2, n, 16), (2, n, 16), (2, n, 16), (n, n)], {"scale": 0.25, "zero_masked": True})
        yield graph_of("attention", [(n, 4), (n, 4), (3, n, 5), (3, 1, n)], scaled)
        yield graph_of("attention_training", [(2, n, 5), (2, 13, 5), (2, 13, 7), (n, 13)], {"scale": 0.5, "zero_masked": True})
        for format in FLOATS:
            rows = [(2, 3, n, 5), (2, 3, 13, 5), (2, 3, 13, 7), (2, 3, n, 7), (2, 3, n), (2, 3, n, 7)]
            yield graph_of("attention_gradient", rows, {"scale": 0.5}, [*[format] * 4, "Float32", format])
        yield graph_of("attention_gradient", [(2, n, 16)] * 4 + [(2, n), (2, n, 16), (n, n)], {"scale": 0.25})
    rows = [(2, 70, 40), (2, 45, 40), (2, 45, 33), (2, 70, 33), (2, 70), (2, 70, 33), (70, 45)]
    narrow = [*["Float16_b"] * 4, "Float32", "Float16_b", "Float16_b"]
    yield graph_of("attention_gradient", rows, {"scale": 0.25}, narrow, precision="bfloat16")
    yield graph_of("attention", [(1, 2, 67, 8), (1, 1, 301, 8), (1, 1, 301, 8)], {"scale": 1, "zero_masked": False})
    yield graph_of("matmul", [(67, 301), (301, 131), (131,)], plain)


def integers() -> Iterator[Graph]:
    """Products and convolutions of codes of 8 bits, and of integers of 32."""
    plain = {"transpose_a": False, "transpose_b": False}
    base: dict[str, Plain] = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1}
    for n in SIZES:
        for codes in ("Int8", "UInt8", ""):
            for held in ((), (1,)):
                yield graph_of("matmul", [(n, 33), (33, 17)], plain, "Int32", held=held, codes=codes)
                yield graph_of("matmul", [(2, n, 8), (8, n)], plain, "Int32", held=held, codes=codes)
                yield graph_of("matmul", [(2, n, 5), (1, 19, 5)], {**plain, "transpose_b": True}, "Int32", held=held, codes=codes)
                for kernel, pad, stride, channels in ((1, 0, 1, 6), (3, 1, 1, 16), (3, 1, 2, 9), (3, 2, 1, 3)):
                    attrs = {**base, "strides": (stride, stride), "pads": (pad,) * 4}
                    shapes = [(2, 5, n + 4, channels), (kernel, kernel, channels, n)]
                    yield graph_of("conv2d", shapes, attrs, "Int32", held=held, codes=codes)
            for groups, channels, outputs in ((n, n, n), (3, 6, 9), (2, 6, 4)):
                attrs = {**base, "groups": groups, "strides": (1, 2), "pads": (1, 0, 2, 1)}
                shapes = [(1, 9, 11, channels), (3, 3, channels // groups, outputs)]
                yield graph_of("conv2d", shapes, attrs, "Int32", held=(1,), codes=codes)


def convolutions() -> Iterator[Graph]:
    """Of one group, of several, of one a channel; transposed ones."""
    for n in SIZES:
        for format, held in (("Float32", ()), ("Float32", (1, 2)), ("Float16_b", (1, 2)), ("Half", (1,))):
            for kernel, pad, stride, dilation in ((1, 0, 1, 1), (3, 1, 1, 1), (3, 1, 2, 1), (2, 1, 3, 2), (1, 0, 2, 1), (5, 2, 1, 1)):
                attrs = {"strides": (stride, stride), "pads": (pad,) * 4, "dilations": (dilation, dilation), "groups": 1}
                yield graph_of("conv2d", [(2, 7, n + 4, 5), (kernel, kernel, 5, n), (n,)], attrs, format, held=held)
        for groups, channels, outputs in ((n, n, n), (n, n, 2 * n), (3, 6, 9)):
            attrs = {"strides": (1, 2), "pads": (1, 0, 2, 1), "dilations": (1, 1), "groups": groups}
            yield graph_of("conv2d", [(1, 9, 11, channels), (3, 3, channels // groups, outputs)], attrs, held=(1,))
            yield graph_of("conv2d", [(1, 9, 11, channels), (3, 3, channels // groups, outputs), (outputs,)], attrs, "Float16_b")
        for format, stride in (("Float32", 1), ("Float32", 2), ("Half", 2)):
            attrs = {"strides": (stride, stride), "pads": (1, 2, 0, 1), "dilations": (1, 1), "groups": 1}
            yield graph_of("conv2d", [(2, 7, n + 4, 1), (3, 3, 1, n), (n,)], attrs, format, held=(1, 2))
        few = {"strides": (1, 2), "pads": (1, 2, 1, 0), "dilations": (1, 1), "groups": 4}
        for group in (2, 4, 16):
            yield graph_of("conv2d", [(2, 9, n + 2, 4 * group), (3, 3, group, 4 * group)], few, held=(1,))
        yield graph_of(
            "conv2d", [(2, 5, n + 2, 33), (3, 5, 33, 2)], {**few, "strides": (2, 1), "pads": (1, 2, 1, 2), "groups": 1}, held=(1,)
        )
        wide = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, "activation": "relu"}
        yield graph_of("conv2d", [(1, n + 2, n + 3, 8), (3, 3, 8, 8), (8,)], wide, held=(1, 2))
        yield graph_of("conv2d", [(1, n + 2, n + 3, 16), (3, 3, 16, 32)], wide, held=(1,), precision="bfloat16")
        for precision, format in (("float32", "Float32"), ("high", "Float32"), ("float32", "Float16_b"), ("high", "Half")):
            around = {**wide, "pads": (1, 1, 1, 1)}
            for held in ((1, 2), (2,)):
                yield graph_of(
                    "conv2d", [(2, n + 6, 17, 16), (3, 3, 16, n + 16), (n + 16,)], around, format, held=held, precision=precision
                )
        for precision, format in (("float32", "Float32"), ("high", "Half"), ("float32", "Float16_b")):
            around = {**wide, "pads": (1, 0, 1, 2), "activation": None}
            cotangents = (n // 2 + 6, n + 6, 9, 80)
            yield graph_of("conv2d", [(144, cotangents[0], n + 6, 9), cotangents], around, format, precision=precision)
        up = {"strides": (2, 3), "pads": (1, 0, 0, 1), "output_padding": (1, 0), "dilations": (1, 1), "groups": 1}
        yield graph_of("conv_transpose2d", [(2, 5, n, 7), (3, 2, 4, 7), (4,)], up, held=(1, 2))
        yield graph_of(
            "conv_transpose2d", [(1, 3, 4, n), (2, 2, 5, n)], {**up, "strides": (2, 2), "pads": (0,) * 4, "output_padding": (0, 0)}
        )
        gaps = {**up, "strides": (3, 2), "dilations": (2, 3), "groups": 3, "pads": (1, 0, 0, 1)}
        yield graph_of("conv_transpose2d", [(2, 3, 4, 6), (2, 2, n, 6), (3 * n,)], gaps, held=(1,))
        yield graph_of("conv_transpose2d", [(2, 3, 4, n + 1), (3, 2, 1, n + 1)], {**gaps, "groups": n + 1}, held=(1,))
        taps = {"strides": (2, 1), "pads": (1, 2, 1, 0), "dilations": (1, 2), "groups": n + 1}
        for samples in (1, 3):
            yield graph_of("conv2d", [(1, 9, 12, (n + 1) * samples), (7, 5, samples, n + 1)], taps)
        below = {**wide, "pads": (0, 1, 2, 1)}  # two rows: the patch of a tile ends below the image
        yield graph_of("conv2d", [(1, 2, n + 6, 16), (3, 3, 16, 32), (32,)], below, held=(1, 2))
        back = {**up, "strides": (1, 1), "pads": (0, 1, 1, 2), "output_padding": (0, 0)}
        yield graph_of("conv_transpose2d", [(2, n + 6, 17, 16), (3, 3, n + 16, 16)], back)
        yield graph_of("depthwise", [(5, n, 13), (5, 13), (13,)])


def pools() -> Iterator[Graph]:
    """Windows of images, images of other sizes."""
    for n in SIZES:
        for format in (*FLOATS, "Int32", "UInt8"):
            for kernel, stride, pad, dilation, ceil in ((1, 1, 0, 1, False), (3, 2, 1, 1, False), (2, 2, 0, 1, True), (3, 1, 2, 2, False)):
                attrs = {"kernel": (kernel,) * 2, "strides": (stride,) * 2, "pads": (pad,) * 4, "dilations": (dilation,) * 2}
                shape = (2, 9, 7, n)
                yield graph_of("max_pool2d", [shape], {**attrs, "ceil_mode": ceil}, format)
                if format in FLOATS:
                    yield graph_of("avg_pool2d", [shape], {**attrs, "ceil_mode": ceil, "count_include_pad": n > 15}, format)
        whole = {"kernel": (9, 7), "strides": (9, 7), "pads": (0,) * 4, "dilations": (1, 1), "ceil_mode": False}
        yield graph_of("avg_pool2d", [(2, 9, 7, n)], {**whole, "count_include_pad": False})
        base = {
            "window": (0.0,) * 4 + (1.0,) * 4,
            "rounding": "floor",
            "cubic": -0.75,
            "exclude_outside": False,
            "antialias": False,
            "fill": 0.0,
        }
        for mode, coordinates in (
            ("nearest", "asymmetric"),
            ("linear", "half_pixel"),
            ("linear", "align_corners"),
            ("cubic", "half_pixel"),
        ):
            attrs = {**base, "sizes": (1, 10, 7, n), "scales": (1.0, 2.0, 7 / 4, 1.0), "mode": mode, "coordinates": coordinates}
            yield graph_of("resize", [(1, 5, 4, n)], attrs)
        for mode in ("nearest", "linear", "cubic"):
            for padding in ("zeros", "border", "reflection"):
                attrs = {"mode": mode, "padding": padding, "align_corners": n > 15}
                yield graph_of("grid_sample", [(2, 3, n, 5), (2, 4, n, 2)], attrs)
        volume = {"mode": "linear", "padding": "border", "align_corners": False}
        yield graph_of("grid_sample", [(1, 2, 3, n, 2), (1, 2, 3, n, 3)], volume)


def rows() -> Iterator[Graph]:
    """Reductions, softmax, normalizations, running sums."""
    for n in SIZES:
        for format in FLOATS:
            for op in ("softmax", "log_softmax"):
                yield graph_of(op, [(5, n)], {"axis": -1}, format)
                yield graph_of(op, [(3, n, 7)], {"axis": 1}, format)
            yield graph_of(
                "couple_probabilities", [(n, 10)], {"classes": 5}, format, values={0: np.linspace(0.1, 0.9, 10 * n).reshape(n, 10)}
            )
            norm = {"axis": -1, "eps": 1e-5}
            yield graph_of("layer_norm", [(2, 3, n), (n,), (n,)], norm, format)
            yield graph_of("layer_norm", [(2, 3, n)], {"axis": 1, "eps": 1e-5}, format)
            yield graph_of("layer_norm", [(4, n), None, (1,)], norm, format)
            yield graph_of("rms_norm", [(7, n), (n,)], norm, format)
            for axis, k in ((1, n), (0, 2), (2, 5)):
                yield graph_of("order", [(3, n, 70)], {"axis": axis, "k": k, "largest": n > 15}, format, result="Int64")
            yield graph_of("order", [(n, 70)], {"axis": -1, "k": 69, "largest": False}, format, result="Int32")
        for format in ALL:
            if format == "Bool":
                continue
            for fn in ("sum", "mean", "max", "min", "prod"):
                yield graph_of("reduce", [(3, n, 5)], {"fn": fn, "axes": (-1,), "keepdims": False}, format)
                yield graph_of("reduce", [(3, n, 5)], {"fn": fn, "axes": (0, 1), "keepdims": True}, format)
            yield graph_of("reduce", [(2, n, 3, 5)], {"fn": "sum", "axes": (1, 3), "keepdims": False}, format)
            yield graph_of("cumsum", [(3, n)], {"axis": 1, "exclusive": n > 15, "reverse": n == 17}, format)
            yield graph_of("cumprod", [(n, 3)], {"axis": 0, "exclusive": n == 15, "reverse": n > 15}, format)
            yield graph_of("argmax", [(3, n)], {"axis": 1, "keepdims": False, "select_last": n == 17}, format, result="Int64")
            yield graph_of("argmin", [(n, 5)], {"axis": 0, "keepdims": True, "select_last": False}, format, result="Int32")


def elementwise() -> Iterator[Graph]:
    """Functions, casts, regions."""
    for n in SIZES:
        for format in ALL:
            yield graph_of("map", [(3, n), (n,)], {"fn": "add" if format != "Bool" else "and"}, format)
            yield graph_of("map", [(n, 1), (1, 7)], {"fn": "mul" if format != "Bool" else "or"}, format)
            for to in (to for to in ALL if to != "UInt8" or format not in (*FLOATS, "Float64")):  # C does not say what -1.0 becomes
                yield graph_of("cast", [(2, n)], {"to": format_named(to).compute.name} if n == 17 else {}, format, result=to)
            if format in FLOATS:
                for to in ("Bfp8_b", "Float16", "Bfp4", "Float32", "Float16_b", "Tf32", "Lf8"):
                    yield graph_of("adjust", [(3, n)], {"to": to, "rounding": "truncate" if n == 15 else "rne"}, format)
        for fn in ("exp", "tanh", "erf", "sigmoid", "gelu", "sqrt", "relu", "neg"):
            for format in FLOATS:
                yield graph_of("map", [(3, n)], {"fn": fn}, format)
        for fn in ("exp", "gelu", "log", "power", "reciprocal", "sigmoid"):
            yield graph_of("sfpu", [(3, n)], {"fn": fn, "parameter": 3.0}, "Float16_b" if n == 15 else "Float32")
        yield graph_of("binary", [(3, n), (3, n)], {"fn": "multiply"}, "Float16_b" if n == 15 else "Float32")
        yield graph_of("relu", [(3, n)], {"mode": "max", "threshold": 0.5})
        yield graph_of("rescale", [(3, n), (3, n)], {"kind": "quantization", "zero_point": 3.0}, result="Int8")
        yield graph_of("map", [(3, n), (3, 1), ()], {"fn": "where"}, ("Bool", "Float32", "Float32"), result="Float32")
        yield graph_of("map", [(3, n), (n,)], {"fn": "less"}, "Float32", result="Bool")
        for result in ALL:
            shapes = ((2, 3, n), (n,), (2, 1, 1))
            yield graph_of("eltwise", shapes, {}, body=_region("Float32", *shapes), result=result)
            yield graph_of("eltwise", shapes, {}, result, body=_region(result, *shapes))
            yield graph_of("eltwise", shapes[:1], {}, body=Function((TensorType((2, 3, n), "Float32"),), (), (0,)), result=result)


def _region(format: str, *shapes: Shape) -> Function:
    """tanh(x + y) * z + 0.5; of numbers that are not floating, (x max y) min z."""
    types = tuple(TensorType(shape, format) for shape in shapes)
    whole = types[0]
    if not format_named(format).is_float:
        return Function(
            types, (Work("tile.map", (0, 1), {"fn": "maximum"}, (whole,)), Work("tile.map", (3, 2), {"fn": "minimum"}, (whole,))), (4,)
        )
    works = (
        Work("tile.map", (0, 1), {"fn": "add"}, (whole,)),
        Work("tile.map", (3,), {"fn": "tanh"}, (whole,)),
        Work("tile.map", (4, 2), {"fn": "mul"}, (whole,)),
        Work("ttc.constant", (), {"values": (0.5,)}, (TensorType((), format),)),
        Work("tile.map", (5, 6), {"fn": "add"}, (whole,)),
    )
    return Function(types, works, (7,))


def layers() -> Iterator[Graph]:
    """Recurrent layers."""
    kinds: dict[str, tuple[int, int, dict[str, Plain]]] = {
        "rnn": (1, 1, {}), "gru": (3, 2, {"linear_before_reset": False}), "lstm": (4, 3, {"input_forget": False}),
        "lstm_training": (4, 3, {"input_forget": False}),
    }  # fmt: skip
    terms: dict[str, Plain] = {"sources": (0, 0, 1, 1), "targets": (1, 5, 4, 3), "sums": 3, "inner": 0}
    inner: dict[str, Plain] = {"sources": (0, 1, 7, 7), "targets": (5, 3, 4, 2), "sums": 3, "inner": 1}
    for n in SIZES:
        for format, precision in ((FLOATS[0], "float32"), (FLOATS[1], "float32"), (FLOATS[1], "bfloat16"), (FLOATS[2], "float32")):
            rows = [(4, 3, 4 * n), (2 * n, n), (4, 3, n), (2, 3, n)]
            for each in (terms, inner):
                yield graph_of("recurrent_gradient", rows, {**each, "reverse": n == 17}, format, held=(1,), precision=precision)
        for op, (gates, functions, own) in kinds.items():
            for count, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional")):
                attrs = {
                    **own,
                    "direction": direction,
                    "activations": ("sigmoid", "tanh", "tanh")[-functions:] * count,
                    "alphas": (0.0,) * functions * count,
                    "betas": (0.0,) * functions * count,
                    "clip": 3.0 if n == 17 else float("inf"),
                }
                weights = [(count, gates * n, 5), (count, gates * n, n), (count, 2 * gates * n)]
                states = [(count, 3, n)] * (2 if gates == 4 else 1)
                shapes = [(4, 3, 5), *weights, (3,), *states]
                formats = ["Float32"] * 4 + ["Int64"] + ["Float32"] * len(states)
                yield graph_of(op, shapes, attrs, formats, limits={4: (0, 5)}, held=(1, 2, 3))
                yield graph_of(op, [(4, 2, 5), *weights], attrs, "Float16_b" if n == 15 else "Float32", held=(1,))
                linear = {**attrs, "linear_before_reset": True} if op == "gru" else attrs
                yield graph_of(op, [(4, 1, 5), *weights[:2]], linear, held=(1, 2))


def movement() -> Iterator[Graph]:
    """Elements in other places."""
    for n in SIZES:
        for format in ALL:
            yield graph_of("transpose", [(2, n, 5)], {"perm": (2, 0, 1)}, format)
            yield graph_of("transpose", [(n, 19)], {"perm": (1, 0)}, format)
            yield graph_of("concat", [(2, n), (2, 3), (2, 1)], {"axis": 1}, format)
            yield graph_of("concat", [(n, 5), (1, 5)], {"axis": -2}, format)
            yield graph_of("pad", [(3, n)], {"before": (1, 2), "after": (0, 3), "value": 1.0}, format)
            yield graph_of("slice", [(5, n + 3)], {"starts": (4, 1), "sizes": (3, n), "steps": (-2, 1)}, format)
            yield graph_of("slice", [(2, 2 * n)], {"starts": (0, 1), "sizes": (2, n), "steps": (1, 2)}, format)
            yield graph_of("broadcast", [(n, 1)], {"shape": (3, n, 7)}, format)
            yield graph_of("reshape", [(3, n)], {"shape": (n, 3)}, format)
            yield graph_of("hslice", [(2, n, 6)], {"n": 3}, format)
            yield graph_of("hstack", [(2, 3, n, 5)], {"n": 3}, format)
            yield graph_of("repeat", [(2, n)], {"axis": 1, "n": 3}, format)
            yield graph_of("relayout", [(2, n)], {}, format)
            yield graph_of("to_host", [(2, n)], {}, format)
            yield graph_of("from_host", [(2, n)], {}, format)
        tiles = {"dim": ("r", "c", "rc")[n % 3], "tile": (3, 5)}
        yield graph_of("tile_broadcast", [(2, 6, 5 * n)], tiles)
        yield graph_of("retile", [(2, 6, 5 * n)], {"source": (3, 5), "kept": (2, 4), "target": (4, 7)})
        yield graph_of("retile", [(2, 6, 5 * n)], {"source": (3, 5), "kept": (2, 1), "target": (2, 1)}, "Float16_b")
        yield graph_of("splice", [(2, 3, n), (4, 3, n)], {"pieces": (0, 1, 1, 0, 2, 2), "units": 6, "granularity": "t"})
        blocks = {"granularity": "ublock", "grid": (1, 1), "mblock": (2, 2), "block": (3, n), "order": "r"}
        yield graph_of("splice", [(1, 6, n), (1, 6, n)], {"pieces": (0, 1, 1, 0, 1, 1), "units": 4, **blocks})
        yield graph_of("sparse_matmul", [(n, 7)], _selection(n, 7))


def _selection(rows: int, columns: int) -> dict[str, Plain]:
    """Sums of neighbours."""
    return {
        "source": (rows,), "sizes": (2, rows), "steps": (1, 1), "offsets": (-1,), "divisors": (1,), "terms": 1, "nearest": False,
        "shape": (rows, columns),
    }  # fmt: skip


def index() -> Iterator[Graph]:
    """Elements that indices choose."""
    for n in SIZES:
        for format in ALL:
            for kind in ("Int32", "Int64"):
                both, limits = (format, kind), {1: (-n, n)}
                yield graph_of("embedding", [(n, 13), (3, 5)], {}, both, limits=limits, held=(0,))
                yield graph_of("gather", [(2, n, 7), (4,)], {"axis": 1}, both, limits=limits)
                yield graph_of("gather", [(n, 7), ()], {"axis": 0}, both, limits=limits)
                yield graph_of("gather_elements", [(3, n), (2, 6)], {"axis": 1}, both, limits=limits)
                yield graph_of("gather_nd", [(2, n, n, 3), (2, 5, 2)], {"batch_dims": 1}, both, limits=limits)
                formats = (format, kind, format)
                for reduction in ("none", "add") if format != "Bool" else ("none",):
                    yield graph_of("scatter_nd", [(n, 2, 7), (4, 1), (4, 2, 7)], {"reduction": reduction}, formats, limits=limits)
                    elements: dict[str, Plain] = {"axis": 1, "reduction": reduction}
                    yield graph_of("scatter_elements", [(3, n), (2, 6), (2, 6)], elements, formats, limits=limits)


def trees() -> Iterator[Graph]:
    """Ensembles of trees: a chain of nodes whose second branches are leaves, walked by as many trees from different nodes."""
    for n in SIZES:
        chain = [[i % 3, i % 2, i + 1 if i + 1 < n else -1, -2 - i] for i in range(n)]
        values = {1: np.array(chain, np.int32), 3: np.arange(n, dtype=np.int32)[::-1].copy()}
        for format in (*FLOATS, "Float64"):
            for width, of in ((1, 1), (3, 3), (2, 5)):
                shapes: list[Shape | None] = [(n + 2, 3), (n, 4), (n,), (n,), (n + 1, width)]
                formats = [format, "Int32", format, "Int32", format, "Int32"]
                shapes += [(n + 1, width)] if width != of else []
                attrs: dict[str, Plain] = {"aggregate": ("sum", "min", "max")[n % 3], "count": of}
                held = (1, 2, 3, 4) if n % 2 and format != "Half" else ()
                yield graph_of("tree_ensemble", shapes, attrs, formats[: len(shapes)], limits={5: (-1, of)}, values=values, held=held)


FAMILIES = {
    "products": products, "integers": integers, "convolutions": convolutions, "pools": pools, "rows": rows, "elementwise": elementwise,
    "layers": layers, "movement": movement, "index": index, "trees": trees,
}  # fmt: skip
