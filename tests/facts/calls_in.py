"""The calls of a snippet, as rules see them."""

from __future__ import annotations

import ast

from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile


def site_of(snippet: str | dict[str, str], call: str) -> Site:
    """The last call that is written so, in the last file that has it."""
    files = texts(snippet)
    project = Project.of_texts(files)
    wanted = ast.unparse(ast.parse(call, mode="eval").body)
    for path in reversed(files):
        file = SourceFile(project, path, files[path])
        found = [site for site in file.calls_among(file.outline.calls) if ast.unparse(site.call) == wanted]
        if found:
            return found[-1]
    raise AssertionError(f"nothing calls {call}")
