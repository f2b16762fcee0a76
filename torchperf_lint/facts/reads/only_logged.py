"""Numbers that are read only to be logged at every step: where the call stands that logs them.

    def step(self, batch):                        for batch in loader:
        loss = self.loss(batch)                       found = agent.step(batch)
        loss.backward()                               found["rate"] = rate
        return {"loss": loss.item()}   # read         wandb.log(found, step=step)    # and goes nowhere but here

Followed through names, dicts and what functions give back, within one file. Known only where each use ends so.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.reads.loggers import Logged, logged
from torchperf_lint.facts.syntax.chains import chain

_HOPS = 8
_SAME = frozenset({"float", "int", "round", "dict"})
_OFTEN = frozenset({"step", "update"})


def logged_at(file: SourceFile, site: Site) -> list[Logged]:
    """The hot calls of trackers and bars that what a call reads goes to, in order, where it goes to such only."""
    body = file.project.body(file.path)
    if body is None or site.hot is None or site.hot.kind not in _OFTEN or not file.mentions(_LOGGERS):
        return []
    calls = {call.site.call: call for call in logged(file) if _is_often(call)}
    ends = _Followed(file, body, calls).ends(site.function, site.call, _HOPS) if calls else ()
    return sorted((calls[end] for end in ends if calls[end].site.record.line != site.record.line), key=_place)


def _place(call: Logged) -> Position:
    return call.site.start


_LOGGERS = (".log(", "log_metric", "add_scalar", "report_scalar", "set_postfix", "set_desc")


def _is_often(call: Logged) -> bool:
    hot = call.site.hot
    return hot is not None and hot.kind in _OFTEN and not hot.optional


class _Followed:
    """Follows one number to the calls that log it."""

    def __init__(self, file: SourceFile, body: Body, calls: dict[ast.Call, Logged]) -> None:
        self.file, self.body, self.calls = file, body, calls
        self.seen: set[tuple[int, str]] = set()

    def ends(self, function: int, node: ast.AST, hops: int) -> set[ast.Call]:
        """The calls where all that is made of an expression ends; empty where some of it ends elsewhere."""
        parents = self.file.enclosing(function).parents
        while hops > 0:
            hops -= 1
            parent = parents.get(node)
            if isinstance(parent, ast.Call) and parent in self.calls and parent.func is not node:
                return {parent}
            if isinstance(parent, ast.Assign):
                return self._bound(function, parent, node, hops)
            if isinstance(parent, ast.Return):
                return self._given_back(function, hops)
            if isinstance(parent, ast.Call) and parent.func is not node:
                kept = self._put_into(function, parent, hops)
                if kept is not None:
                    return kept
            if not _is_part(parent, node):
                break
            assert parent is not None
            node = parent
        return set()

    def _bound(self, function: int, statement: ast.Assign, value: ast.AST, hops: int) -> set[ast.Call]:
        """Where a name ends, or the dict that an entry is put into."""
        target = statement.targets[0]
        if len(statement.targets) != 1 or statement.value is not value:
            return set()
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            return self._held(function, target.value.id, self._made(function, target.value), hops)
        if not isinstance(target, ast.Name):
            return set()
        made = (d.at for d in self.body.definitions(function).get(target.id, ()) if d.value is value)
        return self._held(function, target.id, set(made), hops)

    def _put_into(self, function: int, call: ast.Call, hops: int) -> set[ast.Call] | None:
        """`shown.update(found)`: where `shown` ends; None for other calls."""
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "update" or not isinstance(func.value, ast.Name):
            return None
        return self._held(function, func.value.id, self._made(function, func.value), hops)

    def _made(self, function: int, use: ast.Name) -> set[Position]:
        """Where a name is bound to what it may be where it is used."""
        return {d.at for d in self.body.reaching(function, use.id, self.body.at(use)) or ()}

    def _held(self, function: int, name: str, made: set[Position], hops: int) -> set[ast.Call]:
        """Where all reads of a name end that may have what is bound there, but for those that only put more into it."""
        if (function, name) in self.seen:
            return set()
        self.seen.add((function, name))
        parents = self.file.enclosing(function).parents
        found: set[ast.Call] = set()
        for use in self.body.reads(function, name):
            if _fills(parents.get(use), parents) or not made & self._made(function, use):
                continue
            ends = self.ends(function, use, hops)
            if not ends:
                return set()
            found |= ends
        return found

    def _given_back(self, function: int, hops: int) -> set[ast.Call]:
        """Where what a function gives back ends, of all its calls in hot code, which stand in the same file."""
        hotness = self.file.project.hotness
        found: set[ast.Call] = set()
        for site in hotness.callers.get(FunctionKey(self.file.path, function), ()):
            if hotness.of_region(site.path, site.call.region) is None:
                continue
            call = self.body.node_of(site.call) if site.path == self.file.path else None
            ends = self.ends(site.call.function, call, hops) if call is not None else set()
            if not ends:
                return set()
            found |= ends
        return found


def _is_part(parent: ast.AST | None, node: ast.AST) -> bool:
    """Whether an expression is no more than a number made of another, or holds it as an entry."""
    if isinstance(parent, ast.Call):
        return parent.func is not node and chain(parent.func) in _SAME
    return isinstance(parent, ast.Dict | ast.keyword | ast.BinOp)


def _fills(parent: ast.AST | None, parents: dict[ast.AST, ast.AST]) -> bool:
    """`found["rate"] = rate`, `found.update(more)`."""
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.ctx, ast.Store)
    call = parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr == "update" else None
    return isinstance(call, ast.Call) and isinstance(parents.get(call), ast.Expr)
