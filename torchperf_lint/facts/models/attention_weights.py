"""Calls of `nn.MultiheadAttention` that compute the attention weights for nobody.

    out, _ = self.attn(q, k, v)        self.attn(q, k, v)[0]        out = self.attn(q, k, v); x = x + out[0]

The module gives (output, weights), and computes the weights unless it is told not to. It may stand in a list of such.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.models.listed_modules import makers_of_listed
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_true

NEED_WEIGHTS = ("need_weights", 4)
"""The parameter, and its position."""
_MADE = frozenset(f"torch.nn.{module}MultiheadAttention()" for module in ("", "modules.", "modules.activation."))
_AVERAGED = 6


class Unread(NamedTuple):
    """A call whose attention weights nothing reads."""

    site: Site
    how: str
    """How the statement drops them, in words."""
    asked: bool
    """Whether the call asks for them in so many words."""


def unread_weights(file: SourceFile) -> Iterator[Unread]:
    """The hot calls of torch's own multi-head attention that compute weights which nothing reads."""
    records = [call for call in file.outline.calls if _is_torchs_own(file, call)]
    for site in file.calls_among(records):
        if site.hot is None or site.hot.kind == "data":
            continue
        asked = _asked(site.call)
        how = _dropped(file, site) if asked is not None else None
        if asked is not None and how is not None:
            yield Unread(site, how, asked)


def _is_torchs_own(file: SourceFile, call: Call) -> bool:
    """Whether a call runs torch's own module: a subclass may give its weights another use."""
    if not call.callee.startswith("self.") and not call.callee.isidentifier():
        return False
    if _are_torchs_own(file, call.function, call.callee):
        return True
    listed = makers_of_listed(file, call)
    return listed is not None and all(_are_torchs_own(file, listed[0], f"{chain(m.func)}()") for m in listed[1])


def _are_torchs_own(file: SourceFile, function: int, written: str) -> bool:
    things = file.project.types.things(file.path, function, written)
    return bool(things) and all(thing.kind == "external" and thing.dotted in _MADE for thing in things)


def _asked(call: ast.Call) -> bool | None:
    """Whether the weights are asked for, by a literal or else by default; None where the call may not compute them."""
    name, position = NEED_WEIGHTS
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in given or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if "average_attn_weights" in given or len(call.args) > _AVERAGED:
        return None  # somebody looks at them, a hook at least
    value = given.get(name) or (call.args[position] if len(call.args) > position else None)
    if value is None:
        return False
    return True if is_true(value) else None


def _dropped(file: SourceFile, site: Site) -> str | None:
    """How the weights are dropped; None where something may read them."""
    body = file.project.body(file.path)
    assert body is not None
    parent = file.enclosing(site.function).parents.get(site.call)
    if isinstance(parent, ast.Subscript):
        return "only `[0]` is taken" if _is_first(parent.slice) else None
    if isinstance(parent, ast.Expr):
        return "nothing takes them"
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return None
    target = parent.targets[0]
    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
        second = target.elts[1]
        if isinstance(second, ast.Name) and not body.reads(site.function, second.id):
            return f"nothing reads `{second.id}`"
        return None
    if isinstance(target, ast.Name):
        return _first_only(file, site, parent, target.id)
    return None


def _first_only(file: SourceFile, site: Site, assigned: ast.Assign, name: str) -> str | None:
    """`out = self.attn(q, k, v)`, where all that is read of this `out` is `out[0]`."""
    around, body = file.enclosing(site.function), file.project.body(file.path)
    assert body is not None
    found = False
    for node in body.reads(site.function, name):
        reaching = body.reaching(site.function, name, body.at(node)) or []
        if not any(definition.value is assigned.value for definition in reaching):
            continue
        parent = around.parents.get(node)
        if not isinstance(parent, ast.Subscript) or parent.value is not node or not _is_first(parent.slice):
            return None
        found = True
    return f"all that is read of `{name}` is `{name}[0]`" if found else None


def _is_first(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and type(index.value) is int and index.value == 0
