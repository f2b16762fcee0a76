"""Code for runs in which accelerate or Fabric prepares nothing: the other branch of the test under which it does.

    if args.use_accelerate:
        loader, model = accelerator.prepare(loader, model)
    ...
    else:
        inputs = batch[0].to(device)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.iteration import prepares
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def runs_without_preparing(values: Values, frame: Frame) -> bool:
    """Whether every call of the file that prepares loaders is made only where this place is not reached."""
    body = values.body(frame.path)
    if body is None:
        return False
    refused = {(test, not held) for test, held in _tests_around(body, frame.function, frame.at)}
    calls = [call for call in values.index.outlines[frame.path].calls if prepares(call)] if refused else []
    return bool(calls) and all(
        not refused.isdisjoint(_tests_around(body, call.function, (call.line, call.column))) for call in calls
    )


def _tests_around(body: Body, function: int, at: Position) -> set[tuple[str, bool]]:
    """(attribute that an `if` asks for, whether it holds) for the branches around a place: `args.use_accelerate`.

    A name alone may be another in another function.
    """
    branches = dict(body.block_of(function, at))
    found = set()
    for statement in body.statements(function) if branches else ():
        branch = branches.get(statement.lineno)
        if isinstance(statement, ast.If) and branch in ("body", "else"):
            test, held = statement.test, branch == "body"
            while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, held = test.operand, not held
            if isinstance(test, ast.Attribute):
                found.add((ast.unparse(test), held))
    return found
