"""Rules are registered by name, loaded when they are asked for, and never missing silently."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rule_tables import RuleTable

MODULES = {
    "__init__": "from ttc.dialects.core.rule_tables import RuleTable\n",
    "first": "from {package} import TABLE\nTABLE.rule('one', 'uno')(lambda: 1)\nTABLE.refuse('it is none', 'zero')\n",
    "second": "from {package} import TABLE\n@TABLE.rule('two')\ndef any_name(): return 2\n",
}


@pytest.fixture
def package(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package whose modules register three rules; its table has the index that the test is parametrized by."""
    name = f"rules_of_{request.node.name.partition('[')[0]}_{abs(hash(request.node.name))}"
    (tmp_path / name).mkdir()
    for module, text in MODULES.items():
        (tmp_path / name / f"{module}.py").write_text(text.format(package=name))
    with (tmp_path / name / "__init__.py").open("a") as file:
        file.write(f"TABLE = RuleTable('small rule', __name__, {getattr(request, 'param', None)!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def table_of(package: str) -> RuleTable[object]:
    return __import__(package).TABLE


def fault(call: object) -> str:
    assert callable(call)
    with pytest.raises(Error) as caught:
        call()
    assert caught.value.code == "E0901"
    return caught.value.message


def test_rules_are_found_by_their_names_and_not_by_those_of_functions(package: str) -> None:
    table = table_of(package)
    assert f"{package}.first" not in sys.modules
    rule = table["two"]
    assert callable(rule)
    assert rule() == 2
    assert table["one"] is table["uno"]
    assert table.get("any_name") is None
    assert table.rules().keys() == {"one", "uno", "two"}


def test_a_name_without_a_rule(package: str) -> None:
    table = table_of(package)
    assert table.of("zero") is None
    assert (table.refusal("zero"), table.refusal("one"), table.refusal("three")) == ("it is none", None, None)
    assert table.get("three") is None
    assert fault(lambda: table.of("three")) == "there is no small rule of 'three'"
    assert fault(lambda: table["zero"]) == "there is no small rule of 'zero'"


def test_a_table_is_compared_with_what_it_is_for(package: str) -> None:
    table = table_of(package)
    assert table.mismatches(["zero", "one", "uno", "two"]) == []
    assert table.mismatches(["zero", "one", "two", "three"]) == [
        "there is no small rule of 'three'",
        "there is a small rule of 'uno', which does not exist",
    ]


@pytest.mark.parametrize("name", ["one", "zero"])
def test_a_name_is_registered_once(package: str, name: str) -> None:
    table = table_of(package)
    table.rules()
    assert fault(lambda: table.add(name, 1)) == f"the small rule of '{name}' is registered twice"
    assert fault(lambda: table.refuse("why not", name)) == f"the small rule of '{name}' is registered twice"


@pytest.mark.parametrize("package", [{"first": "one uno", "second": "two"}], indirect=True)
def test_an_index_loads_one_module_alone(package: str) -> None:
    table = table_of(package)
    assert callable(table["two"])
    assert f"{package}.first" not in sys.modules
    assert table.rules().keys() == {"one", "uno", "two"}


@pytest.mark.parametrize("package", [{"first": "one", "second": "two"}], indirect=True)
def test_an_index_that_lacks_a_name(package: str) -> None:
    assert fault(table_of(package).rules) == f"the small rule of 'uno' is missing in the index of {package}"


@pytest.mark.parametrize("package", [{"first": "one uno tree", "second": "two"}], indirect=True)
def test_an_index_that_names_what_its_module_lacks(package: str) -> None:
    assert fault(lambda: table_of(package).get("tree")) == f"{package}.first has no small rule of 'tree', as its index says"


def test_modules_that_hold_their_rules(package: str) -> None:
    table: RuleTable[object] = RuleTable("row", package, prefix="f", holds="ROWS")
    assert fault(table.rules) == f"{package}.first has no ROWS, which names its rules"
    vars(sys.modules[f"{package}.first"])["ROWS"] = {"three": 3}
    assert table["three"] == 3
    assert f"{package}.second" not in sys.modules
