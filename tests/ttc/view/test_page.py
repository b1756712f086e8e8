"""The page: one file whose policy allows its own script and style alone."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re

import pytest

from tests.ttc.view.conftest import HOSTILE, Compiled
from ttc.view.document import ViewParts, document, opened
from ttc.view.dumped_passes import DumpedPasses
from ttc.view.page import ASSETS, SCRIPTS, page

MOST_BYTES = 3_000_000
"""Bytes of all that a wheel carries for pages, at most."""


@pytest.fixture(scope="module")
def text(compiled: Compiled) -> str:
    return page(document(ViewParts(opened(compiled.archive), DumpedPasses(compiled.dump), title=HOSTILE)))


def test_nothing_of_a_model_is_markup(text: str) -> None:
    assert HOSTILE not in text
    assert "<title>&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt; - ttc view</title>" in text
    assert text.count("</script>") == 2
    assert text.count("<script") == 2


def test_the_policy_allows_what_is_there(text: str) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_a_live_page_may_ask_its_own_server(compiled: Compiled) -> None:
    assert "connect-src 'self'" in page(document(ViewParts(opened(compiled.archive), live=True)))


def test_the_document_is_inside(text: str) -> None:
    (data,) = re.findall(r'<script type="text/plain" id="document">([A-Za-z0-9+/=]*)</script>', text)
    found = json.loads(gzip.decompress(base64.b64decode(data)))
    assert found["title"] == HOSTILE
    assert len(found["stages"]) == 4


def test_the_same_bytes_each_time(compiled: Compiled, text: str) -> None:
    assert page(document(ViewParts(opened(compiled.archive), DumpedPasses(compiled.dump), title=HOSTILE))) == text


def test_all_scripts_are_used_and_small() -> None:
    assert sorted(SCRIPTS) == sorted(path.name for path in ASSETS.glob("*.js"))
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) < MOST_BYTES


def test_the_library_keeps_its_licence(text: str) -> None:
    assert "Permission is hereby granted, free of charge" in text


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "dagre.min.js"])
def test_no_script_makes_markup_or_code_of_text(name: str) -> None:
    source = (ASSETS / name).read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in source
