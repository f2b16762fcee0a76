"""Numbers that a step exchanges though they are the host's: `average_reduce(time.time() - start)`, one by one.

    batch_time = time.time() - end
    info["time"] = average_reduce(batch_time)            a duration
    for name, value in outputs.items():
        info[name] = average_reduce(value.item())        what was read from the device to be shown

Neither trains anything: the one is a clock's, the other has no graph any more. Each costs a collective of its own.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_CLOCKS = frozenset({"time", "perf_counter", "monotonic", "process_time"})
_VIEWS = frozenset({"items", "values"})


def is_a_duration(site: Site, given: ast.expr) -> bool:
    """Whether a call is given the difference of two times, or a name that was given one."""
    body = site.file.project.body(site.file.path)
    return body is not None and _is_duration(body, site.function, given)


def _is_duration(body: Body, function: int, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        bound = body.reaching(function, node.id, body.at(node)) or []
        values = [d.value for d in bound if d.how == "assign"]
        return bool(bound) and len(values) == len(bound) and all(_is_difference(value) for value in values)
    return _is_difference(node)


def _is_difference(node: ast.expr | None) -> bool:
    """`time.time() - end`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return isinstance(node.left, ast.Call) and last_part(chain(node.left.func)) in _CLOCKS and not node.left.args


def goes_through(loop: ast.AST, losses: set[str], turn: ast.AST) -> bool:
    """Whether a loop goes through the mapping that a loss of the turn is an entry of: `loss = outputs["total"]`."""
    if not isinstance(loop, ast.For):
        return False
    held = {
        chain(statement.value.value)
        for statement in ast.walk(turn)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Subscript)
        if names_of(*statement.targets) & losses
    }
    views = (node for node in ast.walk(loop.iter) if isinstance(node, ast.Attribute) and node.attr in _VIEWS)
    return any(chain(view.value) in held for view in views)


def names_before(turn: ast.AST, names: set[str]) -> set[str]:
    """The names that some names are computed of where they are, themselves included."""
    wanted = set(names)
    for _ in range(3):
        for statement in ast.walk(turn):
            if isinstance(statement, ast.Assign | ast.AugAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                if names_of(*targets) & wanted:
                    wanted |= names_of(statement.value)
    return wanted
