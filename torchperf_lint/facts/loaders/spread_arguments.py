"""Calls with the keywords that they spread written out: `DataLoader(data, **params)` of a dict that is written down.

    params = {"batch_size": 64, "num_workers": 8}
    loader = DataLoader(data, **params)

Known is a dict that nothing changes between where it is written and the call: a name's, or an attribute's of `self`.
"""

from __future__ import annotations

import ast
from itertools import product
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.held import CHANGES
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.arguments import keyword, unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values



def written_out(values: Values, call: ast.Call, frame: Frame) -> ast.Call:
    """A call with each keyword that it is known to spread as one of its own; the call itself where it spreads none.

    What is not known stays spread. The keywords are nodes from elsewhere: nothing may be edited by them.
    """
    if not unpacks_keywords(call):
        return call
    keywords: list[ast.keyword] = []
    for given in call.keywords:
        made = _written(values, given.value, frame) if given.arg is None else None
        spread = _keywords(made) if made is not None else None
        keywords += [given] if spread is None else spread
    return ast.copy_location(ast.Call(call.func, call.args, keywords), call)


def each_written_out(values: Values, call: ast.Call, frame: Frame) -> list[ast.Call]:
    """The same for each way that what is spread may be: `**({"num_workers": 8} if cuda else {})` is one of two.

    So is a name that branches bind: `more = {}`, and `if workers: more = {"prefetch_factor": 2}`.
    """
    if not unpacks_keywords(call):
        return [call]
    ways = (_ways(values, given, frame) for given in call.keywords)
    return [
        ast.copy_location(ast.Call(call.func, call.args, [given for part in way for given in part]), call)
        for way in product(*ways)
    ]


def _ways(values: Values, given: ast.keyword, frame: Frame) -> list[list[ast.keyword]]:
    made = _each_written(values, given.value, frame) if given.arg is None else []
    ways = [way for one in made for way in ((one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,))]
    spread = [_keywords(way) for way in ways]
    known = [way for way in spread if way is not None]
    return known if known and len(known) == len(spread) else [[given]]


def _each_written(values: Values, node: ast.expr, frame: Frame) -> list[ast.expr]:
    """All that is spread, as it is written down; empty where that is not known."""
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None and body.definitions(frame.function).get(node.id):
        changed = _changes(body, frame.function, node.id)
        return [] if changed else body.assigned(frame.function, node.id, frame.at)
    made = _written(values, node, frame)
    return [made] if made is not None else []


def spreads_keyword(values: Values, call: ast.Call, name: str, frame: Frame) -> bool:
    """Whether a call gets a keyword from what it spreads, so that it cannot be written beside that."""
    return keyword(call, name) is None and keyword(written_out(values, call, frame), name) is not None


def dicts_spread(values: Values, call: ast.Call, frame: Frame) -> list[ast.expr]:
    """The dicts that a call is known to spread, as they are written down."""
    made = (_written(values, given.value, frame) for given in call.keywords if given.arg is None)
    return [node for node in made if node is not None and _keywords(node) is not None]


def _written(values: Values, node: ast.expr, frame: Frame) -> ast.expr | None:
    """What is spread, as it is written down: a name stands for what it is bound to."""
    body = values.body(frame.path)
    if body is None:
        return None
    if isinstance(node, ast.Name):
        return _bound(body, node.id, frame)
    if isinstance(node, ast.Attribute) and chain(node.value) == "self":
        return _held(values, body, node.attr, frame)
    return node


def _bound(body: Body, name: str, frame: Frame) -> ast.expr | None:
    """What a name is bound to in the function, or else in its file, and nothing but that."""
    for function in dict.fromkeys((frame.function, 0)):
        bound = body.definitions(function).get(name)
        if not bound:
            continue
        made = body.assigned_once(function, name, frame.at if function == frame.function else END_OF_FILE)
        return made if made is not None and not _changes(body, function, name) else None
    return None


def _held(values: Values, body: Body, name: str, frame: Frame) -> ast.expr | None:
    """What `self.settings` is set to, in the one place of its class that sets it."""
    own = values.index.class_of(frame.path, frame.function)
    if own is None:
        return None
    methods = values.index.record(own).methods.values()
    made = [value for method in methods for value, _ in body.self_assigned(method, name)]
    if len(made) != 1 or any(_changes(body, method, f"self.{name}") for method in methods):
        return None
    return made[0]


def _changes(body: Body, function: int, written: str) -> bool:
    """`params["shuffle"] = True`, `params.update(more)`."""
    return bool(body.put_under(function, written) or body.stored_items(function, written)) or any(
        use in CHANGES for use, _ in body.uses(function, written)
    )


def _keywords(node: ast.expr) -> list[ast.keyword] | None:
    """The entries of `{"num_workers": 8}` or `dict(num_workers=8)`; None where they are not all written down."""
    if isinstance(node, ast.Call):
        alone = chain(node.func) == "dict" and not node.args and not unpacks_keywords(node)
        return list(node.keywords) if alone else None
    if not isinstance(node, ast.Dict):
        return None
    found = []
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        found.append(ast.keyword(key.value, value))
    return found
