"""Functions that keep what they make: after `if n in self.grids: return self.grids[n]` the rest runs once for an n.

So it does after `if self.grid is not None: return`, where the rest sets `self.grid`; not where a flag that nobody asks
there says whether it is set, `if self.cached: self.grid = grid`, nor where the answer is not for training.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.outlines.filled_names import missing_names
from torchperf_lint.facts.outlines.guards import Guard
from torchperf_lint.facts.outlines.once import ASPECTS, COUNTS, attribute_asked, compares_with_step
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.syntax.literals import is_none, is_text
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_STORE = pattern(r"cache|memo|(?:^|\.)self\.", re.IGNORECASE)
"""What outlives a call, among what a function puts its results into."""
_MAY_ANSWER = (ast.Return, ast.If)
_TAKES = (ast.Assign, ast.Return)
_MODE = pattern(r"^(?:is_)?train(?:ing)?(?:_mode)?$")


def kept_after(statement: ast.stmt, rest: Sequence[ast.stmt], body: Sequence[ast.stmt] = ()) -> Guard | None:
    """Whether a statement answers with what the rest of its block puts away: the rest then runs once for each key.

    The body is that of its function, which says whether a plain name is one of the module's.
    """
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], _MAY_ANSWER):
        return None
    if _is_of_a_mode(statement.test):
        return None
    if _stays(statement, rest, body):
        return Guard("once", short(words(statement.test)))
    if not isinstance(statement.body[-1], ast.Return):
        return None
    if _is_set(statement.test, rest, body):
        return Guard("once", short(words(statement.test)))
    answer = statement.body[-1].value
    asked = _asked(statement.test)
    if asked is None or answer is None:
        return None
    operator, name = asked
    parts = {chain(n) for n in nodes_of(answer) if isinstance(n, ast.Name | ast.Attribute)}
    if name not in parts:
        return None
    kept = _kept(rest)
    if operator is ast.In:
        found = f"{name}[]" in kept
    elif "." in name:
        found = name in _kept_under_tests(rest, statement.test)
    else:
        found = any(_STORE.search(target) and "[]" in target for target in kept)
    return Guard("once", short(words(statement.test))) if found else None


def makes_what_it_keeps(made: Sequence[ast.stmt], taken: Sequence[ast.stmt], test: ast.expr) -> bool:
    """Whether one branch of an `if` makes anew, and keeps, what the other takes as it was kept.

    if channel == self.channel:
        window = self.window
    else:
        window = self.window = make_window(channel)
        self.channel = channel
    """
    if not made or not taken or not all(isinstance(s, _TAKES) for s in taken):
        return False
    kept = {name for name in _kept(made) if name.startswith("self.")}
    asked = {chain(n) for n in nodes_of(test) if isinstance(n, ast.Attribute)} & kept
    if not asked or any(map(COUNTS.search, asked)) or compares_with_step(test):
        return False
    found = {chain(s.value) for s in taken if isinstance(s, _TAKES) and s.value is not None}
    return bool(found & kept) and not _kept(taken) & kept


def fills_a_table(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether a branch of a function's body makes what its test misses in a table, which keeps it for other calls."""
    return _is_looked_up_after(node, body) or _is_put_back(node, body)


def _is_looked_up_after(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether what a test misses in a table of the object is taken from there behind: so the branch puts it there.

    `cache = self.compiled; if key not in cache: self.compile(x, key, cache)`, and then `cache[key]`.
    """
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn) or len(test.ops) > 1:
        return False
    key, table = test.left, chain(test.comparators[0])
    nodes = [n for statement in body for n in nodes_of(statement)]
    held = any(isinstance(n, ast.Assign) and chain(n.targets[0]) == table and _of_self(n.value) for n in nodes)
    if not isinstance(key, ast.Name) or not (held or table.startswith("self.")):
        return False
    behind = (n for n in nodes if isinstance(n, ast.Subscript) and n.lineno > (node.end_lineno or 0))
    return any(
        isinstance(n.ctx, ast.Load)
        and chain(n.value) == table
        and isinstance(n.slice, ast.Name)
        and n.slice.id == key.id
        for n in behind
    )


def _is_put_back(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """`found = table.get(key)`, `if found is None: ...; table[key] = found`: what is made is kept for the next call."""
    missing = missing_names(node.test)
    if not missing:
        return False
    before = [s for s in body if s.lineno < node.lineno and isinstance(s, ast.Assign) and len(s.targets) == 1]
    looked_up = (
        chain(s.value.func) for s in before if chain(s.targets[0]) in missing and isinstance(s.value, ast.Call)
    )
    tables = {callee.removesuffix(".get") for callee in looked_up if callee.endswith(".get")}
    tables -= {chain(s.targets[0]) for s in before}  # a table of this call's own
    return any(f"{table}[]" in _kept(node.body) for table in tables)


def _of_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute | ast.Subscript) and chain(value).startswith("self.")


def _stays(statement: ast.If, rest: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> bool:
    """`if self.table is not None: if self.table.size(1) >= n: return`, before `self.table = ...` is made anew."""
    last = statement.body[-1]
    if isinstance(last, ast.If) and not last.orelse:
        last = last.body[-1]
    if not isinstance(last, ast.Return) or last.value is not None:
        return False
    if _is_set(statement.test, rest, body):
        return True
    present = _asked(statement.test)
    asked = {present[1]} if present is not None and present[0] is ast.IsNot else set()
    asked |= {chain(n.value) for n in nodes_of(statement.test) if isinstance(n, ast.Attribute) and n.attr in ASPECTS}
    return any(name.startswith("self.") and name in asked for name in _kept(rest))


def _is_set(test: ast.expr, rest: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> bool:
    """`if self.ready: return`, before `self.ready = True`; a plain name only where the function says it is no own one.

    A parameter that is set at the end, `skip = True`, is as it was in the next call.
    """
    flag = test.id if isinstance(test, ast.Name) else attribute_asked(test)
    if not flag.startswith("self.") and not isinstance(test, ast.Name):
        return False
    return any(
        isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Constant)
        and s.value.value is True
        and flag in {chain(target) for target in s.targets}
        for s in _in_sequence(rest)
    ) and (not isinstance(test, ast.Name) or _outlives_a_call(flag, body))


def _outlives_a_call(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether a function declares a name that of what stands around it: `global DONE`."""
    nodes = (node for statement in body for node in nodes_of(statement))
    return any(isinstance(node, ast.Global | ast.Nonlocal) and name in node.names for node in nodes)


def _in_sequence(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, with those under a `with` and of what it tries."""
    for statement in block:
        if isinstance(statement, ast.With):
            yield from _in_sequence(statement.body)
        elif isinstance(statement, ast.Try):
            yield from _in_sequence([*statement.body, *statement.orelse, *statement.finalbody])
        else:
            yield statement


def _asked(test: ast.expr) -> tuple[type[ast.cmpop], str] | None:
    """What a test looks for its answer in: `key in self.cache`, `kept is not None`, `hasattr(self, "kept")`."""
    parts = _parts(test)
    found = next(filter(None, map(_had, parts)), None)
    if found is not None:
        return ast.IsNot, found
    first = next((part for part in parts if not isinstance(part, ast.Name | ast.Attribute)), parts[0])  # behind flags
    if not isinstance(first, ast.Compare) or len(first.ops) != 1:
        return None
    if isinstance(first.ops[0], ast.In):
        return ast.In, chain(first.comparators[0])
    right = first.comparators[0]
    missing = isinstance(first.ops[0], ast.IsNot) and is_none(right)
    return (ast.IsNot, chain(first.left)) if missing else None


def _had(test: ast.expr) -> str | None:
    """The attribute that a test finds there: `hasattr(self, "omega")`; None for other tests."""
    if not isinstance(test, ast.Call) or chain(test.func) != "hasattr" or len(test.args) != 2:
        return None
    return f"{chain(test.args[0])}.{ast.literal_eval(test.args[1])}" if is_text(test.args[1]) else None


def _kept_under_tests(rest: Sequence[ast.stmt], asked: ast.expr) -> set[str]:
    """The same, also of branches whose flag the answer depends on as well: `if cache: self.omega = omega`."""
    found, flags = _kept(rest), {ast.unparse(part) for part in _parts(asked)}
    for statement in rest:
        if isinstance(statement, ast.If) and {ast.unparse(part) for part in _parts(statement.test)} <= flags:
            found |= _kept(statement.body)
    return found


def _parts(test: ast.expr) -> list[ast.expr]:
    """What has to hold, part by part: `a and b`."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _is_of_a_mode(test: ast.expr) -> bool:
    """`self.kernel is not None and not self.training`: in the other mode the rest runs in every call."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.BoolOp):
        return any(map(_is_of_a_mode, test.values))
    return isinstance(test, ast.Name | ast.Attribute) and bool(_MODE.search(last_part(chain(test))))


def _kept(rest: Sequence[ast.stmt]) -> set[str]:
    """What the statements of a block assign to, as chains."""
    found: set[str] = set()
    for statement in rest:
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Subscript):
                found.add(f"{chain(target.value)}[]")
            elif isinstance(target, ast.Attribute):
                found.add(chain(target))
    return found
