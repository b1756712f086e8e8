"""Keras files: one that is right, and those that must be refused before anything of them is built."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

keras = pytest.importorskip("keras", reason="TensorFlow is not installed: it has no build for this Python")
h5py = pytest.importorskip("h5py", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import agree, normal, results  # noqa: E402
from tests.ttc.importers.tf.test_config import dense, model  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.importers.base import import_model  # noqa: E402
from ttc.importers.tf import keras as importer  # noqa: E402
from ttc.importers.tf.weights_file import check_weights  # noqa: E402


def network() -> Any:
    """Two inputs, convolutions with normalisation, and a recurrent part."""
    keras.utils.set_random_seed(0)
    image, words = keras.Input((12, 12, 3), name="image"), keras.Input((5, 4), name="words")
    x = keras.layers.Conv2D(6, 3, strides=2, padding="same", name="first")(image)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.Activation("relu6")(x)
    x = keras.layers.SeparableConv2D(8, 3, padding="same")(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    y = keras.layers.LSTM(7)(words)
    z = keras.layers.Dense(5, activation="gelu", name="scores")(keras.layers.Concatenate()([x, y]))
    return keras.Model({"image": image, "words": words}, [z, keras.layers.Softmax(name="shares")(z)])


def test_a_model_as_it_is_and_as_a_file_and_as_a_folder(tmp_path: Path) -> None:
    """All three agree with Keras, and have its names."""
    made = network()
    for variable in made.variables:
        if "moving_variance" in variable.path:
            variable.assign(np.random.default_rng(1).uniform(0.5, 1.5, variable.shape))
    inputs = {"image": normal(2, 12, 12, 3), "words": normal(2, 5, 4, seed=1)}
    expected = [y.numpy() for y in made(inputs, training=False)]
    made.save(tmp_path / "model.keras")
    made.export(tmp_path / "saved", verbose=False)
    for source, names in ((made, ["scores", "shares"]), (tmp_path / "model.keras", ["scores", "shares"]), (tmp_path / "saved", None)):
        found = results(source, inputs, tmp_path)
        assert names is None or list(found) == names
        for value, wanted, name in zip(found.values(), expected, ("scores", "shares"), strict=True):
            agree(value, wanted, name)


def pack(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def refused(path: Path, code: str, text: str) -> None:
    with pytest.raises(Error) as caught:
        import_model(path)
    assert caught.value.code == code, caught.value
    assert text in str(caught.value), caught.value


def weights_of(**arrays: Any) -> bytes:
    file = io.BytesIO()
    with h5py.File(file, "w") as root:
        for name, array in arrays.items():
            root[name] = array
    return file.getvalue()


GOOD = {"config.json": model(dense()), "metadata.json": b"{}", "model.weights.h5": weights_of(w=np.ones(3, np.float32))}


@pytest.mark.parametrize(
    ("members", "code", "text"),
    [
        ({**GOOD, "../evil": b""}, "E0203", "unsafe name"),
        ({**GOOD, "/evil": b""}, "E0203", "unsafe name"),
        ({**GOOD, "assets/words.txt": b"a"}, "E0202", "assets"),
        ({"config.json": GOOD["config.json"]}, "E0201", "no model.weights.h5"),
        ({"model.weights.h5": b""}, "E0201", "no config.json"),
        ({**GOOD, "config.json": model(dense(class_name="Lambda"))}, "E0202", "runs Python code"),
        ({**GOOD, "config.json": model(dense(module="os", class_name="system"))}, "E0202", "no class of Keras"),
        ({**GOOD, "config.json": b"{"}, "E0201", "no JSON"),
        ({**GOOD, "model.weights.h5": b"no HDF5"}, "E0201", "no HDF5 file"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, members: dict[str, bytes], code: str, text: str) -> None:
    refused(pack(tmp_path / "m.keras", members), code, text)


def test_what_is_no_zip_or_one_that_grows(tmp_path: Path) -> None:
    (tmp_path / "m.keras").write_bytes(b"hello")
    refused(tmp_path / "m.keras", "E0201", "not a Keras file")
    refused(pack(tmp_path / "m.keras", {**GOOD, "config.json": b" " * (1 << 27)}, zipfile.ZIP_DEFLATED), "E0203", "bytes, more than")


def test_without_tensorflow_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "find_spec", lambda name: None)
    refused(pack(tmp_path / "m.keras", GOOD), "E0104", "pip install 'ttc[tf]'")


def test_a_child_that_dies_or_takes_too_long_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(tmp_path / "m.keras", GOOD)
    program = tmp_path / "python"
    for script, ending in (("kill -ABRT $$", "was ended by SIGABRT"), ("echo no memory; exit 3", "ended with status 3\n  no memory")):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(importer.sys, "executable", str(program))
        refused(path, "E0201", f"TensorFlow could not load the model: its process {ending}")
    program.write_text("#!/bin/sh\nsleep 60\n")
    monkeypatch.setattr(importer, "SECONDS", 0.05)
    refused(path, "E0201", "took more than 0.05 s")


def test_nothing_of_the_environment_but_what_python_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child has a home of its own and none of the caller's secrets."""
    seen: dict[str, Any] = {}

    def start(command: list[str], **options: Any) -> Any:
        seen.update(options, command=command)
        raise Error("E0901", "seen enough")

    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setattr(importer.subprocess, "Popen", start)
    with pytest.raises(Error, match="seen enough"):
        import_model(pack(tmp_path / "m.keras", GOOD))
    assert "SECRET" not in seen["env"]
    assert seen["env"]["HOME"] == str(seen["cwd"]) != os.environ["HOME"]
    assert not Path(seen["cwd"]).exists()


def external(root: Any, folder: Path) -> None:
    root.create_dataset("w", (4,), np.float32, external=[(str(folder / "secret"), 0, 16)])


def virtual(root: Any, folder: Path) -> None:
    layout = h5py.VirtualLayout((4,), np.float32)
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "w", (4,))
    root.create_virtual_dataset("w", layout)


def itself(root: Any, folder: Path) -> None:
    root.create_group("a")["b"] = root


def deep(root: Any, folder: Path) -> None:
    for _ in range(80):
        root = root.create_group("g")


BAD_WEIGHTS = {
    "shape of 2^40": lambda root, folder: root.create_dataset("w", (1 << 40,), np.float32, chunks=(1024,)),
    "shape of 2^62": lambda root, folder: root.create_dataset("w", (1 << 31, 1 << 31), np.uint8, chunks=(1, 1024), compression="gzip"),
    "external link": lambda root, folder: root.__setitem__("w", h5py.ExternalLink("other.h5", "/w")),
    "soft link": lambda root, folder: root.__setitem__("w", h5py.SoftLink("/elsewhere")),
    "external storage": external,
    "virtual": virtual,
    "references": lambda root, folder: root.create_dataset("w", (2,), h5py.ref_dtype),
    "texts": lambda root, folder: root.create_dataset("w", data=["a", "b"]),
    "compound": lambda root, folder: root.create_dataset("w", (2,), np.dtype([("a", "f4")])),
    "in a circle": itself,
    "deep": deep,
    "type": lambda root, folder: root.__setitem__("w", np.dtype("f4")),
}


@pytest.mark.parametrize("how", BAD_WEIGHTS)
def test_weights_that_are_refused(tmp_path: Path, how: str) -> None:
    file = io.BytesIO()
    with h5py.File(file, "w") as root:
        BAD_WEIGHTS[how](root, tmp_path)
    with pytest.raises(Error) as caught:
        check_weights(file)
    assert caught.value.code == "E0203"


def test_weights_that_are_taken() -> None:
    file = io.BytesIO()
    with h5py.File(file, "w") as root:
        root["a/b/c"] = np.ones((3, 4), np.float32)
        root.create_dataset("d", data=np.zeros((100, 100)), compression="gzip")
        root.create_dataset("e", (0, 4), np.float32)
    check_weights(file)


def test_a_layer_with_several_outputs_has_a_name_for_each(tmp_path: Path) -> None:
    inputs = keras.Input((3, 4), name="x")
    outputs = keras.layers.LSTM(2, return_sequences=True, return_state=True, name="lstm")(inputs)
    model = keras.Model(inputs, [*outputs, keras.layers.Dense(2, name="lstm_1")(outputs[1])])
    x = normal(2, 3, 4)
    found = results(model, {"x": x}, tmp_path)
    assert list(found) == ["lstm", "lstm_2", "lstm_3", "lstm_1"]
    for (name, y), expected in zip(found.items(), model(x), strict=True):
        agree(y, np.asarray(expected), name)
