"""Loops over classes that ask which of them are there: one count of all classes before the loop tells.

for c in range(n):                                  counts = torch.bincount(labels.flatten(), minlength=n).tolist()
    own = (labels == c).float()                     for c in range(n):
    if own.sum() == 0:  # a wait for each class         if counts[c] == 0:
        continue                                            continue
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.tracing import Loop, changed_in
from torchperf_lint.facts.element_loops.repeated import Repeated, handles_data
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence

_COUNTS = frozenset({"any", "sum", "count_nonzero", "max"})
_CONVERTS = frozenset("float long int bool double half to type type_as detach view reshape flatten".split())
_HOPS = 2


def asks_each_class(file: SourceFile, place: Place, read: ast.expr, value: Value) -> Repeated | None:
    """What a loop compares with one class a turn, to ask whether that class is there; None for other reads."""
    loop = next(file.enclosing(place.function).loops(place.expression), None)
    if isinstance(place, Site):
        return None  # a number that is read for itself, as the size of each class
    if loop is None or not isinstance(loop.target, ast.Name) or value.confidence is Confidence.POSSIBLE:
        return None
    turns = literal_turns(loop.iter)
    few = (turns is not None and turns <= FEW_TURNS) or HANDFUL.search(loop.target.id)
    if few or handles_data(file, place.function) or _by_other_word(file, place):
        return None
    mask = _counted(read)
    labels = _compared(file, place, mask, loop, _HOPS) if mask is not None else None
    if labels is None or changed_in(file, place.function, loop, labels):
        return None
    known = file.value(labels, place)
    if known.kind != "tensor" or not known.on_device:
        return None
    return Repeated(labels, True, value.weaker(Confidence.LIKELY), loop, True)


def _counted(node: ast.expr) -> ast.expr | None:
    """`m` of `m.sum() == 0`, `m.any()`, `torch.any(m)`, `m.sum().item() > 0`."""
    if isinstance(node, ast.UnaryOp):
        return _counted(node.operand)
    if isinstance(node, ast.Compare):
        right = node.comparators[0]
        return _counted(node.left) if len(node.ops) == 1 and isinstance(right, ast.Constant) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in ("item", "float", "int"):
        return _counted(node.func.value)
    if node.func.attr not in _COUNTS or node.keywords:
        return None
    of_module = chain(node.func.value) == "torch"
    if len(node.args) != (1 if of_module else 0):
        return None
    return node.args[0] if of_module else node.func.value


def _compared(file: SourceFile, place: Place, node: ast.expr, loop: Loop, hops: int) -> ast.expr | None:
    """`labels` of `(labels == c).float()`, through names, where `c` is what the loop goes over."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONVERTS:
        node = node.func.value
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        variable = loop.target.id if isinstance(loop.target, ast.Name) else ""
        sides = [node.left, node.comparators[0]]
        other = [side for side in sides if not (isinstance(side, ast.Name) and side.id == variable)]
        return other[0] if len(other) == 1 else None
    body = file.project.body(file.path)
    if not isinstance(node, ast.Name) or body is None or not hops:
        return None
    made = body.assigned_once(place.function, node.id, file.span(node)[0])
    return _compared(file, place, made, loop, hops - 1) if made is not None else None


def _by_other_word(file: SourceFile, place: Place) -> bool:
    """Whether only a caller gets there who asks for it by a word that is not the default: `mode == "present" and`."""
    body = file.project.body(file.path)
    function = body.functions[place.function] if body is not None else None
    given = defaulted(function.args) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ()
    defaults = {name: default.value for name, default in given if isinstance(default, ast.Constant)}
    node: ast.AST = place.expression
    for parent in file.enclosing(place.function).ancestors(place.expression):
        if isinstance(parent, ast.BoolOp):
            before = parent.values[: next((i for i, value in enumerate(parent.values) if value is node), 0)]
            for part in before:
                word = part.comparators[0] if isinstance(part, ast.Compare) else None
                if isinstance(word, ast.Constant) and isinstance(word.value, str):
                    return not isinstance(part, ast.Compare) or defaults.get(chain(part.left)) != word.value
        node = parent
    return False
