"""Networks of keras.applications with random weights from a fixed seed, as TensorFlow saves them, and its own outputs for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tflite_networks

SAMPLES = 2


@dataclass(frozen=True)
class Network:
    """A network of keras.applications.  size: pixels of the images' sides; largest: value of a pixel, for networks that scale images
    themselves.
    """

    size: int = 224
    largest: float = 1.0


NETWORKS: Mapping[str, Network] = MappingProxyType(
    {
        "ResNet50": Network(),
        "MobileNetV2": Network(),
        "MobileNetV3Small": Network(largest=255.0),
        "EfficientNetB0": Network(largest=255.0),
        "DenseNet121": Network(),
        "InceptionV3": Network(299),
        "Xception": Network(299),
        "NASNetMobile": Network(),
        "ConvNeXtTiny": Network(largest=255.0),
    }
)


def build(name: str) -> tuple[Any, NDArray]:
    """Return a Keras model without the softmax at its end, whose statistics are not those of an untrained one, and images for it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    network = NETWORKS[name]
    shape = (network.size, network.size, 3)
    model = getattr(keras.applications, name)(weights=None, classifier_activation=None, input_shape=shape)
    rng = np.random.default_rng(0)
    for variable in model.variables:
        _settle(variable, rng)
    images = rng.uniform(0, network.largest, (SAMPLES, *shape)).astype(np.float32)
    return model, images


def _settle(variable: Any, rng: np.random.Generator) -> None:
    """Give scales, shifts and statistics other values than those they are made with, which hide mistakes."""
    kind = variable.path.rpartition("/")[2]
    if kind in ("moving_variance", "gamma") and "layer_scale" not in variable.path:
        variable.assign(rng.uniform(0.5, 1.5, variable.shape))
    elif kind in ("moving_mean", "beta", "bias"):
        variable.assign(rng.normal(0, 0.1, variable.shape))


def outputs(model: Any, images: NDArray) -> list[NDArray]:
    """Return TensorFlow's own outputs, in order."""
    found = model.predict(images, verbose=0)
    return [np.asarray(y) for y in (found if isinstance(found, list) else [found])]


@dataclass(frozen=True)
class Expected:
    """The outputs that a saved network should give for the images, and by how much each may differ."""

    outputs: list[NDArray]
    bounds: list[float]

    @classmethod
    def of(cls, outputs: list[NDArray]) -> Expected:
        """Return expected outputs that may differ by the project's bound for floating point."""
        return cls(outputs, [1e-4 * max(1.0, float(np.abs(y).max())) for y in outputs])


@dataclass(frozen=True)
class Format:
    """A format in which TensorFlow saves networks.

    Args:
        file: name of the file or folder.
        save: writes a model there; the images may calibrate it.  Gives what to expect if that is not what the model itself gives.
        networks: that are saved so.
    """

    file: str
    save: Callable[[Any, NDArray, Path], Expected | None]
    networks: tuple[str, ...] = tuple(NETWORKS)


def save_folder(model: Any, images: NDArray, path: Path) -> None:
    """Save as a SavedModel."""
    model.export(path, verbose=False)


def save_keras(model: Any, images: NDArray, path: Path) -> None:
    """Save as a Keras file."""
    model.save(path)


def save_tflite(model: Any, images: NDArray, path: Path) -> Expected:
    """Save as a TFLite file, compared with TensorFlow's interpreter of these."""
    return Expected(*tflite_networks.save_real(model, images, path))


def save_tflite_int8(model: Any, images: NDArray, path: Path) -> Expected:
    """Save as a TFLite file that computes on integers, whose outputs may differ by two of their steps."""
    return Expected(*tflite_networks.save_integers(model, images, path))


_MOBILE = ("ResNet50", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0")
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "SavedModel": Format("saved", save_folder),
        "keras": Format("model.keras", save_keras),
        "tflite": Format("model.tflite", save_tflite, _MOBILE),
        "tflite-int8": Format("model.tflite", save_tflite_int8, _MOBILE),
    }
)
