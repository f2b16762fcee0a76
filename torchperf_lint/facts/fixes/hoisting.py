"""The fix of a module that a loop moves in each turn: the statement goes before the loop.

    for x, y in loader:                        model.to(device)
        model.to(device)                       for x, y in loader:
        loss = model(x.to(device)).mean()          loss = model(x.to(device)).mean()

No fix where the loop sets anything that the statement names, or uses the module before it. Unsafe: a loop without
turns moves nothing, and an optimizer of some backends wants the module where it was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Edit, Fix, Safety

_NAMED = (ast.Name, ast.Attribute, ast.Constant, ast.expr_context)


def before_the_loop(site: Site) -> Fix | None:
    """The fix of `model.to(device)` or `model = model.to(device)` that is a statement of its loop; else None."""
    return fix_of(site, Safety.UNSAFE, lambda edit: _edits(edit, site))


def _edits(edit: Editor, site: Site) -> list[Edit]:
    around = site.file.enclosing(site.function)
    statement = around.statement(site.call)
    loop = around.parents.get(statement) if statement is not None else None
    if statement is None or not isinstance(loop, ast.For | ast.While) or statement not in loop.body:
        raise CannotFix("it is no statement of the loop itself")
    if not _is_whole(statement, site) or not all(_is_named(site, a) for a in arguments(site.call)):
        raise CannotFix("it does more than move")
    used = {chain(node) for node in ast.walk(site.call) if isinstance(node, ast.Name | ast.Attribute)}
    if any(_is_part(written, name) for written in _written(loop, statement) for name in used):
        raise CannotFix("the loop sets what it is made of")
    if any(_uses(earlier, chain(site.receiver)) for earlier in loop.body[: loop.body.index(statement)]):  # type: ignore[arg-type]
        raise CannotFix("the loop uses it before")
    start, end = edit.span(statement)
    if "\n" in edit.text[start:end]:
        raise CannotFix("it stands on several lines")
    rest = edit.text[end : edit.line_end(end)]
    text = edit.text[start:end] + (rest if rest.lstrip().startswith("#") else "")
    node = edit.around(site.call, cst.For if isinstance(loop, ast.For) else cst.While)
    assert node is not None
    return [edit.insert_before(node, text), *edit.drop_statement(site.call)]


def _is_whole(statement: ast.stmt, site: Site) -> bool:
    """`model.to(device)`, or `model = model.to(device)`."""
    if isinstance(statement, ast.Expr):
        return statement.value is site.call
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not site.call:
        return False
    assert site.receiver is not None
    return chain(statement.targets[0]) == chain(site.receiver)


def _is_named(site: Site, node: ast.expr) -> bool:
    """A name, an attribute, a constant, or a device made of these."""
    if isinstance(node, ast.Call):
        return site.file.denotes(node.func, site) == "torch.device" and all(
            _is_named(site, argument) for argument in arguments(node)
        )
    return all(isinstance(part, _NAMED) for part in ast.walk(node))


def _written(loop: ast.For | ast.While, statement: ast.stmt) -> Iterator[str]:
    """The chains that a loop binds, but by the statement itself."""
    own = set(ast.walk(statement))
    for node in ast.walk(loop):
        if node not in own and isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield chain(node)


def _is_part(written: str, name: str) -> bool:
    return name == written or name.startswith(f"{written}.")


def _uses(statement: ast.stmt, name: str) -> bool:
    """Whether a statement does something with a module, and not only `model.train()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and chain(call.func) in (f"{name}.train", f"{name}.eval"):
        return False
    return any(chain(node) == name for node in ast.walk(statement) if isinstance(node, ast.Name | ast.Attribute))
