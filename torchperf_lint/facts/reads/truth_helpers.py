"""Functions of the project that answer with a truth of a tensor: `return (labels < 0).any()`.

Nobody sees at `if contains_unknown(labels):` that it asks a tensor. What the function computes decides, not what it is
called: each of its results is reduced to a truth, or is what another such function gives. What compares plain numbers
(`return step % every == 0`) is left out: it is asked for everywhere, and values need not be worked out for it.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_false, is_true
from torchperf_lint.facts.syntax.substituted import result_with
from torchperf_lint.facts.syntax.torch_api import ARRAY_MODULES

_TRUTHS = frozenset("any all isnan isinf isfinite".split())
_NUMBERS = frozenset("sum max min amax amin mean norm count_nonzero".split())
"""What is compared, when a truth is made of it: `x.abs().max() < limit`."""
_CALLS_DEEP = 2
"""Functions that hand on what another one answers."""


def answers_with_a_truth(file: SourceFile, function: int, callee: str) -> bool:
    """Whether what a function calls is one of the project each of whose results is reduced to a truth."""
    return _answers(file.project, FunctionKey(file.path, function), callee, _CALLS_DEEP)


def answer_with(file: SourceFile, function: int, call: ast.Call) -> ast.expr | None:
    """What a function of the project answers at once, with the arguments of a call in it; None for other functions.

    What it calls has the same name in the caller's file: `contains_known(y)` answers `is_known(y).any()`.
    """
    project = file.project
    targets = project.types.targets(file.path, function, chain(call.func))
    body = project.body(targets[0].path) if len(targets) == 1 else None
    returned = body.returns(targets[0].index) if body is not None else []
    if len(returned) != 1:
        return None
    calls = [node for node in ast.walk(returned[0]) if isinstance(node, ast.Call)]
    called = {node.func.id for node in calls if isinstance(node.func, ast.Name)}
    there, here = targets[0], FunctionKey(file.path, function)
    if any(_things(project, there, name) != _things(project, here, name) for name in called):
        return None
    record = project.index.function(there)
    return result_with(returned[0], [parameter.name for parameter in record.parameters], call)


def _things(project: Project, key: FunctionKey, name: str) -> list[FunctionKey]:
    return project.types.targets(key.path, key.index, name)


def _answers(project: Project, caller: FunctionKey, callee: str, deep: int) -> bool:
    targets = project.types.targets(caller.path, caller.index, callee)
    if len(targets) != 1 or targets[0] == caller:
        return False
    body = project.body(targets[0].path)
    returned = body.returns(targets[0].index) if body is not None else []
    truths = [_is_truth(project, targets[0], node, deep) for node in returned if not _is_plain(node)]
    return bool(truths) and all(truths)


def _is_plain(node: ast.expr) -> bool:
    """`return False` beside other results: what there is nothing of needs no question."""
    return is_true(node) or is_false(node)


def _is_truth(project: Project, key: FunctionKey, node: ast.expr, deep: int) -> bool:
    if isinstance(node, ast.BoolOp | ast.UnaryOp | ast.BinOp):
        return any(_is_truth(project, key, part, deep) for part in _operands(node))
    if isinstance(node, ast.Compare):
        return any(_reduces(project, key, side, _NUMBERS) for side in (node.left, *node.comparators))
    if _reduces(project, key, node, _TRUTHS):
        return True
    return isinstance(node, ast.Call) and deep > 0 and _answers(project, key, chain(node.func), deep - 1)


def _operands(node: ast.BoolOp | ast.UnaryOp | ast.BinOp) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor) else []
    return [node.operand] if isinstance(node.op, ast.Invert) else []


def _reduces(project: Project, key: FunctionKey, node: ast.expr, names: frozenset[str]) -> bool:
    """`x.any()` or `torch.any(x)`; numpy's functions, and Python's own, reduce numbers of the host."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in names:
        return False
    imported = project.index.outlines[key.path].imports.get(chain(node.func.value).partition(".")[0], "")
    return imported.partition(".")[0] not in ARRAY_MODULES
