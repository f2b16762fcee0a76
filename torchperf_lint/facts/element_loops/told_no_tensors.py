"""Lists of which a test of an element shows that they hold no tensors: the `else` of `if torch.is_tensor(item)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part


def told_no_tensors(site: Site, data: ast.expr) -> bool:
    """Whether a call stands where `data[0]`, or a name for it, is known to be no tensor."""
    if not isinstance(data, ast.Name):
        return False
    inner: ast.AST = site.call
    for parent in site.file.enclosing(site.function).around(site.call):
        if isinstance(parent, ast.If | ast.IfExp) and inner is not parent.test:
            held = inner in (parent.body if isinstance(parent.body, list) else [parent.body])
            test = parent.test
            while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, held = test.operand, not held
            asked = test.args[0] if isinstance(test, ast.Call) and _asks_for_tensor(test) else None
            if asked is not None and not held and _is_element(site, asked, data.id):
                return True
        inner = parent
    return False


def _asks_for_tensor(test: ast.Call) -> bool:
    if not test.args:
        return False
    if last_part(chain(test.func)) == "is_tensor":
        return True
    kinds = test.args[1] if chain(test.func) == "isinstance" and len(test.args) > 1 else None
    parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds is not None else []
    return any(last_part(chain(part)) == "Tensor" for part in parts)


def _is_element(site: Site, node: ast.expr, name: str) -> bool:
    if isinstance(node, ast.Name):
        body = site.file.project.body(site.file.path)
        bound = body.assigned_once(site.function, node.id, body.at(node)) if body is not None else None
        return bound is not None and not isinstance(bound, ast.Name) and _is_element(site, bound, name)
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name
