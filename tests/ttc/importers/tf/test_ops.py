"""The mappings of TensorFlow's ops, each beside TensorFlow's own result: many ops a function, as a compilation costs more than an op."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402

RAW = tf.raw_ops


def test_elementwise(tmp_path: Path) -> None:
    def function(x: Any, y: Any) -> dict[str, Any]:
        z = tf.abs(x) + 0.1
        unary = {
            name: getattr(RAW, name)(x=x) for name in ("Abs Neg Sign Exp Floor Ceil Sin Cos Atan Sinh Cosh Asinh Erf Tanh Sigmoid").split()
        }
        positive = {name: getattr(RAW, name)(x=z) for name in ("Log Sqrt Rsqrt Reciprocal Log1p").split()}
        near = {name: getattr(RAW, name)(x=tf.tanh(x) * 0.9) for name in "Asin Acos Atanh Tan Expm1 Erfc".split()}
        acosh = {"Acosh": RAW.Acosh(x=z + 1.0)}
        features = {name: getattr(RAW, name)(features=x) for name in "Relu Relu6 Elu Selu Softplus Softsign LeakyRelu".split()}
        return {
            **unary,
            **positive,
            **near,
            **acosh,
            **features,
            "Round": tf.round(x * 3),
            "Rint": RAW.Rint(x=x * 3),
            "Square": tf.square(x),
        }

    check(function, normal(3, 5) * 2, normal(5), folder=tmp_path)


def test_elementwise_of_two(tmp_path: Path) -> None:
    def function(x: Any, y: Any) -> dict[str, Any]:
        names = "AddV2 Sub Mul Maximum Minimum RealDiv DivNoNan MulNoNan SquaredDifference FloorDiv FloorMod Xlogy".split()
        found = {name: getattr(RAW, name)(x=x, y=tf.abs(y) if name == "Xlogy" else y) for name in names}
        compared = {name: getattr(RAW, name)(x=x, y=y) for name in "Less LessEqual Greater GreaterEqual Equal NotEqual".split()}
        p, q = x > 0, y > 0
        logic = {"and": p & q, "or": p | q, "not": ~p, "xor": tf.math.logical_xor(p, q)}
        chosen = {"where": tf.where(p, x, y), "select": RAW.Select(condition=x[:, 0] > 0, x=x, y=x * 2)}
        more = {"pow": tf.pow(tf.abs(x) + 0.5, y), "atan2": tf.atan2(x, y), "add_n": tf.add_n([x, x * 2, x * 3])}
        clip = {"clip": tf.clip_by_value(x, -0.5, 0.5), "finite": tf.math.is_finite(x / 0.0), "nan": tf.math.is_nan(x * 0.0 / 0.0)}
        return {**found, **compared, **logic, **chosen, **more, **clip}

    check(function, normal(3, 5), normal(5, seed=1), folder=tmp_path)


def test_integers_and_casts(tmp_path: Path) -> None:
    def function(i: Any, j: Any, x: Any) -> dict[str, Any]:
        names = "AddV2 Sub Mul Maximum Minimum FloorDiv FloorMod TruncateDiv TruncateMod BitwiseAnd BitwiseOr BitwiseXor".split()
        found = {name: getattr(RAW, name)(x=i, y=j) for name in names}
        casts = {str(t.name): tf.cast(x, t) for t in (tf.int32, tf.int64, tf.int8, tf.float64, tf.float16, tf.bool)}
        return {**found, **casts, "mean": tf.reduce_mean(i, axis=1), "divided": i / j, "abs": tf.abs(i)}

    i = np.array([[7, -7, 5], [-5, 0, 9]], np.int32)
    check(function, i, np.array([2, 3, -4], np.int32), normal(2, 3) * 4, folder=tmp_path)


def test_reductions(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        names = "sum mean max min prod euclidean_norm".split()
        found = {f"{n} {a} {k}": _reduce(n)(x, a, keepdims=k) for n in names for a, k in (((1,), True), ((-1, 0), False), (None, False))}
        p = x > 0
        places = {"argmax": tf.argmax(x, 1), "argmin": tf.argmin(x, -1, tf.int32), "any": tf.reduce_any(p, 1), "all": tf.reduce_all(p, 0)}
        values, indices = tf.math.top_k(x, 2)
        sums = {"cumsum": tf.cumsum(x, 1), "reversed": tf.cumsum(x, 1, True, True), "cumprod": tf.math.cumprod(x, -1)}
        soft = {"softmax": tf.nn.softmax(x), "log": tf.nn.log_softmax(x), "logsumexp": tf.reduce_logsumexp(x, 1), "l2": tf.nn.l2_loss(x)}
        return {**found, **places, **sums, **soft, "top values": values, "top indices": indices}

    check(function, normal(2, 3, 4), folder=tmp_path)


def _reduce(name: str) -> Any:
    return getattr(tf.math, f"reduce_{name}")


def test_shapes(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        made = {"reshape": tf.reshape(x, [4, -1]), "squeeze": tf.squeeze(x[:1, None]), "expand": tf.expand_dims(x, -2)}
        moved = {"transpose": tf.transpose(x, [2, 0, 1]), "concat": tf.concat([x, x * 2], -1), "stack": tf.stack([x, -x], 1)}
        parts = {f"part{i}": p for i, p in enumerate((*tf.split(x, 2, 2), *tf.split(x, [1, -1], 1), *tf.unstack(x, axis=1)))}
        tiled = {"tile": tf.tile(x, [1, 2, 3]), "broadcast": tf.broadcast_to(x[:, :1], [2, 5, 4]), "repeat": tf.repeat(x, 2, axis=1)}
        sizes = {"shape": tf.shape(x), "shape64": tf.shape(x, tf.int64), "size": tf.size(x) + 0, "rank": tf.rank(x) + 0}
        filled = {"zeros": tf.zeros_like(x), "ones": tf.ones_like(x), "fill": tf.fill(tf.shape(x)[:2], 3.0)}
        dynamic = {"flat": tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1] * tf.shape(x)[2]]), "range": tf.range(tf.shape(x)[1]) * 2}
        return {**made, **moved, **parts, **tiled, **sizes, **filled, **dynamic, "linspace": tf.linspace(0.0, 1.0, 5) + x[0, 0, 0]}

    check(function, normal(2, 3, 4), folder=tmp_path)


def test_parts(tmp_path: Path) -> None:
    def function(x: Any, i: Any) -> dict[str, Any]:
        cut = {
            "slice": tf.slice(x, [0, 1, 1], [2, -1, 2]),
            "steps": x[:, ::-1, 1::2],
            "ellipsis": x[..., 0],
            "new": x[:, None, 1],
            "last": x[-1],
        }
        pads = [[0, 0], [1, 2], [2, 1]]
        padded = {m: tf.pad(x, pads, m) for m in ("REFLECT", "SYMMETRIC")}
        constant = {"pad": tf.pad(x, pads), "pad v2": tf.pad(x, pads, constant_values=1.5)}
        gathered = {"gather": tf.gather(x, i, axis=1), "batch": tf.gather(x, [[0, 2], [1, 1]], axis=1, batch_dims=1)}
        nd = {"gather_nd": tf.gather_nd(x, [[0, 1], [1, 2]]), "scatter_nd": tf.scatter_nd([[0], [2], [0]], x[0], [3, 4])}
        updated = {"update": tf.tensor_scatter_nd_update(x, [[1]], x[:1]), "added": tf.tensor_scatter_nd_add(x, [[1]], x[:1])}
        hot = {"one_hot": tf.one_hot(i, 4), "axis": tf.one_hot(i, 4, on_value=2.0, off_value=-1.0, axis=0)}
        bands = {"band": tf.linalg.band_part(x, 1, 0), "reverse": tf.reverse(x, [1, -1]), "roll": tf.roll(x, [1, -1], [0, 2])}
        return {
            **cut,
            **padded,
            **constant,
            **gathered,
            **nd,
            **updated,
            **hot,
            **bands,
            "sequence": tf.reverse_sequence(x, [1, 3], seq_axis=1),
        }

    check(function, normal(2, 3, 4), np.array([2, 0, 1], np.int32), folder=tmp_path)


def test_places_whose_number_depends_on_data(tmp_path: Path) -> None:
    check(lambda x: {"where": tf.where(x > 0)}, normal(3, 4), folder=tmp_path)


def test_products(tmp_path: Path) -> None:
    def function(a: Any, b: Any, c: Any) -> dict[str, Any]:
        flat = {
            "plain": tf.matmul(a[0], b[0]),
            "transposed": tf.matmul(a[0], c[0], transpose_b=True),
            "first": tf.matmul(b[0], c[0], True, True),
        }
        batched = {"batched": tf.matmul(a, b), "adjoint": tf.matmul(a, c, adjoint_b=True), "broadcast": tf.matmul(a, b[0])}
        sums = {"einsum": tf.einsum("bij,bjk->bik", a, b), "heads": tf.einsum("bij,bkj->ki", a, c), "dot": tf.tensordot(a, b, [[2], [1]])}
        return {**flat, **batched, **sums, "bias": tf.nn.bias_add(tf.matmul(a[0], b[0]), b[0, 0])}

    check(function, normal(2, 3, 4), normal(2, 4, 5, seed=1), normal(2, 5, 4, seed=2), folder=tmp_path)


def test_convolutions(tmp_path: Path) -> None:
    def function(x: Any, w: Any, d: Any, g: Any, v: Any) -> dict[str, Any]:
        conv = {f"{p} {s} {e}": tf.nn.conv2d(x, w, s, p, dilations=e) for p in ("SAME", "VALID") for s, e in ((1, 1), (2, 1), (1, 2))}
        explicit = {"explicit": tf.nn.conv2d(x, w, 2, [[0, 0], [1, 2], [0, 1], [0, 0]])}
        deep = {f"deep {p} {s}": tf.nn.depthwise_conv2d(x, d, [1, s, s, 1], p) for p in ("SAME", "VALID") for s in (1, 2)}
        wide = {"dilated": tf.nn.depthwise_conv2d(x, d, [1, 1, 1, 1], "SAME", dilations=[2, 2]), "groups": tf.nn.conv2d(x, g, 1, "SAME")}
        line = {"one": tf.nn.conv1d(x[:, 0], w[0], 2, "SAME"), "separable": tf.nn.separable_conv2d(x, d, v, [1, 1, 1, 1], "SAME")}
        return {**conv, **explicit, **deep, **wide, **line}

    weights = normal(3, 3, 4, 6, seed=1), normal(3, 3, 4, 2, seed=2), normal(3, 3, 2, 6, seed=3), normal(1, 1, 8, 5, seed=4)
    check(function, normal(2, 9, 8, 4), *weights, folder=tmp_path)


def test_transposed_convolutions(tmp_path: Path) -> None:
    def function(x: Any, w: Any) -> dict[str, Any]:
        sizes = {("SAME", 2): (10, 8), ("SAME", 1): (5, 4), ("VALID", 2): (11, 9), ("VALID", 1): (7, 6)}
        return {f"{p} {s}": tf.nn.conv2d_transpose(x, w, [2, h, v, 6], s, p) for (p, s), (h, v) in sizes.items()}

    check(function, normal(2, 5, 4, 3), normal(3, 3, 6, 3, seed=1), folder=tmp_path)


def test_three_dimensions(tmp_path: Path) -> None:
    def function(x: Any, w: Any) -> dict[str, Any]:
        conv = {p: tf.nn.conv3d(x, w, [1, 2, 1, 1, 1], p) for p in ("SAME", "VALID")}
        up = {"transposed": tf.nn.conv3d_transpose(x, tf.transpose(w, [0, 1, 2, 4, 3]), [1, 8, 10, 10, 3], 2, "SAME")}
        return {**conv, **up, "max": tf.nn.max_pool3d(x, 2, 2, "SAME"), "avg": tf.nn.avg_pool3d(x, 2, 1, "VALID")}

    check(function, normal(1, 4, 5, 5, 2), normal(2, 3, 3, 2, 3, seed=1), folder=tmp_path)


def test_channels_first(tmp_path: Path) -> None:
    """TensorFlow's own kernels for the CPU take channels last alone: the same numbers, transposed."""

    def function(x: Any, w: Any) -> dict[str, Any]:
        scale = [tf.ones(6), tf.zeros(6), tf.fill([6], 0.5), tf.fill([6], 2.0)]
        y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME")
        norm = RAW.FusedBatchNormV3(x=y, scale=scale[0], offset=scale[1], mean=scale[2], variance=scale[3], is_training=False)
        return {"conv": y, "norm": norm.y, "max": tf.nn.max_pool2d(y, 3, 2, "SAME"), "avg": tf.nn.avg_pool2d(y, 3, 2, "SAME")}

    check(function, normal(2, 8, 8, 3), normal(3, 3, 3, 6, seed=1), folder=tmp_path)


def test_images(tmp_path: Path) -> None:
    def function(x: Any, u: Any) -> dict[str, Any]:
        flags = [(a, h) for a in (False, True) for h in (False, True) if not (a and h)]
        linear = {f"linear {a} {h}": RAW.ResizeBilinear(images=x, size=[7, 9], align_corners=a, half_pixel_centers=h) for a, h in flags}
        near = {f"near {a} {h}": RAW.ResizeNearestNeighbor(images=x, size=[7, 9], align_corners=a, half_pixel_centers=h) for a, h in flags}
        small = {
            "small": tf.image.resize(x, [2, 3]),
            "bytes": tf.image.resize(u, [8, 8], "nearest"),
            "up": tf.image.resize(x, [8, 8], "bicubic"),
        }
        blocks = {"depth": tf.nn.space_to_depth(x, 2), "space": tf.nn.depth_to_space(x, 2)}
        batches = {
            "batch": tf.space_to_batch(x, [2, 2], [[1, 1], [0, 2]]),
            "unbatch": tf.batch_to_space(tf.tile(x, [2, 1, 1, 1]), [2, 2], [[1, 0], [0, 2]]),
        }
        return {**linear, **near, **small, **blocks, **batches, "lrn": tf.nn.lrn(x, 1, 0.5, 0.2, 0.75)}

    check(function, normal(2, 4, 6, 8), np.arange(96, dtype=np.uint8).reshape(2, 4, 4, 3), folder=tmp_path)


def test_rounding_for_quantization(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        ranges = [(-1.0, 2.0), (0.1, 3.0), (-2.5, -0.2)]
        args = {
            f"{low} {high} {n}": tf.quantization.fake_quant_with_min_max_args(x, low, high, 8, n)
            for low, high in ranges
            for n in (False, True)
        }
        channels = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2.0, 0.0, -3.0], [1.0, 0.5, 2.0, 4.0], 4)
        return {**args, "vars": tf.quantization.fake_quant_with_min_max_vars(x, -1.5, 1.0), "channels": channels}

    check(function, normal(3, 4) * 2, folder=tmp_path)


def test_loops_and_branches_known_at_import(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        _, total = tf.while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, y * 0.5 + x[i]), [0, tf.zeros(4)])
        steps = tf.TensorArray(tf.float32, 5)
        for i in tf.range(5):
            steps = steps.write(i, x[i] * tf.cast(i, tf.float32))
        chosen = tf.cond(tf.shape(x)[0] > 3, lambda: x[0], lambda: x[1] * 2)
        case = tf.switch_case(tf.constant(1), [lambda: x[0], lambda: x[1], lambda: x[2]])
        return {"while": total, "array": steps.stack(), "cond": chosen, "case": case}

    check(function, normal(5, 4), folder=tmp_path)


def test_loops_and_branches_that_data_decides(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        branch = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)
        halved = tf.while_loop(lambda y: tf.reduce_max(y) > 0.1, lambda y: (y * 0.5,), [x])[0]
        return {"cond": branch, "while": halved}

    check(function, normal(3, 4), folder=tmp_path)


def test_variables_and_constants(tmp_path: Path) -> None:
    table, scale = tf.Variable(normal(10, 4), name="table"), tf.Variable(2.0, name="scale")
    large = normal(300, 4, seed=3)

    def function(i: Any) -> dict[str, Any]:
        rows = tf.nn.embedding_lookup(table, i)
        return {"rows": rows, "scaled": rows * scale, "large": tf.gather(tf.constant(large), i), "shape": tf.shape(table) + 0}

    check(function, np.array([1, 9, 0], np.int32), folder=tmp_path)


def test_loops_too_long_to_unroll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttc.importers.tf.control.MAX_TRIPS", 3)

    def function(x: Any) -> dict[str, Any]:
        return {"while": tf.while_loop(lambda i, _: i < 9, lambda i, y: (i + 1, y * 0.5 + 1), [0, x])[1]}

    check(function, normal(3), folder=tmp_path)


def test_fourier_transforms_boxes_and_counts(tmp_path: Path) -> None:
    def function(x: Any, i: Any) -> dict[str, Any]:
        half = tf.signal.rfft(x, [10])
        whole = tf.signal.fft2d(tf.complex(x, -x))
        spectra = {"real": tf.math.real(half), "abs": tf.abs(half), "back": tf.signal.irfft(half, [10]), "2d": tf.math.imag(whole)}
        spectra["inverse"] = tf.math.real(tf.signal.ifft(tf.math.conj(whole)))
        boxes = tf.constant([[0.0, 0, 1, 1], [0, 0, 1, 1.05], [2, 2, 3, 3]])
        chosen = tf.image.non_max_suppression(boxes, x[:3, 0], 3, 0.5)
        counts = {
            "counts": tf.math.bincount(i, minlength=5, maxlength=5, axis=-1),
            "buckets": RAW.Bucketize(input=x, boundaries=[-0.5, 0.5]),
        }
        return {**spectra, **counts, "boxes": chosen, "inverted": tf.math.invert_permutation([2, 0, 1]) + i[0, 0]}

    check(function, normal(3, 8), np.array([[1, 2, 2], [4, 0, 1]], np.int32), folder=tmp_path)
