"""The long forms of error codes, and the page of the documentation that is made of them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ttc.dialects.core.errors import CODES, Error, nearest
from ttc.dialects.core.records import record


@record
class Explanation:
    """An error code: what it means in one line, why it comes, and what helps."""

    code: str
    meaning: str
    why: str
    remedy: str


@cache
def _texts() -> dict[str, dict[str, str]]:
    import yaml

    return yaml.safe_load((files("ttc.dialects.core") / "data" / "explanations.yaml").read_text(encoding="utf-8"))


def explanation(code: str) -> Explanation:
    """Return the explanation of a code.  Raises E0101."""
    if code not in CODES:
        raise Error("E0101", f"there is no error code '{code[:40]}'", hint=nearest(code, CODES) or "ttc explain lists them")
    text = _texts()[code]
    return Explanation(code, CODES[code], text["why"], text["do"])


def page() -> str:
    """Return the text of the page docs/errors.md."""
    lines = ["# Error codes", "", "Made by `make docs` from the table of codes and their explanations; `ttc explain CODE` prints one.", ""]
    for code in CODES:
        found = explanation(code)
        lines += [f"## {code}", "", f"{found.meaning[0].upper()}{found.meaning[1:]}.", "", found.why, "", found.remedy, ""]
    return "\n".join(lines)
