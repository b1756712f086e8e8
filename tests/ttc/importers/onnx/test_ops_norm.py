"""Normalisations and dropout against onnx's reference evaluator, or the formula where it has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttc
from tests.ttc.importers.onnx.cases import check, check_node, imported, node_model, normal, save
from ttc.dialects.core.errors import Error

X = normal(2, 4, 3, 5)
CHANNELS = [normal(4), normal(4), normal(4), np.abs(normal(4))]


def normalised(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + np.float32(1e-5))


@pytest.mark.parametrize("opset", [9, 14, 15])
def test_batch_normalization(opset: int, tmp_path: Path) -> None:
    scale, bias, mean, var = CHANNELS
    model, feeds = node_model("BatchNormalization", X, *CHANNELS, opset=opset, epsilon=1e-3)
    scale, bias, mean, var = (v.reshape(4, 1, 1) for v in (scale, bias, mean, var))
    check(model, feeds, tmp_path, wanted=[(X - mean) / np.sqrt(var + np.float32(1e-3)) * scale + bias])


def test_batch_normalization_in_training_moves_the_statistics(tmp_path: Path) -> None:
    scale, bias, mean, var = CHANNELS
    model, feeds = node_model("BatchNormalization", X, *CHANNELS, opset=15, training_mode=1, momentum=0.75, outputs=3)
    now, spread = X.mean(axis=(0, 2, 3)), X.var(axis=(0, 2, 3))
    columns = [v.reshape(4, 1, 1) for v in (scale, bias, now, spread)]
    y = (X - columns[2]) / np.sqrt(columns[3] + np.float32(1e-5)) * columns[0] + columns[1]
    moved = [np.float32(0.75) * old + np.float32(0.25) * new for old, new in ((mean, now), (var, spread))]
    check(model, feeds, tmp_path, wanted=[y, *moved])


@pytest.mark.parametrize(("axis", "shape"), [(-1, (5,)), (2, (3, 5)), (1, (4, 3, 5)), (-2, (5,)), (2, (3, 1))])
def test_layer_normalization(axis: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    scale, bias = normal(*shape), normal(*shape)
    model, feeds = node_model("LayerNormalization", X, scale, bias, axis=axis)
    wanted = normalised(X, tuple(range(axis % 4, 4))) * scale + bias
    check(model, feeds, tmp_path, wanted=[wanted])


def test_layer_normalization_without_bias(tmp_path: Path) -> None:
    check_node(tmp_path, "LayerNormalization", X, normal(5))


@pytest.mark.parametrize("axis", [1, -1])
def test_layer_normalization_gives_means_and_deviations_if_asked(axis: int, tmp_path: Path) -> None:
    check_node(tmp_path, "LayerNormalization", X, np.ones(X.shape[axis % 4 :], np.float32), axis=axis, outputs=3)


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 7, 2, 3), (2, 4, 3, 2, 2)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_lrn(size: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    x = normal(*shape)
    model, feeds = node_model("LRN", x, size=size, alpha=0.3, beta=0.6, bias=1.5)
    padded = np.pad(x**2, [(0, 0), ((size - 1) // 2, size // 2)] + [(0, 0)] * (len(shape) - 2))
    total = sum(padded[:, i : i + shape[1]] for i in range(size))
    check(model, feeds, tmp_path, wanted=[x / (1.5 + 0.3 / size * total) ** np.float32(0.6)])


def test_lrn_of_too_many_channels_is_refused(tmp_path: Path) -> None:
    model, feeds = node_model("LRN", normal(1, 4097, 1), size=3)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0402"


def test_rms_normalization(tmp_path: Path) -> None:
    scale = normal(3, 5)
    model, feeds = node_model("RMSNormalization", X, scale, opset=23, axis=2)
    check(model, feeds, tmp_path, wanted=[X / np.sqrt((X**2).mean(axis=(2, 3), keepdims=True) + np.float32(1e-5)) * scale])


def test_instance_normalization(tmp_path: Path) -> None:
    check_node(tmp_path, "InstanceNormalization", X, normal(4), normal(4))


@pytest.mark.parametrize(("opset", "size"), [(18, 2), (21, 4)])
def test_group_normalization(opset: int, size: int, tmp_path: Path) -> None:
    scale, bias = normal(size), normal(size)
    model, feeds = node_model("GroupNormalization", X, scale, bias, opset=opset, num_groups=2)
    scale, bias = (np.repeat(v, 4 // size).reshape(4, 1, 1) for v in (scale, bias))
    wanted = normalised(X.reshape(2, 2, 30), (2,)).reshape(X.shape) * scale + bias
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(p: int, tmp_path: Path) -> None:
    x = X.copy()
    x[0, 0, 0] = 0
    model, feeds = node_model("LpNormalization", x, p=p, axis=-1, opset=22)
    norm = np.linalg.norm(x, ord=p, axis=-1, keepdims=True)
    check(model, feeds, tmp_path, wanted=[np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(np.float32)])


def test_lp_normalization_of_zeros_where_selection_is_multiplication(tmp_path: Path) -> None:
    model, feeds = node_model("LpNormalization", np.zeros((3, 4), np.float32), p=1, axis=-1, opset=22)
    program = ttc.compile(save(model, tmp_path), target="n150", kernels="buda")
    (found,) = ttc.Executor(program).run(feeds).values()
    np.testing.assert_array_equal(found, np.zeros((3, 4), np.float32))


@pytest.mark.parametrize(("opset", "attrs"), [(7, {"ratio": 0.3}), (12, {})])
def test_dropout_is_the_operand(opset: int, attrs: dict[str, float], tmp_path: Path) -> None:
    model, feeds = node_model("Dropout", X, opset=opset, **attrs)
    check(model, feeds, tmp_path, wanted=[X])


def test_dropout_s_mask_keeps_everything(tmp_path: Path) -> None:
    model, feeds = node_model("Dropout", X, opset=13, outputs=2)
    check(model, feeds, tmp_path, wanted=[X, np.ones(X.shape, bool)])
