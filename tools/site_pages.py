"""Hook of mkdocs: adds the reference pages, which no file holds, to the documentation."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from reference import PAGES


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of docs/."""
    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files
