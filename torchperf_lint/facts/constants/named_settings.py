"""Settings that a call passes by a name which is bound to a literal, once, and to nothing else.

    logging_steps = 1
    arguments = TrainingArguments("out", logging_steps=logging_steps)
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.constants.options_set import is_set_on_objects
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.literals import UNKNOWN, literal_of


def literals_written_out(site: Site) -> ast.Call:
    """A call with such literals in place of the names of its keywords; the call itself where there are none.

    The literals are nodes of the file, from where the names are bound.
    """
    named = {given: _bound(site, given.value.id) for given in site.call.keywords if isinstance(given.value, ast.Name)}
    if not any(named.values()):
        return site.call
    keywords = [ast.copy_location(ast.keyword(k.arg, named.get(k) or k.value), k) for k in site.call.keywords]
    return ast.copy_location(ast.Call(site.call.func, site.call.args, keywords), site.call)


def is_bound_elsewhere(project: Project, path: str, name: str, function: int) -> bool:
    """Whether other code gives a name of a function or module its value: `global workers`, `settings.workers = 8`."""
    text = project.text(path)
    if re.search(rf"^\s*(?:global|nonlocal)\s[^\n]*\b{re.escape(name)}\b", text, re.MULTILINE):
        return True
    # What a script is told on its command line may be run as code among its names.
    return function == 0 and ("exec(" in text or "globals()" in text or is_set_on_objects(project, name))


def _bound(site: Site, name: str) -> ast.expr | None:
    """The literal that a name is bound to, in the function of the call or else in its file."""
    project, path = site.file.project, site.file.path
    body = project.body(path)
    if body is None or name in {p.name for p in site.file.outline.functions[site.function].parameters}:
        return None
    there = site.function if body.definitions(site.function).get(name) else 0
    written = body.definitions(there).get(name, ())
    value = written[0].value if len(written) == 1 and written[0].how == "assign" else None
    if value is None or literal_of(value) is UNKNOWN or is_bound_elsewhere(project, path, name, there):
        return None
    return value
