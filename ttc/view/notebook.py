"""Pages in notebooks: what `Program.view()` gives, and the few lines in which a program shows itself."""

from __future__ import annotations

import html
import os
import tempfile
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.inputs.files import require_output, write_bytes
from ttc.runtime.archive import open_archive
from ttc.runtime.program import Program
from ttc.view.document import ViewParts, document, summary
from ttc.view.dumped_passes import DumpedPasses
from ttc.view.page import page

HEIGHT = 720
"""The height of a page within a notebook, in pixels."""


@record
class Page:
    """A page of `ttc view`, which a notebook shows in a frame.  text: the HTML."""

    text: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page as one HTML file.  Raises E0103."""
        target = Path(path)
        require_output(target)
        write_bytes(target, self.text.encode())

    def _repr_html_(self) -> str:
        """Return the frame: scripts of the page run in it, and reach nothing of the notebook."""
        source = html.escape(self.text, quote=True)
        return f'<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:{HEIGHT}px;border:0" srcdoc="{source}"></iframe>'


def page_of(program: Program, dump: str | os.PathLike[str] | None = None) -> Page:
    """Return the page of a program.

    dump: folder that `ttc.compile(..., dump=folder)` wrote; with it stages and passes are shown, too.
    Raises:  E0102, E0103, E0301.
    """
    passes = None if dump is None else DumpedPasses(Path(dump))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.tti"
        program.save(path)
        archive = open_archive(path)
        return Page(page(document(ViewParts(archive, passes, title=archive.manifest.description.model))))


def summary_html(program: Program) -> str:
    """Return a program in a few lines of HTML: its target, its programs with their inputs and outputs, estimated times."""
    try:
        found = summary(program.netlist, program.description)
    except Error as error:
        return f"<p>{html.escape(str(error))}</p>"
    head = f"<b>{html.escape(found['title'])}</b> for {html.escape(found['target'])}: {found['epochs']} epochs, {found['ops']} ops"
    costs = {cost["name"]: cost for cost in found["programs"]}
    rows = [_row(name, signature, costs.get(name, {})) for name, signature in found["signatures"].items()]
    titles = "".join(f"<th>{title}</th>" for title in ("program", "takes", "gives", "estimate"))
    return f"<p>{head}</p><table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(name: str, signature: dict[str, list[dict[str, str]]], cost: dict[str, float]) -> str:
    ways = ["<br>".join(html.escape(f"{a['name']}: {a['type']}") for a in signature[way]) for way in ("arguments", "results")]
    told = f"{cost['us'] / 1e3:.3g} ms, {cost['samples_per_second']:,.0f} samples/s" if "us" in cost else "-"
    return f"<tr><td>{html.escape(name)}</td><td>{ways[0]}</td><td>{ways[1]}</td><td>{told}</td></tr>"
