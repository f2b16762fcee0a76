"""Elements that a loop copies from one device tensor into another, at places that the host lists.

    for i, j in enumerate(self.modes):                  picked[..., : len(self.modes)] = x_ft[..., self.modes]
        picked[:, :, :, i] = x_ft[:, :, :, j]

Each turn starts a kernel, and two more in the backward pass; one index takes all of them at once. Masks and slices
choose several elements each, and what the turns write into may be read by none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import UNKNOWN, literal_of
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

_NO_LISTS = frozenset({"tensor", "batch", "module", "loader"})
"""What is gone through on the device, or for each step."""


class CopiedOneByOne(NamedTuple):
    """A loop that does nothing but copy one element a turn."""

    spot: Spot
    into: ast.expr
    whole: ast.expr
    """What the elements are taken from."""
    value: Value


def copied_one_by_one(file: SourceFile) -> Iterator[CopiedOneByOne]:
    """The hot loops over places of the host whose turns copy an element of a device tensor into another."""
    for spot in hot_nodes(file, ast.For):
        loop = spot.expression
        assert isinstance(loop, ast.For)
        copy = _copy(loop)
        if copy is None or spot.hot.kind == "data" or is_short(loop):
            continue
        into, taken = copy
        if not are_places(file, spot, loop) or not is_new(file, spot, into, taken):
            continue
        if not is_on_device(file, spot, into):
            continue
        value = on_device(file, spot, taken.value)
        if value is not None and value.kind == "tensor" and is_one_tensor(file, spot, taken.value):
            yield CopiedOneByOne(spot, into.value, taken.value, value)


def _copy(loop: ast.For) -> tuple[ast.Subscript, ast.Subscript] | None:
    """What a turn copies into, and what it takes; None where it does more, or less."""
    last = loop.body[-1]
    variables = names_of(loop.target)
    alone = all(skips(statement, variables) for statement in loop.body[:-1])
    if not isinstance(last, ast.Assign) or len(last.targets) != 1 or loop.orelse or not alone:
        return None
    into, taken = last.targets[0], last.value
    if not isinstance(into, ast.Subscript) or not isinstance(taken, ast.Subscript):
        return None
    both = all(picks_one(side, variables) for side in (into, taken))
    return (into, taken) if both else None


def skips(statement: ast.stmt, variables: set[str]) -> bool:
    """`if j >= x.shape[-1]: continue`: a place outside of a tensor, which the host knows before the loop."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[0], ast.Continue):
        return False
    tests = statement.test.values if isinstance(statement.test, ast.BoolOp) else [statement.test]
    return all(
        isinstance(test, ast.Compare) and all(_is_number(side, variables) for side in (test.left, *test.comparators))
        for test in tests
    )


def _is_number(node: ast.expr, variables: set[str]) -> bool:
    """A variable of the loop, a literal number, or a size: `j`, `3`, `x.shape[-1]`, `x.size(0)`, `len(x)`."""
    if isinstance(node, ast.Subscript):
        return chain(node.value).endswith(".shape") and literal_of(node.slice) is not UNKNOWN
    if isinstance(node, ast.Call):
        plain = ast.Name | ast.Attribute | ast.Constant | ast.UnaryOp
        asks = chain(node.func) == "len" or chain(node.func).endswith(".size")
        return asks and all(isinstance(argument, plain) for argument in node.args)
    return (isinstance(node, ast.Name) and node.id in variables) or isinstance(literal_of(node), int)


def picks_one(node: ast.Subscript, variables: set[str]) -> bool:
    """`x[:, :, j]`: one variable of the loop chooses, all else is taken whole."""
    if not isinstance(node.value, ast.Name | ast.Attribute) or names_of(node.value) & variables:
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    chosen = [part for part in parts if isinstance(part, ast.Name) and part.id in variables]
    rest = (part for part in parts if part not in chosen)
    return len(chosen) == 1 and not any(names_of(part) & variables for part in rest)


def _lists(iterated: ast.expr) -> list[ast.expr]:
    """What a loop goes over: of `enumerate` and `zip` what they are given."""
    if isinstance(iterated, ast.Call):
        return list(iterated.args) if chain(iterated.func) in ("enumerate", "zip") else []
    return [iterated] if isinstance(iterated, ast.Name | ast.Attribute) else []


def is_short(loop: ast.For) -> bool:
    """Whether a loop has a handful of turns, or goes over something else than lists."""
    lists = _lists(loop.iter)
    turns = [literal_turns(part) for part in (loop.iter, *lists)]
    few = any(number is not None and number <= FEW_TURNS for number in turns)
    return not lists or few or any(HANDFUL.search(name) for name in names_of(loop.target, loop.iter))


def are_places(file: SourceFile, spot: Spot, loop: ast.For) -> bool:
    """Whether the lists of a loop lie on the host and hold, for all that is known, one place for each turn."""
    lists = _lists(loop.iter)
    names = names_of(loop.target) | {last_part(chain(part)) for part in lists}
    if any(_CHOOSES_SEVERAL.search(name) for name in names) or file.mentions(("slice(",)):
        return False
    values = [file.value(part, spot) for part in lists]
    held = [value.item.kind for value in values if value.item is not None]
    starred = any(isinstance(part, ast.Starred) for part in lists)
    return not starred and all(v.kind not in _NO_LISTS for v in values) and all(kind in _NUMBERS for kind in held)


_CHOOSES_SEVERAL = pattern(
    r"(?:^|_)(?:mask|slice|slc|sl|span|region|range|window|segment|interval|group|subset|block|chunk|part|cluster)s?(?:_|$)",
    re.IGNORECASE,
)
"""Names of what chooses several elements, or a part of an axis."""
_NUMBERS = frozenset({"plain", "unknown"})


def is_new(file: SourceFile, spot: Spot, into: ast.Subscript, taken: ast.Subscript) -> bool:
    """Whether the function makes what is written into, `out = torch.zeros(n)`, and takes from something else."""
    body = file.project.body(file.path)
    made = _bound(body, spot, into.value) if body is not None else None
    if body is None or not isinstance(into.value, ast.Name) or not isinstance(made, ast.Call):
        return False
    denoted = file.denotes(made.func, spot) or ""
    name = last_part(chain(made.func))
    fresh = denoted == f"torch.{name}" and name in _FACTORIES
    return (fresh or name.startswith("new_")) and into.value.id not in _sources(body, spot, taken.value)


_FACTORIES = api.FACTORIES | api.LIKE_FACTORIES


def _sources(body: Body, spot: Spot, node: ast.expr) -> set[str]:
    """The names that something may be a view of: `x`, `y` and `z` of `x = y.view(-1)`, `y = z`."""
    found: set[str] = set()
    current: ast.expr | None = node
    while current is not None:
        while isinstance(current, ast.Attribute | ast.Subscript | ast.Call):
            current = current.func if isinstance(current, ast.Call) else current.value
        if not isinstance(current, ast.Name) or current.id in found:
            break
        found.add(current.id)
        current = _bound(body, spot, current)
    return found


def _bound(body: Body, spot: Spot, node: ast.expr) -> ast.expr | None:
    """The one thing that a name is bound to before the loop."""
    return body.assigned_once(spot.function, node.id, spot.start) if isinstance(node, ast.Name) else None


def is_on_device(file: SourceFile, spot: Spot, into: ast.Subscript) -> bool:
    """Whether what is written into is a tensor on the device."""
    value = on_device(file, spot, into.value)
    return value is not None and value.kind == "tensor"
