from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ttc import compat
from ttc.compat.names import RefusalFinder, Refusing, submodule, told
from ttc.dialects.core.errors import Error, TtcWarning

NAME = "foreign_project"


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of ttc for a project that nobody has."""
    module = ModuleType(f"ttc.compat.{NAME}")
    module.__dict__["SUBMODULES"] = {"optim": submodule(NAME, "optim", {"SGD": 7}, {"LAMB": "there is no silicon"})}
    module.__dict__["optim"] = module.__dict__["SUBMODULES"]["optim"]
    monkeypatch.setattr(compat, "NAMES", (NAME,))
    monkeypatch.setitem(sys.modules, f"ttc.compat.{NAME}", module)
    yield module
    for name in (NAME, f"{NAME}.optim"):
        sys.modules.pop(name, None)


def test_an_import_finds_what_is_installed(foreign: ModuleType) -> None:
    assert compat.install(NAME) is foreign
    assert compat.install(NAME) is foreign  # again: it is ours, not the project itself
    namespace: dict[str, object] = {}
    exec(f"import {NAME}.optim\nfound = {NAME}.optim.SGD", namespace)
    assert namespace["found"] == 7


def test_the_project_itself_is_not_replaced(foreign: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NAME, ModuleType(NAME))
    with pytest.raises(Error) as raised:
        compat.install(NAME)
    assert raised.value.code == "E0104"


def test_an_unknown_project_is_refused(foreign: ModuleType) -> None:
    with pytest.raises(Error) as raised:
        compat.install("foreign_projects")
    assert (raised.value.code, raised.value.hint) == ("E0101", f"did you mean '{NAME}'?")


def test_refused_names_give_their_reason_and_others_none() -> None:
    lookup = Refusing("other", {"reset": "nothing is kept"})
    with pytest.raises(Error, match="nothing is kept") as raised:
        lookup("reset")
    assert raised.value.code == "E0105"
    with pytest.raises(AttributeError, match="'other' has no attribute 'more'"):
        lookup("more")


def test_a_refused_name_is_missing_to_hasattr(foreign: ModuleType) -> None:
    optim = compat.install(NAME).optim
    assert not hasattr(optim, "LAMB")
    assert getattr(optim, "LAMB", 3) == 3
    with pytest.raises(Error, match="there is no silicon") as raised:
        optim.LAMB  # noqa: B018
    assert (raised.value.code, isinstance(raised.value, AttributeError)) == ("E0105", True)


@pytest.mark.parametrize("statement", ["from {0}.optim import LAMB", "import {0}.optim.LAMB", "from {0}.optim import SGD, LAMB"])
def test_an_import_of_a_refused_name_gives_its_reason(foreign: ModuleType, statement: str) -> None:
    compat.install(NAME)
    with pytest.raises(Error, match="there is no silicon") as raised:
        exec(statement.format(NAME), {})
    assert (raised.value.code, isinstance(raised.value, ImportError)) == ("E0105", True)
    with pytest.raises(ImportError, match="cannot import name 'Adam'"):
        exec(f"from {NAME}.optim import Adam", {})
    assert sum(isinstance(finder, RefusalFinder) for finder in sys.meta_path) == 1


@pytest.mark.parametrize("project", ["poptorch", "pybuda", "torchdistpackage"])
def test_every_refused_name_of_a_project_is_missing_and_its_import_tells_why(project: str) -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    module = compat.install(project)
    refusing = [vars(owner)["__getattr__"] for owner in (module, *module.SUBMODULES.values())]
    try:
        for lookup in refusing:
            for name, reason in lookup.refused.items():
                assert not hasattr(sys.modules[lookup.owner], name)
                with pytest.raises(ImportError, match=re.escape(f"{lookup.owner}.{name} is not supported: {reason}")):
                    exec(f"from {lookup.owner} import {name}", {})
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == project]:
            del sys.modules[name]


def test_spellings_of_ours_are_told_once(recwarn: pytest.WarningsRecorder) -> None:
    told("other.once", "ttc.always")
    told("other.once", "ttc.always")
    assert [str(w.message) for w in recwarn if w.category is TtcWarning] == ["other.once is ttc.always in ttc"]


def test_what_a_module_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("ttc.compat.poptorch", "poptorch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(Error, match="ttc's poptorch needs torch, which is not installed") as caught:
        compat.install("poptorch")
    assert caught.value.code == "E0104"
    assert "poptorch" not in sys.modules


def test_a_script_runs_with_its_arguments(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    script = tmp_path / "script.py"
    script.write_text("import sys\nfrom ttc.dialects.core.errors import Error\nprint(sys.argv[1:])\nraise Error('E0101', 'as asked')\n")
    done = subprocess.run([sys.executable, "-m", "ttc.compat", str(script), "a", "--b"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "['a', '--b']\n")
    assert done.stderr == "error[E0101]: as asked\n"


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0), (["no_such_script.py"], 2)])
def test_what_is_no_script_is_said(arguments: list[str], status: int) -> None:
    done = subprocess.run([sys.executable, "-m", "ttc.compat", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
