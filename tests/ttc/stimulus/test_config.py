"""Section `test-config`."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.stimulus.config import HostConfig, host_config
from ttc.stimulus.rules import StimulusRule


def config(text: str) -> HostConfig:
    return host_config(read_netlist(f"devices: {{arch: grayskull}}\ntest-config: {text}\n".encode(), "test.yaml").extra)


def test_stimulus_with_overrides():
    found = config(
        "{test-args: {microbatch_count: 3, name: x}, stimulus-config: {type: Normal, normal_mean: 0.5, normal_stddev: 2,"
        " overrides: {w.*: {type: Constant, constant_value: 0.1, set_tile_cols: [1, 4]}, i: {type: StepRowwise, step_start: 0,"
        " step_increment: 2}, e: {type: sparse_encoding, zero_strip_freq: 0.25, matmul_ident_name: op}}}}"
    )
    assert found.arguments == {"microbatch_count": 3}
    assert found.rules is not None
    assert found.rules.default == StimulusRule("normal", {"mean": 0.5, "stddev": 2.0})
    assert dict(found.rules.overrides) == {
        "w.*": StimulusRule("constant", {"value": 0.1}, cols=(0, 3)),
        "i": StimulusRule("steprowwise", {"start": 0.0, "increment": 2.0}),
        "e": StimulusRule("sparse_encoding", {"strips": 0.25}),
    }


def test_numbers_of_other_kinds_do_not_count():
    found = config("{stimulus-config: {type: Uniform, uniform_lower_bound: 0, constant_value: 3}}")
    assert found.rules is not None
    assert found.rules.default == StimulusRule("uniform", {"low": 0.0})


def test_files_without_stimulus():
    assert config("{comparison-config: {type: Exact}}") == HostConfig()
    assert host_config({}) == HostConfig()


@pytest.mark.parametrize(
    ("stimulus", "message"),
    [
        ("type: Unifrom", "there is no stimulus 'unifrom'"),
        ("type: Uniform, uniform_lower_bound: 2, uniform_upper_bound: 1", "from 2.0 down to 1.0"),
        ("type: Normal, normal_stddev: -1", "negative deviation: -1.0"),
        ("type: Constant, constant_value: .inf", "takes a number"),
        ("type: Constant, constant_value: 1e300", "takes a number"),
        ("type: Constant, set_tile_rows: [0, 4]", "from 1"),
        ("type: sparse_encoding, zero_tile_freq: 2", "between 0 and 1"),
    ],
)
def test_stimulus_that_cannot_be(stimulus: str, message: str):
    with pytest.raises(Error) as failure:
        config(f"{{stimulus-config: {{{stimulus}}}}}")
    assert failure.value.code == "E0609"
    assert message in failure.value.message


def test_overrides_are_bounded():
    with pytest.raises(Error, match="E0609"):
        config(f"{{stimulus-config: {{type: Uniform, overrides: {{{'a' * 500}: {{type: Uniform}}}}}}}}")
