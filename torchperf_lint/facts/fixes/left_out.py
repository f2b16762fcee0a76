"""The fix of a call that should not be there: its statement goes, with a test that guards nothing else."""

from __future__ import annotations

import ast

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.model import Edit, Fix, Safety

_HARMLESS = (ast.Name, ast.Attribute, ast.Constant, ast.BoolOp, ast.UnaryOp, ast.boolop, ast.unaryop, ast.expr_context)


def left_out(site: Site) -> Fix | None:
    """Take a call out, and an import that nothing else uses; None where its value is used, or other code needs it.

    Unsafe: that the call did nothing of use is what the rule says, not what can be proved.
    """
    return fix_of(site, Safety.UNSAFE, lambda edit: _removed(edit, site))


def _removed(edit: Editor, site: Site) -> list[Edit]:
    statement = edit.statement(site.call)
    if not isinstance(statement, cst.Expr) or statement.value is not edit.node(site.call):
        raise CannotFix("its value is used")
    if not all(_is_harmless(a) for a in arguments(site.call)):
        raise CannotFix("its arguments are computed")
    if _is_called_when_cold(site):
        raise CannotFix("the function around is called elsewhere as well")
    edits = edit.drop_statement(_guard(edit, site) or site.call)
    base: ast.expr = site.call.func
    while isinstance(base, ast.Attribute):
        base = base.value
    return edits + (importing.release(edit, base.id, 1) if isinstance(base, ast.Name) else [])


def _is_called_when_cold(site: Site) -> bool:
    """Whether a helper that a hot loop calls is also called where the call may be right: between phases."""
    if site.hot is None or not site.hot.depth:
        return False
    hotness = site.file.project.hotness
    callers = hotness.callers.get(FunctionKey(site.file.path, site.function), ())
    return any(hotness.at(caller.path, (caller.call.line, caller.call.column)) is None for caller in callers)


def _guard(edit: Editor, site: Site) -> cst.If | None:
    """`if torch.cuda.is_available():`, `if self.is_main_process:` around nothing but the call."""
    test = edit.around(site.call, cst.If)
    if test is None or test.orelse is not None or len(test.body.body) != 1:
        return None
    parents = edit.unit.parents
    line = parents[edit.statement(site.call)]
    shared = isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1
    alone = not shared and test.body in (line, parents[line])
    is_elif = isinstance(parents[test], cst.If) and parents[test].orelse is test  # type: ignore[attr-defined]
    return test if alone and not is_elif and _asks_only(edit.source(test.test)) else None


def _asks_only(test: str) -> bool:
    """Whether a test changes nothing: names, attributes, and whether there is a device."""
    tree = ast.parse(f"({test})", mode="eval").body
    parts = tree.values if isinstance(tree, ast.BoolOp) else [tree]
    return all(ast.unparse(part).endswith(".is_available()") or _is_harmless(part) for part in parts)


def _is_harmless(node: ast.expr) -> bool:
    return all(isinstance(part, _HARMLESS) for part in ast.walk(node))
