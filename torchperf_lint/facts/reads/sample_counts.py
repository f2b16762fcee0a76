"""How many samples a batch of graphs or molecules has, asked of the index of each row's sample.

n_molecules = int(idx_m[-1]) + 1        # whoever put the batch together knew it
n_graphs = batch.max().item() + 1
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal, literal_of
from torchperf_lint.facts.syntax.syntax import below
from torchperf_lint.patterns import pattern

_INDEX = pattern(
    r"^(?:\w+_)?(?:batch|idx_m|(?:batch|graph|mol|molecule|segment|sample)_?(?:ids?|idxs?|index|indices|inds?))$"
)
"""Names of the index that says of each row to which sample it belongs; `idx_m` is that of molecules."""
_READS = frozenset({"int"})
_VIEWS = frozenset({"long", "int", "detach", "item", "cpu"})


def counts_samples(place: Place) -> bool:
    """Whether a read is of the last or largest number of such an index, and one is added to it.

    Where that stands in for a number that may be given, `n if n is not None else ...`, it is not meant.
    """
    parents = place.file.enclosing(place.function).parents
    node: ast.AST = place.expression
    parent = parents.get(node)
    while isinstance(parent, ast.Call) and chain(parent.func) in _READS:
        node, parent = parent, parents.get(parent)
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Add):
        return False
    if not is_literal(parent.right if parent.left is node else parent.left, 1):
        return False
    read = place.expression
    if isinstance(read, ast.Call) and chain(read.func) in _READS and len(read.args) == 1:
        read = read.args[0]
    return isinstance(read, ast.expr) and _is_last(below(read, _VIEWS)) and not _stands_in(place)


def _is_last(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return literal_of(node.slice) == -1 and _names_samples(node.value)
    if isinstance(node, ast.Call) and last_part(chain(node.func)) in ("max", "amax"):
        whole = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
        return not node.keywords and whole is not None and _names_samples(whole)
    return False


def _names_samples(node: ast.expr) -> bool:
    return _INDEX.search(last_part(chain(node))) is not None


def _stands_in(place: Place) -> bool:
    around = place.file.enclosing(place.function).around(place.expression)
    tests = (node.test for node in around if isinstance(node, ast.If | ast.IfExp))
    return any(isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot) for test in tests)
