"""Numbers that a step exchanges though they are the host's: `average_reduce(time.time() - start)`, one by one.

    batch_time = time.time() - end
    info["time"] = average_reduce(batch_time)            a duration
    for name, value in outputs.items():
        info[name] = average_reduce(value.item())        what was read from the device to be shown
    norm = clip_grad_norm_(parameters, 1.0)
    info["norm"] = average_reduce(norm)                  what clipping gives, in all processes alike
    for name, meter in meters.items():
        writer.add_scalar(name, average_reduce(meter.last), step)        a number that only a log takes

None of them trains anything: the first is a clock's, the second has no graph any more, and the third has been used by
the time it is there. Each costs a collective of its own.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

_CLOCKS = frozenset({"time", "perf_counter", "monotonic", "process_time"})
_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_norm"})
SCALES = pattern(r"(?:^|\.)_?loss_scaler$")
"""What timm's training loops call for the backward pass and the step, `loss_scaler(loss, optimizer, ...)`; it gives the
norm of the gradients back."""
_VIEWS = frozenset({"items", "values"})
_LOGS = frozenset("add_scalar add_scalars log log_metric log_metrics log_dict report_scalar print info".split())
_FOR_A_LOG = pattern(r"(?:^|[^a-z])log|rank|is_main|is_master|print_freq|writer|wandb", re.IGNORECASE)
"""Tests for the one process that shows numbers, and for when it does."""


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


def is_a_logged_number(site: Site, given: ast.expr) -> bool:
    """Whether a call is given a number that the host has, and nothing but a log takes what comes back."""
    around = site.file.enclosing(site.function)
    if site.file.value(given, site).kind != "plain":
        return False
    statement, parent = around.statement(site.call), around.parents.get(site.call)
    if not isinstance(statement, ast.Assign) or parent is not statement or len(statement.targets) != 1:
        return _is_logged(around, site.call)
    target, body = statement.targets[0], site.file.project.body(site.file.path)
    if body is None or not isinstance(target, ast.Name):
        return False
    made, after = body.at(target), body.at(site.call, end=True)
    later = [use for use in body.reads(site.function, target.id) if body.at(use) > after]
    uses = [use for use in later if made in {d.at for d in body.reaching(site.function, use.id, body.at(use)) or ()}]
    return bool(uses) and all(_is_logged(around, use) for use in uses)


def _is_logged(around: Enclosing, node: ast.AST) -> bool:
    """Whether an expression is an argument of a log's, or an entry of a dict that is one."""
    parent = around.parents.get(node)
    while isinstance(parent, ast.Dict | ast.keyword | ast.FormattedValue | ast.JoinedStr):
        parent = around.parents.get(parent)
    return isinstance(parent, ast.Call) and last_part(chain(parent.func)) in _LOGS


def clipped_norms(turn: ast.AST) -> set[str]:
    """The names of what clipping gives back: it has clipped already, so nothing but a display or a test needs it.

    timm's scaler of losses clips as well, and gives the norm: `norm = loss_scaler(loss, optimizer, ...)`.
    """
    return {
        name
        for statement in ast.walk(turn)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        if last_part(chain(statement.value.func)) in _CLIPS or SCALES.search(chain(statement.value.func))
        for name in names_of(*statement.targets)
    }


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
    views = [
        chain(node.value) for node in ast.walk(loop.iter) if isinstance(node, ast.Attribute) and node.attr in _VIEWS
    ]
    return any(view in held or _is_for_a_log(view, loop, losses, turn) for view in views)


def _is_for_a_log(name: str, loop: ast.For, losses: set[str], turn: ast.AST) -> bool:
    """Whether a mapping came beside the loss, and only branches for a log read it: `loss, logs = model(batch)`."""
    made = [
        statement.targets[0]
        for statement in ast.walk(turn)
        if isinstance(statement, ast.Assign) and name in names_of(*statement.targets)
        if (statement.lineno, statement.col_offset) < (loop.lineno, loop.col_offset)
    ]
    beside = all(isinstance(target, ast.Tuple) and names_of(target) & losses for target in made)
    return bool(made) and beside and _is_read_for_a_log(name, loop, turn)


def _is_read_for_a_log(name: str, loop: ast.For, turn: ast.AST) -> bool:
    """Whether all reads of a name, besides those of a loop, stand in branches for one process or for a log."""
    read, stack = False, [(turn, False)]
    while stack:
        node, shown = stack.pop()
        if node is loop:
            continue
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            if not shown:
                return False
            read = True
        rare = isinstance(node, ast.If) and bool(_FOR_A_LOG.search(ast.unparse(node.test)))
        body = {id(statement) for statement in node.body} if isinstance(node, ast.If) and rare else ()
        stack += [(child, shown or id(child) in body) for child in ast.iter_child_nodes(node)]
    return read


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
