"""Which names of a function decide what it does next: those in its tests, slices, sizes and counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.outlines import anomalies, guards
from torchperf_lint.facts.outlines.complaints import only_complains
from torchperf_lint.facts.outlines.masking import Known
from torchperf_lint.facts.outlines.zero_divisors import asks_a_divisor
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import as_written
from torchperf_lint.facts.syntax.literals import is_none, is_text
from torchperf_lint.facts.syntax.syntax import LEAVES, children_of, targets_of

_ROUNDS = 3
"""How many names may stand between a value and what it decides."""
_KEPT_TOGETHER = 3
"""The extreme, where it was found, and one thing more; what keeps a whole result beside it chooses between results."""
_SIZED = api.SIZED_FACTORIES | frozenset("range islice new_zeros new_ones new_empty new_full".split())
"""Functions whose arguments are sizes, counts or bounds."""
_METHODS = frozenset("view reshape expand repeat split chunk narrow unflatten tile".split())
"""Methods whose arguments are; of `torch.split(x, n)` all but the first."""
_OF_DATA = frozenset("pad interpolate resize crop bincount one_hot pack_padded_sequence".split())
"""Functions whose arguments are, but for the first, which is data."""
_UNBOUND = Known(lambda name: name, lambda node: False)
"""A branch as it stands there, whatever its names are bound to."""
_ABOUT = api.PLAIN_ATTRIBUTES | {"device", "dtype"}
_ASKS_ABOUT = frozenset(
    "len isinstance hasattr callable type is_tensor size dim ndim shape ndimension numel nelement stride is_contiguous "
    "is_floating_point is_complex get_device element_size".split()
)
"""What the host knows of a tensor without waiting for its elements, nor for those of a copy of it."""


def decisive_names(body: Sequence[ast.stmt], indices: bool = True, unset: frozenset[str] = frozenset()) -> set[str]:
    """The names and attributes whose values a scope uses in tests, slices, sizes and counts, also through others.

    Without `indices`, what only picks elements, `rows[order]`, is left out: of whole arrays that is arithmetic.
    `unset`: the names and attributes that are None unless somebody asks for more, as the limit is in
    `if self.target_kl is not None and kl > self.target_kl`.
    """
    found: set[str] = set()
    searched: set[str] = set()
    made_of: list[_Made] = []
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not (isinstance(node, ast.If) and _asks_for(node.test, unset)):
            found.update(_values_in(*_deciding_parts(node, indices)))
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            searched.update(_values_in(*node.comparators))
        made_of += _made_of(node)
        stack += [child for child in children_of(node) if type(child) not in LEAVES]
    for _ in range(_ROUNDS):
        found.update(
            n for made in made_of if made.targets & (searched | found if made.whole else found) for n in made.of
        )
    return found | searched


def _asks_for(test: ast.expr, unset: frozenset[str]) -> bool:
    """Whether a test holds only where what is not set by default is: `limit is not None and x > limit`."""
    parts = test.values if unset and isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else ()
    return any(chain(_unless_none(part)) in unset for part in parts)


def _unless_none(test: ast.expr) -> ast.expr:
    """`x` of `x is not None`."""
    set_ = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and is_none(test.comparators[0])
    return test.left if set_ and isinstance(test, ast.Compare) else test


class _Made(NamedTuple):
    """What an assignment or loop gives another value, and what that is made of."""

    targets: set[str]
    of: set[str]
    whole: bool = True
    """Not an entry only: `key in x` does not ask for the entries of a dict `x`."""


def _made_of(node: ast.AST) -> list[_Made]:
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = targets_of(node)
        whole = not any(isinstance(target, ast.Subscript) for target in targets)
        return [_Made(set(_targets(targets)), set(_values_in(node.value)), whole)]
    if isinstance(node, ast.For | ast.comprehension):
        # Of `for key, value in x.items()` and `for i, value in enumerate(x)` the value is what `x` is made of.
        target = node.target.elts[-1] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
        return [_Made(set(_values_in(target)), set(_values_in(node.iter)))]
    return []


def _targets(targets: Sequence[ast.expr]) -> Iterator[str]:
    """What an assignment binds: of `bar.text = v` that is the attribute, and `bar` is made of nothing new."""
    for target in map(_given, targets):
        if isinstance(target, ast.Attribute):
            yield chain(target)
        elif isinstance(target, ast.Tuple | ast.List):
            yield from _targets(target.elts)
        else:
            yield from _values_in(target)


def _given(target: ast.expr) -> ast.expr:
    """What an assignment gives another value: of `x[i] = v` that is `x`, and not `i`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target


def keeps_extreme(node: ast.If) -> bool:
    """`if best < x: best = x` and `if x > limit: x = limit`, which `torch.maximum` and `clamp` do on the device.

    So does a `torch.where` with where it was found: `if best is None or x < best: best, best_at = x, i` in two lines.
    """
    test = _unless_first(node.test)
    if node.orelse or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if not isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return False
    sides = {as_written(test.left), as_written(test.comparators[0])}
    keeping = [_gives(statement) == sides for statement in node.body]
    if sum(keeping) != 1 or len(node.body) > _KEPT_TOGETHER:
        return False
    return all(k or _hands_over(s) for k, s in zip(keeping, node.body, strict=True))


def _gives(statement: ast.stmt) -> set[str]:
    """Both sides of `best = x`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return set()
    return {as_written(statement.targets[0]), as_written(statement.value)}


def _unless_first(test: ast.expr) -> ast.expr:
    """The comparison of `best is None or x < best`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and len(test.values) == 2:
        first, second = test.values
        if isinstance(first, ast.Compare) and isinstance(first.ops[0], ast.Is):
            return second
    return test


def _hands_over(statement: ast.stmt) -> bool:
    """`best = x`, `best_at = i`: a name gets what another has, beside the extreme itself where it was found."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    return not any(isinstance(part, ast.Call) for part in ast.walk(statement.value))


def _values_in(*nodes: ast.AST) -> Iterator[str]:
    """The names and chains in some expressions whose elements matter: not those only asked for shape, type or None."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name | ast.Attribute) and chain(node) not in ("self", "cls"):
            if isinstance(node, ast.Attribute) and node.attr in _ABOUT:
                continue
            yield chain(node)
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            stack.append(node.left)
        elif not asks_about(node):
            stack += children_of(node)


def guards_a_division(node: ast.If | ast.IfExp) -> bool:
    """`correct / n if n > 0 else 0.0`: `n.clamp(min=1)` divides as well, and nothing else hangs on the branch."""
    return asks_a_divisor(node, _UNBOUND)


def asks_about(node: ast.AST) -> bool:
    """Whether no element is asked for: `len(x)`, `x.size(0)`, `isinstance(x, T)`, `x is None`."""
    if isinstance(node, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _ASKS_ABOUT


def _deciding_parts(node: ast.AST, indices: bool = True) -> list[ast.AST]:
    if isinstance(node, ast.If) and (guards.exit_kind(node.body) == "raise" or anomalies.checks_for_nan(node.test)):
        return []  # a safety check, not the algorithm
    if isinstance(node, ast.If) and (keeps_extreme(node) or (not node.orelse and only_complains(node.body))):
        return []
    if isinstance(node, ast.If | ast.IfExp) and guards_a_division(node):
        return []  # how a ratio is told: `correct / n if n > 0 else 0.0`
    if isinstance(node, ast.IfExp) and _is_text(node.body) and _is_text(node.orelse):
        return []  # how something is shown: `"{:.3f}".format(x) if x > 1e-3 else "{:.1e}".format(x)`
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.Subscript):
        return [node.slice] if indices else []
    if isinstance(node, ast.Slice):
        return [bound for bound in (node.lower, node.upper, node.step) if bound is not None]
    if isinstance(node, ast.Call):
        name = last_part(chain(node.func))
        of_data = name in _OF_DATA or (name in _METHODS and chain(node.func).partition(".")[0] in ("torch", "np", "F"))
        return [*node.args[of_data:], *node.keywords] if name in _SIZED | _OF_DATA | _METHODS else []
    return []


def decides_by(parent: ast.AST, node: ast.AST, indices: bool = True) -> bool:
    """Whether `node` is what `parent` decides by: its test, slice, size or count."""
    return any(part is node for part in _deciding_parts(parent, indices))


def gives_size(parent: ast.AST | None, node: ast.expr) -> bool:
    """Whether what `parent` takes of `node` is a size, a count, a bound or an index."""
    return isinstance(parent, ast.Slice) or (
        parent is not None and any(part is node for part in _deciding_parts(parent))
    )


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is text made of a number: an f-string, `"...".format(x)`, `"..." % x`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "format" and isinstance(node.func.value, ast.Constant)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node = node.left
        return is_text(node)
    return isinstance(node, ast.JoinedStr)
