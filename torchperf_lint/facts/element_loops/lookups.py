"""Loops that look elements up, or count them, one by one, though one operation on all of them does it.

snr = torch.stack([table[t] for t in timesteps])     table[timesteps]
for i in range(len(y)): matrix[y[i]][p[i]] += 1      torch.bincount(y * n + p, minlength=n * n)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.constants.tracing import parts_of
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.element_loops.turns import Turn

_STACKS = frozenset({"torch.stack", "torch.tensor", "torch.cat", "torch.as_tensor", "torch.hstack", "torch.vstack"})


def looked_up(turn: Turn, entry: ast.Subscript) -> bool:
    """Whether a comprehension only looks up an entry for each element of a tensor, to make a tensor of them."""
    loop = turn.loop
    if isinstance(loop, ast.For) or loop.elt is not entry or not isinstance(entry.slice, ast.Name):
        return False
    parent = turn.file.enclosing(turn.place.function).parents.get(loop)
    made = isinstance(parent, ast.Call) and turn.file.denotes(parent.func, turn.place) in _STACKS
    return made and turn.is_tensor(entry.slice)


def counted(turn: Turn, node: ast.Subscript) -> bool:
    """Whether a turn adds a number to the entry that an element names: `counts[label] += 1`."""
    return any(_is_in_target(change, node) for change in turn.nodes if isinstance(change, ast.AugAssign))


def names_a_count(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether an index is that of an entry to which a number is added, which makes it one number itself.

    Of several, of which some may be alike, such an addition would lose all but one.
    """
    if not isinstance(index, ast.Subscript) or not isinstance(index.slice, ast.Name):
        return False
    statement = file.enclosing(place.function).statement(index)
    entries = ast.walk(statement.target) if isinstance(statement, ast.AugAssign) else ()
    of_one = (n for n in entries if isinstance(n, ast.Subscript) and index in _parts(n.slice))
    return isinstance(statement, ast.AugAssign) and any(_is_in_target(statement, entry) for entry in of_one)


def names_an_entry(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether an index is an element of a tensor of labels, by whose entry a table is brought up to date, turn by turn.

    `for x, y in zip(inputs, targets): self.bank[y] = m * self.bank[y] + (1 - m) * x`: each row belongs to one label.
    """
    if not isinstance(index, ast.Name):
        return False
    loop = next(file.enclosing(place.function).loops(index), None)
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Tuple):
        return False
    whole = next((part for name, part in parts_of(loop.target, loop.iter) if name == index.id), None)
    if whole is None or not _LABELS.search(last_part(chain(_as_it_came(whole)))):
        return False
    return any(_changes_entry(file, place, loop, change, index.id) for change in loop.body)


_LABELS = pattern(r"(?:^|_)(?:targets?|labels?|y|gts?|pids?|ids|indexes|indices|inds|idxs?|clusters)(?:_|$)")
"""Names of tensors with one number for each sample."""


def _as_it_came(node: ast.expr) -> ast.expr:
    """What a tensor is without methods that leave its numbers: `labels.detach()`, `ids.long()`, `y.cuda()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return node


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AugAssign) else []


def _changes_entry(file: SourceFile, place: Place, loop: ast.For, change: ast.stmt, index: str) -> bool:
    """Whether a statement changes the entry of a tensor: of one that is known, or by what a turn has of another."""
    for target in _targets(change):
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name) and target.slice.id == index:
            table = file.value(target.value, place)
            return table.kind == "tensor" or (table.kind == "unknown" and _from_rows(file, place, loop, change, index))
    return False


def _from_rows(file: SourceFile, place: Place, loop: ast.For, change: ast.stmt, index: str) -> bool:
    given = change.value if isinstance(change, ast.Assign | ast.AugAssign) else None
    others = names_of(loop.target) - {index}
    rows = (n for n in ast.walk(given) if isinstance(n, ast.Name) and n.id in others) if given is not None else ()
    return any(file.value(row, place).kind == "tensor" for row in rows)


def _is_in_target(change: ast.AugAssign, node: ast.Subscript) -> bool:
    """Whether a subscript is what a number is added to, or what that is taken from: `matrix[i]` of `matrix[i][j]`."""
    if not isinstance(change.op, ast.Add) or not isinstance(change.value, ast.Constant):
        return False
    entry: ast.expr = change.target
    while isinstance(entry, ast.Subscript):
        if entry is node:
            return not any(isinstance(part, ast.Slice | ast.Compare) for part in _parts(entry.slice))
        entry = entry.value
    return False


def _parts(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]
