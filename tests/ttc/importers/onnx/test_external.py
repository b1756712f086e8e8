"""External data: read from the model's folder, and from nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.ttc.importers.onnx.cases import model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx

W = normal(8, 8)


def external_model(folder: Path, **entries: str) -> Path:
    """A model whose weight lies elsewhere, as the entries say."""
    model = model_of([helper.make_node("Identity", ["w"], ["y"])], {}, ["y"], {"w": W})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return save(model, folder)


def code(path: Path) -> str:
    with pytest.raises(Error) as caught:
        import_onnx(path)
    return caught.value.code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with w.bin: 16 bytes, then the weight; beside it a secret."""
    inner = tmp_path / "model"
    (inner / "sub").mkdir(parents=True)
    for place in (inner / "w.bin", inner / "sub" / "w.bin", tmp_path / "secret.bin"):
        place.write_bytes(bytes(16) + W.tobytes())
    return inner


@pytest.mark.parametrize("location", ["w.bin", "sub/w.bin", "./w.bin"])
def test_a_range_of_a_file(folder: Path, location: str) -> None:
    _, weights = import_onnx(external_model(folder, location=location, offset="16", length="256"))
    np.testing.assert_array_equal(weights["w"].value(), W)


def test_the_rest_of_a_file(folder: Path) -> None:
    _, weights = import_onnx(external_model(folder, location="w.bin", offset="16"))
    np.testing.assert_array_equal(weights["w"].value(), W)


@pytest.mark.parametrize(
    "entries",
    [
        {"location": "../secret.bin"},
        {"location": "sub/../../secret.bin"},
        {"location": "/etc/passwd"},
        {"location": "..\\secret.bin"},
        {"location": "w.bin\0x"},
        {"location": ""},
        {"location": "."},
        {"location": "none.bin"},
        {"location": "sub"},
        {"location": "w.bin", "offset": "-16"},
        {"location": "w.bin", "offset": "17"},
        {"location": "w.bin", "offset": "999999999999999999"},
        {"location": "w.bin", "offset": "1" * 400},
        {"location": "w.bin", "offset": "16", "length": "257"},
        {"location": "w.bin", "offset": "16", "length": "-1"},
        {"location": "w.bin", "offset": "sixteen"},
        {"location": "w.bin", "mode": "rw"},
        {"offset": "16"},
    ],
)
def test_unsafe_or_unreadable(folder: Path, entries: dict[str, str]) -> None:
    wanted = "E0203" if entries.get("offset") == "17" else "E0204"  # 17: inside the file, but too short for the shape
    assert code(external_model(folder, **entries)) == wanted


def test_links_are_not_followed(folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder / "w.bin")
    (folder / "out").symlink_to(folder.parent)
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    for location in ("link.bin", "out/secret.bin", "hard.bin"):
        assert code(external_model(folder, location=location, offset="16")) == "E0204"


def test_pipes_do_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe.bin")
    assert code(external_model(folder, location="pipe.bin")) == "E0204"


def test_size_must_fit_the_shape(folder: Path) -> None:
    assert code(external_model(folder, location="w.bin", offset="16", length="252")) == "E0203"


def test_external_data_in_a_node_is_refused(folder: Path) -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[8, 8], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    model = model_of([helper.make_node("Constant", [], ["y"], value=tensor)], {}, ["y"])
    assert code(save(model, folder)) == "E0204"


LARGE_BYTES = 4 << 30
READS = """
import resource, sys, time
from pathlib import Path
import numpy as np
from ttc.compiler.driver import compile_path
from ttc.options import CompileOptions
import ttc.importers.onnx
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.process_time()
result = compile_path(Path(sys.argv[1]), CompileOptions(target="host", to="netlist"))
taken = time.process_time() - started
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
value = result.unit.weights["w"].value()
print(taken, grown, value.shape, int(value.ravel()[-1]))
"""


def test_four_gigabytes_are_not_read(tmp_path: Path) -> None:
    """A sparse file stands for them: import and compilation touch none of its bytes, and what is read then is what is asked for."""
    count = LARGE_BYTES // 4
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": np.zeros((1, 1), np.float32)}, ["y"], {"w": W})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.dims[:] = [1 << 15, count >> 15]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="large.bin")
    path = save(model, tmp_path)
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(LARGE_BYTES - 4)
        file.seek(0, os.SEEK_END)
        file.write(np.float32(7).tobytes())
    assert (tmp_path / "large.bin").stat().st_blocks * 512 < 1 << 20
    done = subprocess.run([sys.executable, "-c", READS, path], capture_output=True, text=True, timeout=60, check=True)
    seconds, grown_kb, *value = done.stdout.split(maxsplit=2)
    assert value == [f"({1 << 15}, {count >> 15}) 7\n"]
    assert float(seconds) < 5
    assert int(grown_kb) < 100_000
