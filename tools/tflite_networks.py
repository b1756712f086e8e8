"""Networks as TFLite files, converted by TensorFlow, and what its interpreter gives for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CALIBRATION = 8
"""The number of images that the ranges of integers are taken from."""


def converted(model: Any, *, calibration: NDArray | None = None) -> bytes:
    """Return a Keras model as a TFLite file; calibration: images, with which all of it but its borders computes on 8-bit integers."""
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if calibration is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([image[None]] for image in calibration)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    return converter.convert()


def interpreted(data: bytes, images: NDArray) -> tuple[list[NDArray], list[float]]:
    """Return outputs of TensorFlow's interpreter, and for each the step of the integers that it was made of, or 0."""
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(model_content=data)
    (given,) = interpreter.get_input_details()
    interpreter.resize_tensor_input(given["index"], images.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given["index"], images)
    interpreter.invoke()
    details = interpreter.get_output_details()
    sources = {op["outputs"][0]: op["inputs"][0] for op in interpreter._get_ops_details() if op["op_name"] == "DEQUANTIZE"}  # noqa: SLF001
    steps = {d["index"]: float(d["quantization"][0]) for d in interpreter.get_tensor_details()}
    found = [np.array(interpreter.get_tensor(d["index"])) for d in details]
    return found, [steps.get(sources.get(d["index"], -1), 0.0) for d in details]


def save_real(model: Any, images: NDArray, path: Path) -> tuple[list[NDArray], list[float]]:
    """Save in floating point; returns outputs, and how much each may differ."""
    data = converted(model)
    path.write_bytes(data)
    found, _ = interpreted(data, images)
    return found, [1e-4 * max(1.0, float(np.abs(y).max())) for y in found]


def save_integers(model: Any, images: NDArray, path: Path) -> tuple[list[NDArray], list[float]]:
    """Save on 8-bit integers; returns outputs, and for each two of its steps."""
    rng = np.random.default_rng(1)
    others = rng.uniform(images.min(), images.max(), (CALIBRATION - len(images), *images.shape[1:])).astype(np.float32)
    data = converted(model, calibration=np.concatenate([images, others]))
    path.write_bytes(data)
    found, steps = interpreted(data, images)
    return found, [2.001 * step for step in steps]
