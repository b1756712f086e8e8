"""Train small Keras networks from their files, where no framework is loaded, and compare with TensorFlow's gradients in float64.

    python tools/check_keras_training.py [--networks mlp,lstm] [--accumulate 1,4]

Each network is written as `.keras` and as SavedModel, and trained with momentum by `training_files.py`, an update of 16 rows at once or as
four microbatches.  The reference is a tape of TensorFlow over the same network in float64, and a plain loop over updates and, as batch
norms take the statistics of one, their microbatches.  Figures and bounds are those of `check_training.py`.  Exit status 1 if one is above
its bound.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import checkout  # noqa: F401

os.environ["TF_CPP_MIN_LOG_LEVEL"], os.environ["KERAS_BACKEND"] = "3", "tensorflow"
ROWS, STEPS, RATE, MOMENTUM = 16, 20, 0.02, 0.9
CLASSES, WORDS, IMAGE = 10, 40, (16, 16, 3)
GRADIENTS, WEIGHTS = 4e-4, 1e-3
"""Bounds of relative L2 errors."""
WORKER = Path(__file__).with_name("training_files.py")
Arrays = Mapping[str, NDArray[Any]]


def mlp(keras: Any) -> Any:
    """Make three linear layers."""
    make = keras.layers
    return keras.Sequential([keras.Input((16,)), make.Dense(24, "tanh"), make.Dense(24, "relu"), make.Dense(CLASSES)])


def cnn(keras: Any) -> Any:
    """Make two convolutions with a max pool, and a linear layer."""
    make = keras.layers
    stages = [make.Conv2D(8, 3, padding="same", activation="relu"), make.MaxPooling2D(), make.Conv2D(12, 3, 2, activation="relu")]
    return keras.Sequential([keras.Input(IMAGE), *stages, make.Flatten(), make.Dense(CLASSES)])


def resnet(keras: Any) -> Any:
    """Make two residual blocks with batch norms."""
    make = keras.layers

    def conv(x: Any, channels: int, size: int, stride: int = 1) -> Any:
        return make.Conv2D(channels, size, strides=stride, padding="same", use_bias=False)(x)

    start = keras.Input(IMAGE)
    x = conv(start, 8, 3)
    for channels, stride in ((8, 1), (12, 2)):
        y = make.ReLU()(make.BatchNormalization()(conv(x, channels, 3, stride)))
        y = make.BatchNormalization()(conv(y, channels, 3))
        x = make.ReLU()(make.Add()([y, x if stride == 1 else conv(x, channels, 1, stride)]))
    return keras.Model(start, make.Dense(CLASSES)(make.GlobalAveragePooling2D()(x)))


def lstm(keras: Any) -> Any:
    """Make two recurrent layers over words."""
    make = keras.layers
    cells = [make.Embedding(WORDS, 16), make.LSTM(12, return_sequences=True), make.LSTM(12)]
    return keras.Sequential([keras.Input((9,)), *cells, make.Dense(CLASSES)])


NETWORKS: dict[str, Callable[[Any], Any]] = {"mlp": mlp, "cnn": cnn, "resnet": resnet, "lstm": lstm}


Wanted = tuple[list[NDArray[Any]], list[NDArray[Any]]]
"""The gradients of the first update and the weights after all, by variable."""


def reference(network: Any, x: NDArray[Any], y: NDArray[Any], accumulate: int) -> Wanted:
    """Train in so many microbatches an update; x[steps, rows, ...], y[steps, rows]."""
    variables = network.trainable_variables
    speeds, first = [np.zeros(v.shape) for v in variables], []
    for rows, target in zip(x, y, strict=True):
        parts = zip(np.split(rows, accumulate), np.split(target, accumulate), strict=True)
        gradients = [np.mean(each, axis=0) for each in zip(*(gradients_of(network, *part) for part in parts), strict=True)]
        first = first or gradients
        for index, (variable, gradient) in enumerate(zip(variables, gradients, strict=True)):
            speeds[index] = MOMENTUM * speeds[index] + gradient
            variable.assign(variable.numpy() - RATE * speeds[index])
    return first, [v.numpy() for v in variables]


def gradients_of(network: Any, rows: NDArray[Any], target: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the gradients of the mean loss of some rows, by variable."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        scores = network(rows.astype(np.float64), training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=scores))
    return [np.array(tf.convert_to_tensor(g)) for g in tape.gradient(loss, [v.value for v in network.trainable_variables])]


def write(name: str, folder: Path, counts: Sequence[int]) -> list[Wanted]:
    """Write the network's files and its rows; returns what the reference gives for each number of microbatches."""
    import keras

    def made(dtype: str) -> Any:
        keras.config.set_floatx(dtype)
        return NETWORKS[name](keras)

    keras.utils.set_random_seed(1)
    network, draws = made("float32"), np.random.default_rng(0)
    shape = (STEPS, ROWS, *network.input_shape[1:])
    x = draws.integers(0, WORDS, shape).astype(np.float32) if name == "lstm" else draws.standard_normal(shape).astype(np.float32)
    y = draws.integers(0, CLASSES, (STEPS, ROWS))
    np.savez(folder / "rows.npz", x=x, y=y)
    network.save(folder / "m.keras")
    network.export(folder / "saved", verbose=False)
    wide, found = made("float64"), list[Wanted]()
    for count in counts:
        wide.set_weights([weight.astype(np.float64) for weight in network.get_weights()])
        found.append(reference(wide, x, y, count))
    return found


def trained(folder: Path, file: str, accumulate: int) -> tuple[Arrays, Arrays]:
    """Return gradients and weights by name, of a process in which no framework is loaded."""
    files = [str(folder / name) for name in ("rows.npz", "weights.npz")]
    optimizer = f"sgd:lr={RATE},momentum={MOMENTUM}"
    command = [sys.executable, str(WORKER), str(folder / file), "cross_entropy", optimizer, str(accumulate), *files]
    subprocess.run([*command, str(ROWS // accumulate)], check=True)
    with np.load(files[1]) as found:
        arrays = {key: found[key] for key in found.files}
    gradients = {key.removeprefix("gradient."): value for key, value in arrays.items() if key.startswith("gradient.")}
    return gradients, {key: arrays[f"weight.{key}"] for key in gradients}


def errors(found: tuple[Arrays, Arrays], wanted: Wanted) -> tuple[float, float]:
    """Return the largest relative L2 error of a gradient, and that of all weights.

    A file has names of its own: a variable is the parameter of its shape whose gradient is nearest.
    """
    left, worst, square, whole = dict(found[0]), 0.0, 0.0, 0.0
    for gradient, weight in zip(*wanted, strict=True):
        alike = [(float(np.linalg.norm(value - gradient)), name) for name, value in left.items() if value.shape == gradient.shape]
        if not alike:
            return float("inf"), float("inf")
        distance, name = min(alike)
        del left[name]
        worst = max(worst, distance / float(np.linalg.norm(gradient)))
        square, whole = square + float(np.square(found[1][name] - weight).sum()), whole + float(np.square(weight).sum())
    return worst, (square / whole) ** 0.5


def main() -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--accumulate", default="1,4", help="microbatches of an update")
    options = parser.parse_args()
    right, counts = True, [int(count) for count in options.accumulate.split(",")]
    for name in options.networks.split(","):
        with tempfile.TemporaryDirectory() as text:
            references = write(name, Path(text), counts)
            for file in ("m.keras", "saved"):
                for accumulate, wanted in zip(counts, references, strict=True):
                    gradients, weights = errors(trained(Path(text), file, accumulate), wanted)
                    right = right and gradients <= GRADIENTS and weights <= WEIGHTS
                    print(f"{name:8} {file:8} {accumulate}  gradients {gradients:.0e}  weights {weights:.0e}", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
