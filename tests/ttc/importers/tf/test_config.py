"""What a Keras file may say of its layers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.importers.tf import config
from ttc.importers.tf.config import MAX_DEPTH, checked_config


def dense(**changes: Any) -> dict[str, Any]:
    return {"module": "keras.layers", "class_name": "Dense", "config": {"name": "dense", "units": 2}, "registered_name": None, **changes}


def model(*layers: Any) -> bytes:
    """The config of a sequential model."""
    inner = {"name": "m", "layers": list(layers)}
    return json.dumps({"module": "keras", "class_name": "Sequential", "config": inner, "compile_config": {"loss": "mse"}}).encode()


def refused(data: bytes, code: str, text: str) -> None:
    with pytest.raises(Error) as caught:
        checked_config(data)
    assert caught.value.code == code
    assert text in caught.value.message


def test_what_only_training_needs_is_left_out() -> None:
    found = json.loads(checked_config(model(dense())))
    assert "compile_config" not in found
    assert found["config"]["layers"] == [dense()]


@pytest.mark.parametrize(
    "layer",
    [
        dense(module="keras.src.applications.convnext", class_name="LayerScale", registered_name="LayerScale"),
        dense(module="keras.src.ops.numpy", class_name="Add", registered_name="Add"),
        dense(config={"dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}}}),
        dense(config={"activation": {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"}}),
        {"args": [{"class_name": "__keras_tensor__", "config": {"shape": [None, 2], "keras_history": ["dense", 0, 0]}}]},
    ],
)
def test_classes_of_keras(layer: dict[str, Any]) -> None:
    assert json.loads(checked_config(model(layer)))["config"]["layers"] == [layer]


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (dense(class_name="Lambda"), "keras.layers.Lambda, which runs Python code"),
        (dense(config={"function": {"class_name": "__lambda__", "config": {"value": "4wEA"}}}), "__lambda__, which is Python code"),
        (dense(class_name="TFSMLayer"), "loads another model"),
        (dense(class_name="TorchModuleWrapper"), "pickled"),
        (dense(module="os", class_name="system"), "os.system, which is no class of Keras"),
        (dense(module="keras.utils", class_name="get_file"), "keras.utils.get_file, which is no class of Keras"),
        (dense(module="keras.src.saving.saving_lib", class_name="load_model"), "no class of Keras"),
        (dense(module="keras.models", class_name="a.b"), "custom classes"),
        (dense(module="keras.layers.../os"), "no class of Keras"),
        (dense(registered_name="mine>Dense"), "registered as 'mine>Dense'"),
        (dense(module="mine.layers"), "mine.layers.Dense"),
        (dense(class_name="function", module="os", config="system"), "function 'os.system'"),
        (dense(class_name="function", module="builtins", config="__import__('os')"), "no activation or op"),
        (dense(module=["keras"]), "no text"),
    ],
)
def test_classes_that_are_not_of_keras(layer: dict[str, Any], text: str) -> None:
    with pytest.raises(Error) as caught:
        checked_config(model(layer))
    assert caught.value.code in ("E0202", "E0203")
    assert text in caught.value.message


@pytest.mark.parametrize("name", ["../../etc", "a/../b", "/root", "a\\b", "a\0b", "x" * 5000])
def test_names_that_are_paths(name: str) -> None:
    refused(model(dense(config={"name": name})), "E0203", "unsafe name")
    refused(model(dense(name=name)), "E0203", "unsafe name")


@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        (b"", "E0201", "no JSON"),
        (b"\xff\xfe", "E0201", "no JSON"),
        (b"[]", "E0201", "does not describe a model"),
        (b'{"config": 3}', "E0201", "does not describe a model"),
        (b"[" * 100_000, "E0203", f"nested more than {MAX_DEPTH} deep"),
        (b'{"a":' * 3000, "E0203", f"nested more than {MAX_DEPTH} deep"),
    ],
)
def test_what_is_no_config(data: bytes, code: str, text: str) -> None:
    refused(data, code, text)


def test_brackets_in_texts_do_not_count() -> None:
    label = "[" * 500 + '"' + "[" * 500
    assert json.loads(checked_config(model(dense(config={"name": label}))))["config"]["layers"][0]["config"]["name"] == label


def test_many_values_are_counted_before_any_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets and commas in texts do not count, however the texts end."""
    inside = dense(config={"name": "a", "note": '[{,\\"' * 200 + "\\"})
    monkeypatch.setattr(config, "MAX_ENTRIES", 100)
    assert json.loads(checked_config(model(inside)))["config"]["layers"] == [inside]
    monkeypatch.setattr(config.json, "loads", lambda text: pytest.fail("built"))
    refused(b"[" + b"{}," * 200 + b"{}]", "E0203", "more than 100 entries")
    refused(b"[" * 101, "E0203", f"nested more than {MAX_DEPTH} deep")


def test_only_utf_8_is_read() -> None:
    """Other encodings would hide brackets from the count."""
    refused(model(dense()).decode().encode("utf-16"), "E0201", "no JSON")
