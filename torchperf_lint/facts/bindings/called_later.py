"""Names in a lambda: its body runs when it is called, after what its scope binds below it.

    to_db = lambda x: torch.log(x) / torch.log(torch.Tensor([10.0]).to(device))

    device = torch.device("cuda")                         # what the lambda reads
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import END_OF_FILE, Position
from torchperf_lint.facts.syntax.syntax import children_of


def bound_later(body: Body, function: int, name: str, at: Position) -> list[Definition]:
    """The bindings of a name below a lambda that reads it, where no binding above it reaches it."""
    if not body.may_be_in_lambda(function, at) or name not in body.definitions(function):
        return []
    if not _is_in_lambda(body, function, at):
        return []
    return body.reaching(function, name, END_OF_FILE) or []


def _is_in_lambda(body: Body, function: int, at: Position) -> bool:
    found: ast.AST | None = body.functions.get(function)
    while found is not None:
        if isinstance(found, ast.Lambda):
            return True
        found = next((child for child in children_of(found) if _holds(body, child, at)), None)
    return False


def _holds(body: Body, node: ast.AST, at: Position) -> bool:
    if not isinstance(node, ast.stmt | ast.expr):
        return any(_holds(body, child, at) for child in children_of(node))
    return body.at(node) <= at < body.at(node, end=True)
