"""Indices in host memory that are boolean masks: on the device they would be counted, for which the host waits.

    self.mask = ~torch.eye(n, dtype=torch.bool)     # on the host: its places are copied up, and nobody waits
    negatives = similarity[self.mask]               # of a mask on the device the host has to know how many are set

Integer indices on the device cost neither; a number is filled in through a mask on the device without a count.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.copies.left_behind import LeftBehind
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_NAMED = pattern(r"(?:^|_)masks?\d*$", re.IGNORECASE)
"""Few indices of whole numbers are called a mask; `mask_pos` and `mask_idx` are such."""
_INTEGERS = frozenset("randperm randint arange argsort argmax argmin nonzero topk multinomial long".split())
_RANDOM = pattern(r"\b(?:rand|bernoulli|multinomial|dropout|choice|shuffle|sample)|\.(?:uniform_|normal_|random_)")
_BOOLEAN = frozenset(("torch.bool", "bool", "np.bool_", "numpy.bool_", "torch.uint8"))
_MAKE = frozenset("bool logical_not logical_and logical_or logical_xor eq ne gt lt ge le isin isfinite isnan".split())
_FLAT = frozenset({"arange", "range", "linspace", "logspace", "randperm"})
"""Factories of one dimension, whatever they are given."""
_MATRICES = frozenset("eye triu tril block_diag outer view reshape expand repeat unsqueeze repeat_interleave".split())
_VIEWS = frozenset("triu tril view reshape repeat expand fill_diagonal_ clone flatten unsqueeze squeeze t".split())


def boolean_index(spot: Spot, made: ast.Call | None, held: LeftBehind | None) -> ast.expr | None:
    """The mask that an index is, or the opposite of which it is, `~mask`, where it can be made once; else None.

    :param made: the factory that makes it; `held`: the attribute that it is
    """
    index = spot.expression
    assert isinstance(index, ast.expr)
    if held is not None:
        bound = _set_there(spot, held)
        once = _holds_still(spot, held, bound)
    else:
        bound = _bound(spot, index)
        once = made is not None and _is_constant(spot, index, bound)
    if not once:
        return None
    parent = spot.file.enclosing(spot.function).parents.get(index)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Invert):
        return parent
    return index if _is_a_mask(index, made, bound) else None


def is_one_of_several(spot: Spot, mask: ast.expr) -> bool:
    """Whether a mask stands beside other indices: `h[:, mask]`."""
    return isinstance(spot.file.enclosing(spot.function).parents.get(mask), ast.Tuple)


def is_flat(spot: Spot, made: ast.Call | None, held: LeftBehind | None) -> bool:
    """Whether a mask is known to have one dimension: `torch.ones(n)`, and nothing that makes a matrix of it."""
    index = spot.expression
    assert isinstance(index, ast.expr)
    bound = _set_there(spot, held) if held is not None else _bound(spot, index)
    calls = [part for node in (index, *bound) for part in ast.walk(node) if isinstance(part, ast.Call)]
    if any(last_part(chain(call.func)) in _MATRICES for call in calls):
        return False
    factories = [call for call in calls if last_part(chain(call.func)) in api.SIZED_FACTORIES]
    factories += [made] if made is not None else []
    return bool(factories) and all(map(_has_one_size, factories))


def _has_one_size(factory: ast.Call) -> bool:
    if last_part(chain(factory.func)) in _FLAT:
        return True
    shape = factory.args[:1] if last_part(chain(factory.func)) == "full" else factory.args
    if len(shape) == 1 and isinstance(shape[0], ast.Tuple | ast.List):
        shape = shape[0].elts
    return len(shape) == 1 and not isinstance(shape[0], ast.Starred | ast.Attribute)


def _set_there(spot: Spot, held: LeftBehind) -> list[ast.expr]:
    """What the function sets an attribute to: `self.kept = ~torch.eye(n, dtype=torch.bool)`."""
    body = spot.file.project.body(held.path)
    set_there = body.self_assignments(_function_of(spot, held)) if body is not None else ()
    return [value for name, value, _ in set_there if name == held.name and value.lineno >= held.line]


def _function_of(spot: Spot, held: LeftBehind) -> int:
    region = spot.file.project.hotness.innermost(held.path, (held.line, 0))
    return spot.file.project.index.outlines[held.path].regions[region].function


def _bound(spot: Spot, index: ast.expr) -> list[ast.expr]:
    body = spot.file.project.body(spot.file.path)
    return body.assigned(spot.function, index.id, body.at(index)) if body and isinstance(index, ast.Name) else []


def _holds_still(spot: Spot, held: LeftBehind, bound: list[ast.expr]) -> bool:
    """Whether an attribute is set elsewhere, and is no mask that is drawn."""
    hot = held.path == spot.file.path and _function_of(spot, held) == spot.function
    return not hot and not any(_RANDOM.search(ast.unparse(value)) for value in bound)


def _is_constant(spot: Spot, index: ast.expr, bound: list[ast.expr]) -> bool:
    """Whether a mask that is made for each step is the same in all: made of no tensor, not drawn, not written to."""
    if any(_RANDOM.search(ast.unparse(value)) for value in (index, *bound)):
        return False
    names = [part for value in (bound or [index]) for part in ast.walk(value) if isinstance(part, ast.Name)]
    if any(part is not index and spot.file.value(part, spot).kind in ("tensor", "batch") for part in names):
        return False
    return not isinstance(index, ast.Name) or not _is_written_to(spot, index.id)


def _is_written_to(spot: Spot, name: str) -> bool:
    """`keep[picked] = True`, `keep.fill_diagonal_(0)`."""
    for part in ast.walk(spot.file.enclosing(spot.function).top):
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and chain(part.value) == name:
            return True
        if isinstance(part, ast.Call) and chain(part.func).startswith(f"{name}.") and chain(part.func).endswith("_"):
            return True
    return False


def _is_a_mask(index: ast.expr, made: ast.Call | None, bound: list[ast.expr]) -> bool:
    """By what it is bound to, the factory that made it, or its name, where nothing shows it to hold whole numbers."""
    bound = [value for value in bound if not _is_view_of(value, chain(index))]
    if _is_boolean(index) or (bound and all(map(_is_boolean, bound))) or (made is not None and _is_boolean(made)):
        return True
    known = [*bound, *([made] if made is not None else [])]
    return bool(_NAMED.search(last_part(chain(index)))) and not any(map(_is_integer, known))


def _is_view_of(value: ast.expr, name: str) -> bool:
    """`self.kept = self.kept.view(-1)`: what was set before tells what it holds."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS:
        value = value.func.value
    return chain(value) == name


def _is_integer(node: ast.expr) -> bool:
    """`torch.randperm(n)[:4]`, `torch.tensor([1, 2]).sort()[0]`."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
            continue
        if not isinstance(node, ast.Call):
            return False
        name = last_part(chain(node.func)) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        if name in _INTEGERS or name == "LongTensor":
            return True
        if name in ("tensor", "as_tensor") and node.args:
            numbers = [part for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]
            return bool(numbers) and all(type(part.value) is int for part in numbers)
        if not isinstance(node.func, ast.Attribute):
            return False
        node = node.func.value


def fills_in_a_number(spot: Spot) -> bool:
    """`x[mask] = -inf`, which a mask on the device does without a count."""
    statement = spot.file.enclosing(spot.function).statement(spot.expression)
    if not isinstance(statement, ast.Assign) or not any(_holds(t, spot.expression) for t in statement.targets):
        return False
    return spot.file.value(statement.value, spot).kind == "plain"


def _holds(target: ast.expr, index: ast.AST) -> bool:
    return isinstance(target, ast.Subscript) and any(part is index for part in ast.walk(target))


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)):
        return True
    if not isinstance(node, ast.Call):
        return False
    dtypes = [chain(k.value) for k in node.keywords if k.arg == "dtype"]
    name = last_part(chain(node.func))
    if name in ("to", "type") and node.args:
        dtypes.append(chain(node.args[0]))
    if any(dtype in _BOOLEAN for dtype in dtypes) or name in _MAKE:
        return True
    return name in _VIEWS and isinstance(node.func, ast.Attribute) and _is_boolean(node.func.value)
