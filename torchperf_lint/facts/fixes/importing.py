"""Imports that a fix needs or leaves behind.

written, edits = importing.require(edit, "torch.stack")    # "torch.stack", "th.stack" or "stack"
edits += importing.release(edit, "empty_cache", uses=1)    # the fix took its only use
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.bindings import effects
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.fixes.edits import Editor
from torchperf_lint.facts.fixes.listing import Listing
from torchperf_lint.model import Edit

_Import = ast.Import | ast.ImportFrom


def require(edit: Editor, dotted: str) -> tuple[str, list[Edit]]:
    """How the editor's function may write `torch.stack`, and the edits that import it where nothing does.

    An import at the top of the file is reused, under the name it gives; else `import torch` is added: after the
    imports that begin the file, or the docstring. Raises CannotFix where the name means something else here.
    """
    known = [(full, bound) for _, full, bound in _imported(edit) if dotted == full or dotted.startswith(f"{full}.")]
    for full, bound in sorted(known, key=lambda pair: (-len(pair[0]), pair[1])):
        if not _hidden(edit, bound):
            return bound + dotted[len(full) :], []
    package = dotted.partition(".")[0]
    if _hidden(edit, package) or package in edit.file.outline.imports:
        raise CannotFix(f"`{package}` means something else here")
    return dotted, [_added(edit, f"import {package}")]


def release(edit: Editor, bound: str, uses: int) -> list[Edit]:
    """The edits that take out the import of a name, once a fix has taken `uses` uses of it and no other is left.

    Empty where the import stays: another mention of any kind, an `__init__.py`, a file that imports it from here.
    """
    found = [statement for statement, _, name in _imported(edit) if name == bound]
    if len(found) != 1 or _is_exported(edit, bound):
        return []
    home = Editor(edit.file, 0)
    end = home.span(found[0])[1]
    if _uses(edit, bound) != uses or "noqa" in edit.text[end : home.line_end(end)]:
        return []
    return _without(home, found[0], bound)


def hold(edit: Editor, bound: str) -> list[Edit]:
    """An edit that changes nothing where a name is imported: of fixes that hold the same name one is made at a time.

    So the last of them sees that it is the last, and may release the import.
    """
    found = [statement for statement, _, name in _imported(edit) if name == bound]
    if len(found) != 1 or _is_exported(edit, bound):
        return []
    home = Editor(edit.file, 0)
    start, end = home.span(found[0])
    return [Edit(start, end, edit.text[start:end])]


def _uses(edit: Editor, bound: str) -> int:
    """How often the file names it, in `__all__` and in annotations in quotes as well."""
    count = 0
    for statement in _top(edit):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                count += node.id == bound
            quoted = [getattr(node, "annotation", None), getattr(node, "returns", None)]
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and "__all__" in ast.unparse(node):
                quoted += ast.walk(node)
            texts = [q.value for q in quoted if isinstance(q, ast.Constant) and isinstance(q.value, str)]
            count += sum(bool(re.search(rf"\b{re.escape(bound)}\b", text)) for text in texts)
    return count


def _without(home: Editor, statement: _Import, bound: str) -> list[Edit]:
    if len(statement.names) == 1:
        return home.drop_statement(statement)
    node = home.node(statement)
    assert isinstance(node, cst.Import | cst.ImportFrom) and not isinstance(node.names, cst.ImportStar)
    spans = tuple(home.span(alias) for alias in node.names)
    end = home.span(node)[1]
    closed = isinstance(node, cst.ImportFrom) and node.rpar is not None
    opening = home.text.index("(", home.span(node)[0]) + 1 if closed else spans[0][0]
    index = next(i for i, alias in enumerate(statement.names) if _bound(alias, statement) == bound)
    return Listing(home.text, spans, opening, end - 1 if closed else end).drop(index)


def _imported(edit: Editor) -> Iterator[tuple[_Import, str, str]]:
    """(statement, dotted name, bound name) of each absolute import at the top level of the file."""
    for statement in _top(edit):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                bound = _bound(alias, statement)
                if isinstance(statement, ast.Import):
                    yield statement, alias.name if alias.asname else bound, bound
                elif not statement.level and alias.name != "*":
                    yield statement, f"{statement.module}.{alias.name}", bound


def _bound(alias: ast.alias, statement: _Import) -> str:
    return alias.asname or (alias.name.partition(".")[0] if isinstance(statement, ast.Import) else alias.name)


def _top(edit: Editor) -> list[ast.stmt]:
    body = edit.file.project.body(edit.file.path)
    if body is None:
        raise CannotFix("the file changed")
    return body.functions[0].body


def _hidden(edit: Editor, bound: str) -> bool:
    """Whether the name is bound otherwise in the function, in one around it, or a second time in the module."""
    outline, body = edit.file.outline, edit.file.project.body(edit.file.path)
    assert body is not None
    function = edit.function
    while function > 0:
        record = outline.functions[function]
        nested = {f.name for f in outline.functions if f.parent == function}
        own = {*body.definitions(function), *(p.name.lstrip("*") for p in record.parameters), *nested}
        if bound in own or bound in _imported_within(body.functions[function].body):
            return True
        function = record.parent
    imports = _imported_within(body.functions[0].body).get(bound, ())
    return len(imports) > 1 or bound in body.definitions(0) or bound in outline.tops


def _imported_within(block: Sequence[ast.stmt]) -> dict[str, set[str]]:
    """Name -> what imports bind it to in a block, nested blocks included; `import torch.nn` binds `torch` to itself."""
    found: dict[str, set[str]] = {}
    for statement in effects.statements(block):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                bound = _bound(alias, statement)
                module = f"{'.' * statement.level}{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
                plain = isinstance(statement, ast.Import) and not alias.asname
                found.setdefault(bound, set()).add(bound if plain else f"{module}{alias.name}")
    return found


def _added(edit: Editor, statement: str) -> Edit:
    home = Editor(edit.file, 0)
    top = _top(edit)
    documented = bool(top) and isinstance(top[0], ast.Expr) and isinstance(top[0].value, ast.Constant)
    leading: list[ast.stmt] = top[:1] if documented else []
    for other in top[len(leading) :]:
        if not isinstance(other, ast.Import | ast.ImportFrom):
            break
        leading.append(other)
    if not leading:
        return home.insert_before(top[0], f"{statement}\n") if top else Edit(0, 0, f"{statement}\n")
    last = leading[-1]
    apart = not isinstance(last, ast.Import | ast.ImportFrom) or getattr(last, "module", "") == "__future__"
    return home.insert_after(last, f"\n{statement}" if apart else statement)


def _is_exported(edit: Editor, bound: str) -> bool:
    path = PurePosixPath(edit.file.path)
    if path.name == "__init__.py":
        return True
    for other, outline in edit.file.project.index.outlines.items():
        if other != edit.file.path and (
            any(name.endswith(f"{path.stem}.{bound}") for name in outline.imports.values())
            or any(name.endswith(path.stem) for name in outline.stars)
        ):
            return True
    return False
