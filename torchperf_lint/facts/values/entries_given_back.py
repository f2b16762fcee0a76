"""What a function puts under a text in the dict that it gives back: `pkg["mask"]` of `pkg = render(camera)`.

    def render(camera):
        made = {"image": image, "mask": radii > 0}
        made.update({"depth": depth})
        return made

The same for a dict that the function itself writes down.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none, is_text
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.values.values import Values

Parts = list[tuple[ast.expr, Frame]]
"""Expressions, each with where it stands."""
_HOPS = 2
"""Names and calls between the entry and the dict that is written down."""


def entries(values: Values, node: ast.Subscript, frame: Frame) -> Parts:
    """All that `d["key"]` may be, as written where it was put there; nothing where that is not known."""
    if not is_text(node.slice):
        return []
    return _of(values, node.value, node.slice.value, frame, _HOPS)  # type: ignore[attr-defined]


def _of(values: Values, node: ast.expr, key: str, frame: Frame, hops: int) -> Parts:
    """What is under a key of the dict that an expression is."""
    body = values.body(frame.path)
    if body is None:
        return []
    if isinstance(node, ast.Dict):
        return _written(node, key, body, frame)
    if isinstance(node, ast.Name):
        return _of_name(values, body, node, key, frame, hops)
    if isinstance(node, ast.Call) and hops:
        return _given_back(values, node, key, frame, hops - 1)
    return []


def _written(node: ast.Dict, key: str, body: Body, frame: Frame) -> Parts:
    """The entry of a dict that is written down; what is spread into it may be under any key."""
    if not all(isinstance(name, ast.Constant) for name in node.keys):
        return []
    pairs = zip(node.keys, node.values, strict=True)
    found = [value for name, value in pairs if isinstance(name, ast.Constant) and name.value == key]
    return [(found[-1], frame._replace(at=body.at(found[-1])))] if found else []


def _of_name(values: Values, body: Body, node: ast.Name, key: str, frame: Frame, hops: int) -> Parts:
    made = body.assigned_once(frame.function, node.id, frame.at)
    if made is None or body.put_under(frame.function, node.id).get(key) or _may_change(body, node.id, key, frame):
        return []
    return _of(values, made, key, frame._replace(at=body.at(made)), hops)


def _may_change(body: Body, name: str, key: str, frame: Frame) -> bool:
    """`made.update(more)`, where `more` is not written down or has the key."""
    function = body.functions.get(frame.function)
    for call in _updates(function, name) if function is not None else ():
        given = call.args[0] if len(call.args) == 1 else None
        written = isinstance(given, ast.Dict) and all(isinstance(k, ast.Constant) for k in given.keys)
        names = {k.value for k in given.keys if isinstance(k, ast.Constant)} if isinstance(given, ast.Dict) else set()
        names |= {k.arg for k in call.keywords}
        if key in names or None in names or not (written or not call.args):
            return True
    return False


def _updates(function: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in nodes_of(function):
        if isinstance(node, ast.Call) and chain(node.func) == f"{name}.update":
            yield node


def _given_back(values: Values, call: ast.Call, key: str, frame: Frame, hops: int) -> Parts:
    """What a function of the project has under the key on every way out; nothing where one of them is not known.

    Who asks for an entry was not given None.
    """
    targets = values.types.targets(frame.path, frame.function, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is None:
        return []
    inside = Frame(targets[0].path, targets[0].index, frame.at)
    returned = [r for r in body.returns(inside.function) if not is_none(r)]
    ways = [_of(values, r, key, inside._replace(at=body.at(r)), hops) for r in returned]
    return [part for way in ways for part in way] if all(ways) else []
