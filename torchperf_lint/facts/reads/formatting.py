"""Where values become text: f-strings, `print`, logging calls, `str(x)`, `"%s" % x`, `"{}".format(x)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.literals import is_false, is_text
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_TEXTS = ("str", "repr", "format", "ascii")
_LOGGED = ("info", "log")
_LOGGER = pattern(r"^_?(?:\w+_)?log(?:ger|ging)?$|^loguru$", re.IGNORECASE)
_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})
_FOR_TROUBLE = pattern(
    r"^(?:warn|warning|error|critical|exception|fatal|fail|rank_zero_warn|\w*(?:Error|Exception|Warning))$"
)
"""Calls that say that something is wrong: not every step."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Formatted(NamedTuple):
    """A place that makes text of values."""

    place: Place
    values: tuple[ast.expr, ...]


def formatted(file: SourceFile) -> Iterator[Formatted]:
    """The hot places that make text of values, for any other purpose than to complain."""
    for found in (*_by_calls(file), *_by_operators(file)):
        if found.values and not _complains(found.place) and not _names_something(found.place):
            yield found


def _by_calls(file: SourceFile) -> Iterator[Formatted]:
    for site in file.hot_calls("print", "pprint", *_TEXTS, *_LOGGED):
        call, name = site.call, last_part(site.record.callee)
        given = arguments(call)
        is_text = isinstance(site.receiver, ast.Constant | ast.JoinedStr)
        logs = site.receiver is not None and bool(_LOGGER.match(last_part(chain(site.receiver))))
        if isinstance(call.func, ast.Name) and name in _TEXTS:
            given = given[:1]
        elif name in ("print", "pprint") or (name == "format" and is_text):
            pass
        elif name not in _LOGGED or not logs or _is_of_the_project(site):
            continue
        yield Formatted(site, _spread(given))


def _is_of_the_project(site: Site) -> bool:
    """Whether a logger is the project's own: what its method does with a value is told in it, but for what goes into
    `*args` or `**values`, which it hands on."""
    project = site.file.project
    thing = project.values.thing(site.call.func, site.frame)
    if thing is None or thing.kind != "function":
        return False
    body = project.body(thing.path)
    method = body.functions.get(thing.index) if body is not None else None
    return not isinstance(method, ast.FunctionDef) or not (method.args.vararg or method.args.kwarg)


def _by_operators(file: SourceFile) -> Iterator[Formatted]:
    for spot in hot_nodes(file, ast.JoinedStr, ast.BinOp, where=_is_text):
        values = written_into(spot.expression)
        if values is not None:
            yield Formatted(spot, values)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))


def written_into(node: ast.AST | None) -> tuple[ast.expr, ...] | None:
    """What an f-string or an operator makes text of, `"%s: %.3f" % (name, loss)`; None for other expressions."""
    if isinstance(node, ast.JoinedStr):
        return tuple(part.value for part in node.values if isinstance(part, ast.FormattedValue))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_format(node.left):
        return _spread(node.right.elts if isinstance(node.right, ast.Tuple) else [node.right])
    return None


def given_to_format(node: ast.AST) -> tuple[ast.expr, ...] | None:
    """What `"{}: {:.3f}".format(name, loss)` makes text of; None for other expressions."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "format":
        return None
    return _spread(arguments(node)) if isinstance(node.func.value, ast.Constant | ast.JoinedStr) else None


def _names_something(place: Place) -> bool:
    """Whether a text is the name of an attribute, or of an entry in a dict: no tensor is called so.

    Also `mask = "{}_mask".format(split)`, where all that is done with it is to ask for what is called so.
    """
    around = place.file.enclosing(place.function)
    parent = around.parents.get(place.expression)
    if _asks_by(parent, place.expression) or (isinstance(parent, ast.Dict) and place.expression in parent.keys):
        return True
    if isinstance(parent, ast.DictComp):
        return parent.key is place.expression
    body = place.file.project.body(place.file.path)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name) and body is not None:
        uses = body.reads(place.function, parent.targets[0].id)
        return bool(uses) and all(_asks_by(around.parents.get(use), use) for use in uses)
    return False


def _asks_by(parent: ast.AST | None, name: ast.AST) -> bool:
    """`batch[mask]`, `getattr(batch, mask)`, `mask in batch`."""
    if isinstance(parent, ast.Subscript):
        return parent.slice is name
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], ast.In | ast.NotIn) and parent.left is name
    return isinstance(parent, ast.Call) and chain(parent.func) in _BY_NAME


def _spread(values: Iterable[ast.expr]) -> tuple[ast.expr, ...]:
    """What is formatted: of `*losses` the tensor that is taken apart."""
    return tuple(v.value if isinstance(v, ast.Starred) else v for v in values)


def _is_format(node: ast.expr) -> bool:
    """A text, and one put together: `"%10s" + "%10.4g" * 3`."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        node = node.left
    return is_text(node)


def _complains(place: Place) -> bool:
    """Whether the text is for an error or a warning, which is rare."""
    enclosing = place.file.enclosing(place.function)
    if _is_told_as_trouble(enclosing, place.expression) or _is_kept_for_trouble(place, enclosing):
        return True
    node: ast.AST = enclosing.statement(place.expression) or place.expression
    branch = next(enclosing.around(node), None)
    return isinstance(branch, ast.If) and node in branch.body and _only_when_odd(place, branch)


def _is_told_as_trouble(enclosing: Enclosing, text: ast.AST) -> bool:
    """Whether a text is raised, or given to what says that something is wrong."""
    node: ast.AST = text
    for parent in enclosing.ancestors(text):
        if isinstance(parent, ast.Raise) or (isinstance(parent, ast.Assert) and parent.msg is node):
            return True
        if isinstance(parent, ast.IfExp) and any(is_text(arm) for arm in (parent.body, parent.orelse)):
            return True  # `check(fine, "must be positive" if fine else f"must be positive, got {x}")`
        if isinstance(parent, ast.Call) and (_FOR_TROUBLE.match(last_part(chain(parent.func))) or _fails(parent)):
            return True
        node = parent
    return False


def _is_kept_for_trouble(place: Place, enclosing: Enclosing) -> bool:
    """Whether a name keeps the text, only told as trouble: `msg = f"{x} is odd"`, then `warnings.warn(msg)`."""
    statement = enclosing.statement(place.expression)
    body = place.file.project.body(place.file.path)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    if body is None or not isinstance(statement, ast.Assign | ast.AugAssign) or not isinstance(target, ast.Name):
        return False
    uses = body.reads(place.function, target.id)
    told = (enclosing.statement(use) for use in uses if _is_told_as_trouble(enclosing, use))
    beside = [by for by in told if by is not None and _always_follows(enclosing, by, statement)]
    return bool(uses) and len(beside) == len(uses)


def _always_follows(enclosing: Enclosing, later: ast.stmt, statement: ast.stmt) -> bool:
    """Whether a statement stands below another in the same block, and nothing between the two may leave the block.

    What is raised further in, under a test, or in the `else` of the loop, has been written before it.
    """
    suite = enclosing.suite(statement)
    above, below = enclosing.place_in_suite(statement), enclosing.place_in_suite(later)
    return enclosing.suite(later) is suite and above < below and not any(map(_may_leave, suite[above + 1 : below]))


def _may_leave(statement: ast.stmt) -> bool:
    """Whether what stands below a statement may be passed over; a loop's own `break` ends only that."""
    if isinstance(statement, _DEFINITIONS):
        return False
    leaves = (ast.Return,) if isinstance(statement, _LOOPS) else (ast.Return, ast.Continue, ast.Break)
    return any(isinstance(node, leaves) for node in nodes_of(statement))


def _only_when_odd(place: Place, branch: ast.If) -> bool:
    """`if torch.min(y) < -1: print(torch.min(y))`: what only says something about values is for odd ones."""
    if branch.orelse or not all(isinstance(s, ast.Expr) for s in branch.body):
        return False
    value = place.file.value(branch.test, place)
    return value.kind == "tensor" and value.on_device


def _fails(call: ast.Call) -> bool:
    """`check(False, f"...")`: a call that can only complain."""
    first = call.args[0] if len(call.args) > 1 else None
    return is_false(first)
