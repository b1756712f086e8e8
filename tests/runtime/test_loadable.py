"""What compile writes, loads: models near and past what archives hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import ttc
from ttc.cli import main
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.codec import MAX_TEXT
from ttc.runtime import archive

LENGTHS = (1, 63, 64, 65, 255, 256, 4096, 1024, 1025, MAX_TEXT, MAX_TEXT + 1)
"""Characters of a name: usual ones, and about as many as archives take."""
LETTERS = "aZ0_./:-\\\"'\u00e9\u4e2d\U0001f600 \x01"


def model(names: list[str], weight: tuple[int, ...], outputs: int) -> onnx.ModelProto:
    """Sums of an input and a weight under these names: of the input, the weight, the node; the rest are the outputs' first names."""
    given, held, made, *_ = names
    ys = [f"{i}{made}" for i in range(outputs)]
    nodes = [helper.make_node("Add", [given, held], [y], name=f"{i}{names[-1]}") for i, y in enumerate(ys)]
    values = [numpy_helper.from_array(np.ones(weight, np.float32), held)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(weight)) for name in (given, *ys)]
    return helper.make_model(helper.make_graph(nodes, "g", ports[:1], ports[1:], values), opset_imports=[helper.make_opsetid("", 18)])


names = st.builds(lambda text, length: (text * length)[:length], st.text(LETTERS, min_size=1, max_size=4), st.sampled_from(LENGTHS))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(names, min_size=4, max_size=4, unique=True),
    st.lists(st.sampled_from([0, 1, 3, 17]), max_size=5),
    st.sampled_from([1, 2, 9]),
    st.sampled_from(["host", "n150"]),
)
def test_what_is_written_loads(tmp_path: Path, chosen: list[str], shape: list[int], outputs: int, target: str) -> None:
    source, output = tmp_path / "m.onnx", tmp_path / "m.tti"
    output.unlink(missing_ok=True)
    onnx.save(model(chosen, tuple(shape), outputs), source)
    status = main(["compile", str(source), "-o", str(output), "--target", target, "-q"])
    assert status in (0, 2)
    assert output.exists() == (status == 0), "nothing is written of what is refused"
    if status == 0:
        assert main(["info", str(output)]) == 0
        with ttc.load(output) as executor:
            found = executor.run({chosen[0]: np.ones(shape, np.float32)})
        assert [value.shape for value in found.values()] == [tuple(shape)] * outputs


@pytest.mark.parametrize(("length", "status"), [(MAX_TEXT, 0), (MAX_TEXT + 1, 2)])
def test_names_as_long_as_archives_take(length: int, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "m.onnx", tmp_path / "m.tti"
    onnx.save(model(["x" * length, "w", "y", "n"], (2,), 1), source)
    assert main(["compile", str(source), "-o", str(output), "--target", "host", "-q"]) == status
    said = capsys.readouterr().err
    assert (output.exists(), said.count("error[E0609]")) == (status == 0, status // 2), said


def test_more_bytes_than_are_read_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, output = tmp_path / "m.onnx", tmp_path / "m.tti"
    onnx.save(model(["x", "w", "y", "n"], (2,), 1), source)
    program = ttc.compile(source, target="host")
    monkeypatch.setattr(archive, "MAX_JSON_BYTES", 1000)
    with pytest.raises(Error, match="larger than 1000 bytes") as refused:
        program.save(output)
    assert (refused.value.code, refused.value.hint) == ("E0703", "the model is larger than archives can be: compile parts of it")
    assert not output.exists()


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    source, output = tmp_path / "m.onnx", tmp_path / "m.tti"
    onnx.save(model(["x", "w", "y", "n"], (2,), 1), source)
    program = ttc.compile(source, target="host")
    netlist = program.netlist
    entry = netlist.programs["forward"]
    odd = replace(entry, arguments=tuple(replace(a, name="\ud800") for a in entry.arguments))
    with pytest.raises(Error) as refused:
        archive.write_archive(output, netlist=replace(netlist, programs={"forward": odd}), tensors={}, description=program.description)
    assert refused.value.code == "E0609"
