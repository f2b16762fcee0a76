"""Entries of batches that the project's own movers leave where they are: `meta` of `if key == "meta": continue`.

    def to_cuda(batch):
        for key in batch:
            if key != "meta":                       # sizes and names, that the host is to read without a wait
                batch[key] = batch[key].cuda()
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.patterns import pattern

_MOVER = pattern(r"(?:^|_)(?:to|move|send|put|copy)_(?:\w+_)?(?:cuda|gpu|device)(?:_|$)|^(?:to_)?cuda$|^to_device")
_MOVES = frozenset({"to", "cuda"})
_ALIKE, _OTHER = (ast.Eq, ast.In), (ast.NotEq, ast.NotIn)


def left_by_movers(project: Project) -> frozenset[str]:
    """The keys of entries that a function of the project which moves batches leaves out."""
    return project.once(_find)


def _find(project: Project) -> frozenset[str]:
    found: set[str] = set()
    for path, outline in project.index.outlines.items():
        movers = [number for number, function in enumerate(outline.functions) if _MOVER.search(function.name)]
        body = project.body(path) if movers else None
        if body is not None:
            found.update(key for number in movers for key in _left_by(body, number))
    return frozenset(found)


def _left_by(body: Body, number: int) -> Iterator[str]:
    function = body.functions.get(number)
    if not isinstance(function, ast.FunctionDef) or not _moves(function.body, ""):
        return
    nodes = nodes_of(function)
    targets = [node.target for node in nodes if isinstance(node, ast.For | ast.comprehension)]
    keys = names_of(*targets)  # of `if device != "cpu"` the text is no key
    for node in nodes:
        if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Compare):
            moved, left = _branches(node, function.name)
            if isinstance(node.test.ops[0], _OTHER if moved == "body" else _ALIKE) and left:
                yield from _texts(node.test, keys)


def _branches(node: ast.If | ast.IfExp, mover: str) -> tuple[str, bool]:
    """Which branch moves something, and whether the other does not."""
    if isinstance(node, ast.IfExp):
        body, orelse = _moves([node.body], mover), _moves([node.orelse], mover)
        return ("body" if body else "else"), body != orelse
    body, orelse = _moves(node.body, mover), _moves(node.orelse, mover)
    skips = isinstance(node.body[-1], ast.Continue)
    return ("body" if body else "else"), body != orelse or (skips and not body)


def _moves(code: Iterable[ast.AST], mover: str) -> bool:
    calls = (n.func for part in code for n in nodes_of(part) if isinstance(n, ast.Call))
    return any(last_part(chain(called)) in _MOVES | {mover} for called in calls)


def _texts(test: ast.Compare, keys: set[str]) -> Iterator[str]:
    """What a key is compared with."""
    given = test.comparators[0]
    for one in given.elts if isinstance(given, ast.List | ast.Tuple | ast.Set) else [given]:
        if is_text(one) and isinstance(test.left, ast.Name) and test.left.id in keys:
            yield one.value  # type: ignore[attr-defined]
