"""Every page of the documentation is true: its commands and code run, its links lead somewhere, its excerpts are the source's."""

from __future__ import annotations

import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from onnx import helper

from tests.pages import DOCS, ROOT, blocks_of, run_page, steps
from tests.ttc.importers.onnx.cases import model_of, normal
from ttc.importers.onnx.tables import mappings
from ttc.options import BenchOptions, CompileOptions, DebugOptions, RunOptions
from ttc.settings.generate_options import GenerateOptions
from ttc.settings.loop_options import LoopOptions
from ttc.settings.records import OWN_VARIABLES, flag_of, settings

PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
TEXTS = {path.name: path.read_text() for path in PAGES}
NOT_RUN = {
    ("coming_from_pybuda.md", "A script of PyBuda"),
    ("README.md", "Needs the package registry"),
    ("getting-started.md", "Needs the package registry"),
    ("adding-an-op.md", "Development of ttc"),
    ("runtime.md", "Development of ttc"),
    ("runtime.md", "Needs a C compiler"),
    ("adding-a-pass.md", "Development of ttc"),
    ("adding-a-target.md", "Development of ttc"),
    ("profiling.md", "Sets a variable"),
    ("doctor.md", "Sets a variable"),
}
"""Blocks of commands that no test runs: (page, title, which says why)."""
WALK = "debugging-a-model.md"
"""Needs a broken compiler: tests/test_walk.py runs it."""
EXECUTED = [path for path in PAGES if path.name != WALK and any(block.runs for block in blocks_of(path.read_text()))]
SNIPPET = '--8<-- "'
"""Stands for a whole file, which the build of the site puts in its place."""
GENERATED = {f"reference/{stem}.md" for stem in ("api", "commands", "nn", "tile", "passes")}
PICTURED = {f"view/{name}.html" for name in ("resnet50", "encoder", "training")}
"""Pages of `ttc view`, which are made when the site is built, and which pages of docs/ link to."""


@pytest.fixture
def folder(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the pages speak of, as the current one; a small network stands for the demo's."""
    shutil.copy(small_onnx, tmp_path / "model.onnx")
    (tmp_path / "demo").mkdir()
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w"], ["logits"]),
    ]
    onnx.save(model_of(nodes, {"x": normal(1, 3, 224, 224)}, ["logits"], {"w": normal(3, 1000)}), tmp_path / "demo" / "resnet50.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


PAGE = """# Page

```bash
ttc compile model.onnx --batch 2 -o page.tti
ttc check model.onnx   # status 2: the batch is open
```

```python
x = 2.5
print("x is", x)
```

```text title="Prints"
x is 3.7
```

```bash title="Takes a day"
ttc nonsense
```

```toml title="rules.toml"
key = 1
```

```python title="ttc/api.py"
...
```
"""


def test_blocks_are_found_in_order() -> None:
    found = [(block.language, block.title, block.line, block.runs, block.is_excerpt) for block in blocks_of(PAGE)]
    assert found == [
        ("bash", None, 3, True, False),
        ("python", None, 8, True, False),
        ("text", "Prints", 13, False, False),
        ("bash", "Takes a day", 17, False, False),
        ("toml", "rules.toml", 21, False, False),
        ("python", "ttc/api.py", 25, False, True),
    ]


def test_a_page_runs(folder: Path) -> None:
    assert run_page(PAGE, folder) == 2
    assert (folder / "page.tti").exists()
    assert (folder / "rules.toml").read_text() == "key = 1\n"
    assert not (folder / "ttc").exists()


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("--batch 2 -o", "--batch two -o", "line 3: ttc compile"),
        ("status 2", "status 1", "line 3: ttc check"),
        ("x is 3.7", "y is 3.7", "line 13"),
    ],
)
def test_what_is_not_true_is_told(folder: Path, old: str, new: str, where: str) -> None:
    with pytest.raises(AssertionError, match=where):
        run_page(PAGE.replace(old, new), folder)


def test_steps_have_statuses_and_lines() -> None:
    page = "```console\n$ ttc run a.tti   # status 1\nout of bound\n$ ttc info a.tti\n```\n"
    assert list(steps(page)) == [("ttc run a.tti", 1, ["out of bound"]), ("ttc info a.tti", 0, [])]


@pytest.mark.parametrize("path", EXECUTED, ids=lambda path: path.name)
def test_commands_and_code(path: Path, folder: Path) -> None:
    text = path.read_text()
    if "import torch" in text:
        pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    assert run_page(text, folder) == sum(block.runs for block in blocks_of(text))


def test_what_is_not_run() -> None:
    found = {(name, block.title) for name, text in TEXTS.items() for block in blocks_of(text) if block.language == "bash" and block.title}
    assert found == NOT_RUN


@pytest.mark.parametrize("name", TEXTS)
def test_every_block_has_a_language(name: str) -> None:
    fences = re.findall(r"^```(\w*)", TEXTS[name], re.MULTILINE)
    assert all(fences[::2]), "a block without a language"
    assert not any(fences[1::2]), "a block that does not end"


@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_tables_have_as_many_cells_as_their_heads(name: str) -> None:
    outside = re.sub(r"^```.*?^```$", "", TEXTS[name], flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", outside, re.MULTILINE):
        head, *rows = (len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines())
        assert set(rows) == {head}, table[:200]


@pytest.mark.parametrize("name", TEXTS)
def test_excerpts_are_the_source(name: str) -> None:
    for block in blocks_of(TEXTS[name]):
        if block.is_excerpt and SNIPPET not in block.text:
            rest = (ROOT / str(block.title)).read_text()
            for piece in re.split(r"^ *\.\.\.\n", block.text, flags=re.MULTILINE):
                assert piece in rest, f"line {block.line}: {block.title} has no such lines:\n{piece}"
                rest = rest.partition(piece)[2]


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    home = ROOT if name == "README.md" else DOCS
    for link, _, anchor in (found.partition("#") for found in re.findall(r"\]\((?!http)([^)\s]+)\)", TEXTS[name])):
        if link in GENERATED | PICTURED:
            continue
        target = home / link if link else home / name
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), f"{link}#{anchor}"


def anchors(page: str) -> set[str]:
    """What headings of a page are called in links."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-") for heading in headings}


@pytest.mark.parametrize("name", TEXTS)
def test_files_that_pages_name_exist(name: str) -> None:
    for path in re.findall(r"`((?:ttc|dialects|passes|runtime|tests|tools|docs|examples)/[\w./-]*)`", TEXTS[name]):
        assert (ROOT / path).exists(), path


def test_every_page_is_in_the_navigation() -> None:
    def leaves(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        parts = entry.values() if isinstance(entry, dict) else entry
        return [leaf for part in parts for leaf in leaves(part)]  # pyright: ignore[reportGeneralTypeIssues]

    found = leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(found) == sorted([*(path.name for path in DOCS.glob("*.md")), *GENERATED])


@pytest.mark.parametrize("kind", [CompileOptions, DebugOptions, RunOptions, BenchOptions, GenerateOptions, LoopOptions])
def test_every_option_is_listed(kind: type) -> None:
    before, *rest = re.split(r"(?m)^\| `(ttc tune-precision|ttc bench|ttc generate|ttc train)` \|", TEXTS["options.md"])
    after = dict(zip(rest[::2], rest[1::2], strict=True))
    tables = after.get({BenchOptions: "ttc bench", GenerateOptions: "ttc generate", LoopOptions: "ttc train"}.get(kind, ""), before)
    for item, setting in settings(kind):
        (row,) = re.findall(rf"^\| `{flag_of(item.name)}[`\[ ].*$", tables, re.MULTILINE)
        words = [choice for choice in setting.choices if f"`{choice}`" not in row]
        assert not words or item.name == "from_", row


def test_every_variable_that_is_no_option_is_named() -> None:
    assert [name for name in OWN_VARIABLES if f"`{name}`" not in TEXTS["options.md"]] == []


def test_as_many_ops_have_a_mapping_as_it_says() -> None:
    assert f"| {len(mappings())} have a mapping" in TEXTS["limits.md"]


def test_the_first_commands_are_about_what_the_demo_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    model = inspect.signature(import_module("demo").main).parameters["folder"].default / "resnet50.onnx"
    started = blocks_of(TEXTS["getting-started.md"])
    commands = next(block for block in started if block.language == "bash" and block.title is None)
    assert all(str(model.with_suffix("")) in command for command in commands.text.splitlines()[:-1])
    assert str(model) in next(block for block in started if block.language == "python").text
    assert str(model) in TEXTS["README.md"]


def test_the_way_of_an_op_leads_to_its_definitions() -> None:
    rows = re.findall(r"^\| [a-z ]+ \| `([\w/]+\.py)` \| `(\w+)`", TEXTS["architecture.md"], re.MULTILINE)
    defined = {path: name for path, name in rows if re.search(rf"^(?:def|class) {name}\b", (ROOT / path).read_text(), re.MULTILINE)}
    folders = {str(Path(path).parent) for path in defined}
    assert {"ttc/importers/onnx", "dialects/nn", "dialects/nn/kernels", "passes/nn_to_tile", "dialects/tile"} <= folders
    assert {"runtime/engines/native/lower", "runtime/engines/native/kernels", "runtime/perf", "passes/tile/expand"} <= folders
    assert dict(rows) == defined, "a name that its file does not define"


@pytest.mark.parametrize("floor", ["dialects", "passes", "runtime", "ttc"])
def test_the_architecture_names_every_folder(floor: str) -> None:
    folders = [path.parent.name for path in (ROOT / floor).glob("*/__init__.py")]
    assert [name for name in folders if f"`{floor}/{name}/`" not in TEXTS["architecture.md"]] == []


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {"errors.md", "real_models.md"}))
def test_sentences_stand_alone(name: str) -> None:
    found = re.findall(r"(?:^|[.:] +|^[|-] |\| )(?:Of|Those|That of) [a-z].*", TEXTS[name], re.MULTILINE)
    assert found == [], "a sentence that needs its neighbour"


def test_the_readme_is_short() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 150
