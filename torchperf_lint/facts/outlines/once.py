"""Branches that run once: they fill what their test found missing, take down a flag, or keep what they make for a size.

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_literal, is_none, is_text
from torchperf_lint.facts.syntax.syntax import children_of, nodes_of
from torchperf_lint.patterns import pattern

_DONE = pattern(
    r"^self\.(?:_?\w+_)?_?(?:is_)?(?:initiali[sz]ed|inited|prepared|built|ready|set_?up|warmed_up|registered|compiled|loaded)(?:_\w+)?$"
)
"""Flags that say of an object that it is complete."""
COUNTS = pattern(r"(?:^|[._])(?:steps?|iter\w*|i|t|time|count\w*|idx|index|batch|batch_id\w*|pos|position)$")
"""What changes with every step."""
_TURN = pattern(r"(?:^|[._])(?:step|step_idx|iter|iteration|it_num|iter_num|cur_iter|batch_idx|batch_id)$")
"""Names of the number of the step itself; `t` and `batch` may be sizes as well."""
_LENGTH = pattern(r"len(?:gth)?(?:s|_|$)|size|shape|(?:^|[._])(?:n|num)(?:_|$)")
"""What only grows: `if n > self.length`; of `if loss < self.best` nobody knows how often it holds."""
_ORDERS = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
_NAMED = (ast.Name, ast.Attribute)
ASPECTS = frozenset({"shape", "size", "device", "dtype"})
"""What has to be right of a tensor that is kept; a counter, `if self.count != n: return`, is none."""
RESETS = pattern(r"self\._?(?:reset|clear)\w*$")


_ASKS_WHETHER_THERE = frozenset((ast.Is, ast.NotIn))


def may_miss(test: ast.expr) -> bool:
    """Whether a test may find something missing, so that it pays to look for what fills it.

    A third of all tests cannot: `flag`, `mode == "fast"`, `n is not None`, `isinstance(x, list)`.
    """
    kind = type(test)
    if kind is ast.Compare and len(test.ops) == 1:  # type: ignore[attr-defined]
        plain = type(test.left) is ast.Name and type(test.comparators[0]) is ast.Constant  # type: ignore[attr-defined]
        return not plain or type(test.ops[0]) in _ASKS_WHETHER_THERE  # type: ignore[attr-defined]
    if kind is ast.Call:
        return chain(test.func) == "getattr"  # type: ignore[attr-defined]
    return kind is not ast.Name


def set_up_once(node: ast.If) -> bool:
    """Whether a branch fills what its test found missing: `if len(state) == 0: state["m"] = ...`.

    Attributes and containers keep what is put there, so the branch runs once. A plain local name does not.
    """
    if not any(isinstance(statement, _FILLS) for statement in node.body):
        return _asks_whether_done(node.test)
    if isinstance(node.test, ast.Compare) and _kept_for_size(node.test, node.body):
        return True
    if _kept_for_key(node.test, node.body) or _replaces_the_word(node.test, node.body):
        return True
    if _is_still_empty(node):
        return True
    if _flag_is_turned(node):
        return True
    if _asks_whether_done(node.test):
        return True
    missing = missing_in(node.test)
    return missing is not None and _puts_there(node, missing)


def _puts_there(node: ast.If, missing: str) -> bool:
    """Whether a branch assigns what its test found missing, or an entry of it."""
    for statement in _tried(node.body):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            written = chain(target)
            if written == missing and "." in missing:
                return True
            if isinstance(target, ast.Subscript) and chain(target.value) in (missing, missing.removesuffix("[]")):
                return not _is_another_key(node.test, target)
    return False


_FILLS = (ast.Assign, ast.Try)


def _asks_whether_done(test: ast.expr) -> bool:
    """`not self.ready`: whoever asks for it sets it."""
    missing = missing_in(test) if isinstance(test, ast.UnaryOp) else None
    return missing is not None and _DONE.search(missing) is not None


def set_up_otherwise(node: ast.If) -> bool:
    """Whether the other branch fills what the test asks for: `if "step" in state: ... else: state["step"] = 1`."""
    missing = _negated(node.test) if node.orelse else None
    return missing is not None and set_up_once(ast.If(test=missing, body=node.orelse, orelse=[]))


def _negated(test: ast.expr) -> ast.expr | None:
    """What holds where a test for something that is there does not."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator = _NEGATED.get(type(test.ops[0]))
        return ast.Compare(left=test.left, ops=[operator], comparators=test.comparators) if operator else None
    asks = isinstance(test, ast.Attribute) or (isinstance(test, ast.Call) and chain(test.func) == "hasattr")
    return ast.UnaryOp(op=ast.Not(), operand=test) if asks else None


_NEGATED: dict[type[ast.cmpop], ast.cmpop] = {ast.In: ast.NotIn(), ast.IsNot: ast.Is(), ast.Eq: ast.NotEq()}


def _tried(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, with what it tries first."""
    for statement in body:
        yield from _tried(statement.body) if isinstance(statement, ast.Try) else (statement,)


def _is_another_key(test: ast.expr, stored: ast.Subscript) -> bool:
    """`if fmax not in cache: cache[f"{fmax}_{device}"] = ...`: what is stored is never found."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn):
        return False
    made = isinstance(stored.slice, ast.BinOp | ast.JoinedStr) and isinstance(test.left, ast.Name)
    return made and any(isinstance(n, ast.Name) and n.id == test.left.id for n in ast.walk(stored.slice))  # type: ignore[attr-defined]


def drops(body: Sequence[ast.stmt], test: ast.expr) -> bool:
    """Whether a function sets what a test found missing back to None itself, or by a `reset` of its own object."""
    missing = missing_in(test)
    if missing is None or not missing.startswith("self."):
        return False
    stack: list[ast.AST] = [*body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and RESETS.match(chain(node.func)):
            return True
        empties = isinstance(node, ast.Assign) and is_none(node.value)
        if empties and any(chain(target) == missing for target in node.targets):  # type: ignore[attr-defined]
            return True
        stack += children_of(node)
    return False


def _is_still_empty(node: ast.If) -> bool:
    """`if self.table[0, 0] == 0: self.table, self.other = make()`: one element says that nothing was filled in yet."""
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) != 1:
        return False
    table = chain(test.left.value) if isinstance(test.left, ast.Subscript) else ""
    if not table.startswith("self.") or not isinstance(test.comparators[0], ast.Constant):
        return False
    targets = (t for s in node.body if isinstance(s, ast.Assign) for t in s.targets)
    written = (part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t]))
    return any(chain(part) == table for part in written)


def _flag_is_turned(node: ast.If) -> bool:
    """`if self.first: ...; self.first = False`, and the other way round."""
    test, holds = node.test, True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    flag = attribute_asked(test)
    return flag.startswith("self.") and any(_sets(statement, flag, not holds) for statement in node.body)


def attribute_asked(node: ast.expr) -> str:
    """The attribute that an expression is, as a chain: `self.grid`, `getattr(self, "grid", None)`; "" for others."""
    if isinstance(node, ast.Call) and chain(node.func) == "getattr" and len(node.args) > 1:
        name = node.args[1]
        named = is_text(name)
        return f"{chain(node.args[0])}.{ast.literal_eval(name)}" if named else ""
    return chain(node) if isinstance(node, ast.Attribute) else ""


def _sets(statement: ast.stmt, target: str, value: bool) -> bool:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
        return False
    return statement.value.value is value and any(chain(t) == target for t in statement.targets)


def _kept_for_size(test: ast.Compare, body: Sequence[ast.stmt]) -> bool:
    """`if grid.shape[2:] != x.shape[2:]: grid = make(x); self.grids[k] = grid`: made for a size, and kept."""
    sized = {chain(n.value) for n in nodes_of(test) if isinstance(n, ast.Attribute) and n.attr in ("shape", "size")}
    for statement in body if sized else ():
        if not isinstance(statement, ast.Assign):
            continue
        kept = {chain(target) for target in statement.targets}
        if any(name.startswith("self.") and sized & {name, chain(statement.value)} for name in kept):
            return True
    return False


def compares_with_step(test: ast.expr) -> bool:
    """Whether a test compares something with the number of the step, `last != step`: each step is another."""
    compared = (n for n in nodes_of(test) if isinstance(n, ast.Compare))
    operands = (operand for compare in compared for operand in (compare.left, *compare.comparators))
    return any(isinstance(n, _NAMED) and _TURN.search(chain(n)) for n in operands)


def _kept_for_key(test: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """`if self.dynamic or self.shapes != shapes: self.grid = make(shapes); self.shapes = shapes`.

    Whatever else is asked is about what the branch keeps as well: `or self.grid.device != x.device`.
    """
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    others = [part for part in parts if not _is_answered(part, body)]
    if len(others) == len(parts):
        return False
    kept = {chain(target) for s in body if isinstance(s, ast.Assign) for target in s.targets}
    return all(isinstance(part, ast.Attribute) or _asks_about(part, kept) for part in others)


def _is_answered(test: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether a branch makes what its test compares the same: `if n > self.length: self.length = n`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if not isinstance(test.ops[0], ast.NotEq) and not (isinstance(test.ops[0], _ORDERS) and _tells_a_length(test)):
        return False
    sides = (chain(test.left), chain(test.comparators[0]))
    answered = any(
        key.startswith("self.") and not COUNTS.search(key) and _is_set_to(key, other, body)
        for key, other in (sides, sides[::-1])
    )
    return answered and not compares_with_step(test)


def _tells_a_length(test: ast.Compare) -> bool:
    return any(_LENGTH.search(chain(side)) for side in (test.left, test.comparators[0]))


def _is_set_to(key: str, other: str, body: Sequence[ast.stmt]) -> bool:
    if "?" in other:
        return False
    assigned = (s for s in body if isinstance(s, ast.Assign) and chain(s.value) == other)
    return any(chain(target) == key for s in assigned for target in s.targets)


def _asks_about(test: ast.expr, names: set[str]) -> bool:
    return any(isinstance(n, ast.Attribute) and chain(n) in names for n in nodes_of(test))


def _replaces_the_word(test: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """`if self.teacher == "self": self.teacher = deepcopy(model)`: a word gives way to what it means."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or not is_text(test.comparators[0]):
        return False
    asked = chain(test.left)
    made = (s for s in body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call))
    return asked.startswith("self.") and any(chain(target) == asked for s in made for target in s.targets)


def _asks_no_table(test: ast.expr) -> bool:
    return not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn))


def missing_in(test: ast.expr) -> str | None:
    """What a test finds missing or empty, as a chain; or kept, but of another size: `m is None or m.size(0) != n`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        missing = missing_in(test.values[0])
        asked = [{chain(n) for n in nodes_of(part) if isinstance(n, ast.Attribute)} for part in test.values[1:]]
        return missing if missing is not None and all(missing in names for names in asked) else None
    if isinstance(test, ast.BoolOp):  # `call is not None and key not in CHECKED`: what is missing is what a table lacks
        return next(filter(None, map(missing_in, sorted(test.values, key=_asks_no_table))), None)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = test.operand
        if isinstance(inner, ast.Call) and chain(inner.func) == "hasattr" and len(inner.args) == 2:
            name = inner.args[1]
            named = is_text(name)
            return f"{chain(inner.args[0])}.{ast.literal_eval(name)}" if named else None
        return attribute_asked(inner) or chain(inner)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(operator, ast.Is) and is_none(right):
        return attribute_asked(left) or chain(left)
    if isinstance(operator, ast.NotIn):
        return chain(right)
    empty = is_literal(right, 0)
    if (
        empty
        and isinstance(operator, ast.Eq)
        and isinstance(left, ast.Call)
        and chain(left.func) == "len"
        and left.args
    ):
        return chain(left.args[0])
    return None
