"""Options: their sources, precedence and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error, TtcWarning
from ttc.inputs.files import read_config
from ttc.options import KINDS, BenchOptions, CompileOptions, RunOptions, resolve
from ttc.runtime import cpu
from ttc.settings.option_values import read_shapes
from ttc.settings.records import flag_of, settings, variable_of


def error_of(call, *arguments, **keywords) -> Error:
    with pytest.raises(Error) as caught:
        call(*arguments, **keywords)
    return caught.value


def test_defaults() -> None:
    options = resolve(CompileOptions, {})
    assert (options.target, options.format, options.precision, options.to) == ("n150", "source", "float32", "tti")
    assert options.storage_format is None
    assert options.given == frozenset()


def test_flag_beats_variable_beats_toml_beats_default() -> None:
    config = {"compile": {"target": "from-toml", "format": "Float32", "precision": "high"}}
    environ = {"TTC_TARGET": "from-variable", "TTC_FORMAT": "Float16_b"}
    options = resolve(CompileOptions, {"target": "from-flag", "batch": None}, environ, config)
    assert (options.target, options.format, options.precision, options.to) == ("from-flag", "Float16_b", "high", "tti")
    assert options.given == {"target", "format", "precision"}


def test_giving_the_default_counts_as_given() -> None:
    assert resolve(CompileOptions, {"target": "n150"}).given == {"target"}


@pytest.mark.parametrize(
    ("explicit", "environ", "config", "hint"),
    [
        ({"fromat": "x"}, {}, {}, "did you mean 'format'?"),
        ({"format": "Float33"}, {}, {}, "did you mean 'Float32'?"),
        ({"batch": "0"}, {}, {}, "it takes a whole number of at least 1"),
        ({"batch": True}, {}, {}, "it takes a whole number of at least 1"),
        ({"batch": 2.5}, {}, {}, "it takes a whole number of at least 1"),
        ({"shape": ("x=1xa",)}, {}, {}, "it takes NAME=1x3x224x224"),
        ({"shape": ("x=1", "x=1")}, {}, {}, "it takes NAME=1x3x224x224, each name with a shape once"),
        ({}, {"TTC_PRECISION": "hihg"}, {}, "did you mean 'high'?"),
        ({}, {}, {"compile": {"targte": "host"}}, "did you mean 'target'?"),
        ({}, {}, {"target": "host"}, "write [compile] on a line before it"),
        ({}, {}, {"compiel": []}, "write [compile] on a line before it"),
        ({}, {}, {"compile": 3}, "write [compile] on a line of its own"),
        ({}, {}, {"compile": {"target": 3}}, "it takes a name"),
    ],
)
def test_unknown_names_and_values(explicit: dict, environ: dict, config: dict, hint: str) -> None:
    error = error_of(resolve, CompileOptions, explicit, environ, config)
    assert (error.code, error.hint) == ("E0101", hint)


KUBERNETES = {"TTC_PORT": "tcp://10.0.0.1:80", "TTC_PORT_80_TCP": "x", "TTC_SERVICE_HOST": "10.0.0.1"}


@pytest.mark.parametrize(
    ("environ", "config", "message"),
    [
        (KUBERNETES, {}, "variables that ttc does not know, passed over: TTC_PORT, TTC_PORT_80_TCP, TTC_SERVICE_HOST"),
        ({"TTC_TARGTE": "x"}, {}, "variables that ttc does not know, passed over: TTC_TARGTE (did you mean 'TTC_TARGET'?)"),
        (
            {},
            {"tool": {"x": 1}, "compiel": {}, "bin": [{"name": "a"}]},
            "the TOML file of --config has tables that are not for ttc, passed over: bin, compiel (did you mean 'compile'?), tool",
        ),
    ],
)
def test_names_of_others_are_warned_of(environ: dict, config: dict, message: str) -> None:
    with pytest.warns(TtcWarning) as caught:
        options = resolve(CompileOptions, {}, {"TTC_TARGET": "host", **environ}, config)
    assert ([str(w.message) for w in caught], options.target) == ([message], "host")


def test_threads_are_bounded_by_the_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "available_cores", lambda: 2)
    hint = "it takes at most 8 here: 4 for each CPU that this process may use"
    for kind in (RunOptions, BenchOptions):
        assert resolve(kind, {"threads": 8}).threads == 8
        for source in ({"threads": "9"}, {}, {}), ({}, {"TTC_THREADS": "100000"}, {}), ({}, {}, {kind.TABLE: {"threads": 9}}):
            error = error_of(resolve, kind, *source)
            assert (error.code, error.hint) == ("E0101", hint)


def test_variables_of_another_command_are_known() -> None:
    assert resolve(CompileOptions, {}, {"TTC_THREADS": "2"}) == CompileOptions()
    assert resolve(RunOptions, {}, {"TTC_THREADS": "2", "HOME": "/"}).threads == 2
    assert resolve(RunOptions, {}, {"TTC_CACHE_DIR": "/x", "TTC_CPU": "avx2"}) == RunOptions()


@pytest.mark.parametrize("raw", ["x=1x3,y=", ("y=", "x=1x3"), {"x": [1, 3], "y": ()}, {"x": "1x3", "y": ""}, (("x", (1, 3)), ("y", ()))])
def test_shapes_have_many_spellings(raw: object) -> None:
    assert read_shapes(raw) == (("x", (1, 3)), ("y", ()))


def test_a_name_with_an_equals_sign() -> None:
    assert read_shapes(("a=b=2x3",)) == (("a=b", (2, 3)),)


def test_recorded_are_those_that_change_the_result() -> None:
    options = CompileOptions(target="host", shape={"x": (2, 3)}, weights=Path("w"), to="nn")  # pyright: ignore[reportArgumentType]
    assert options.recorded() == {"target": "host", "format": "source", "precision": "float32", "shape": "x=2x3"}


def test_constructor_checks_too() -> None:
    assert error_of(CompileOptions, precision="low").code == "E0101"


def test_switches() -> None:
    assert resolve(RunOptions, {"exact": True}).exact is True
    assert resolve(RunOptions, {}, {"TTC_EXACT": "1"}).exact is True
    assert resolve(RunOptions, {}, {"TTC_EXACT": "false"}, {"run": {"exact": True}}).exact is False
    assert error_of(resolve, RunOptions, {}, {"TTC_EXACT": "maybe"}).code == "E0101"


def test_fidelity_is_a_rule_between_those_of_a_level_and_of_a_file() -> None:
    options = CompileOptions(amp=1, fidelity="LoFi", precision_file=[{"op": "conv2d", "fidelity": "HiFi4"}])  # pyright: ignore[reportArgumentType]
    assert [rule.fidelity for rule in options.rules][-2:] == ["LoFi", "HiFi4"]
    assert options.recorded()["fidelity"] == "LoFi"
    assert CompileOptions(fidelity="LoFi").rules[0].matches(("matmul",), ("node",))
    assert "fidelity" not in CompileOptions().recorded()
    assert error_of(CompileOptions, fidelity="HiFi1").code == "E0101"


def test_every_option_has_flag_variable_and_help() -> None:
    names = [item.name for kind in (CompileOptions, RunOptions) for item, _ in settings(kind)]
    assert len({flag_of(name) for name in names}) == len(names)
    assert (flag_of("from_"), variable_of("from_")) == ("--from", "TTC_FROM")
    assert all(setting.help.endswith(".") for kind in KINDS for _, setting in settings(kind))


def test_config_files(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[compile]\ntarget = "host"\n[compile.shape]\nx = [2, 3]\n[run]\nthreads = 2\n')
    bad.write_text("target = ")
    assert resolve(CompileOptions, {}, {}, read_config(good)).shape == (("x", (2, 3)),)
    assert resolve(RunOptions, {}, {}, read_config(good)).threads == 2
    assert error_of(read_config, bad).code == "E0101"
    assert error_of(read_config, tmp_path / "none.toml").code == "E0102"
