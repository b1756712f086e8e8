"""Hook of mkdocs: adds to the documentation what no file of docs/ holds: reference pages, and pages of `ttc view`."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from reference import PAGES
from view_pages import FOLDER as VIEWS
from view_pages import PAGES as PICTURED


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, of which those of `ttc view` are made before, to those of docs/."""
    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    for name in PICTURED:
        files.append(File.generated(config, f"view/{name}.html", abs_src_path=str(VIEWS / f"{name}.html")))
    return files
