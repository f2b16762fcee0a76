"""Loops that fill gradients with zeros, a kernel for each parameter, where to drop them takes none.

for p in model.parameters():
    if p.grad is not None:
        p.grad.detach_()
        p.grad.zero_()
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import NOT_KNOWN, Spot
from torchperf_lint.facts.optimizers.few_parameters import goes_over_few
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_STAY = pattern(
    r"_foreach_zero_|bucket|CUDAGraph|cuda\.graph|make_graphed|main_grad|flat_(?:grad|param)", re.IGNORECASE
)
"""What keeps gradients where they are: views of one buffer, a captured graph."""
_GRADIENT = pattern(r"\.grad(?:\.data)?\.(?P<does>zero_|detach_|requires_grad_)$")


def zeroed_one_by_one(file: SourceFile) -> Iterator[Spot]:
    """What such loops of a file's training steps go over."""
    if _STAY.search(file.text):
        return
    calls = [call for call in file.outline.calls if call.callee.endswith((".grad.zero_", ".grad.data.zero_"))]
    for function in sorted({call.function for call in calls}):
        for loop in file.enclosing(function).of_kinds((ast.For,)):
            assert isinstance(loop, ast.For)
            start = file.span(loop.body[0])[0]
            hot = file.project.hotness.at(file.path, start)
            inside = Spot(file, loop.body[0], function, hot or NOT_KNOWN, start)
            if hot is None or hot.kind not in ("step", "update") or hot.optional or not _only_zeroes(loop.body):
                continue
            if per_parameter(file, inside) is loop and not goes_over_few(file, loop, function):
                yield inside._replace(expression=loop.iter)


def _only_zeroes(body: list[ast.stmt]) -> bool:
    """Whether the turns fill gradients with zeros, and do nothing else."""
    while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        if not _asks_whether_there_is_one(body[0].test):
            return False
        body = body[0].body
    calls = [s.value for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    does = [found["does"] for found in (_GRADIENT.search(chain(call.func)) for call in calls) if found is not None]
    return len(does) == len(body) and "zero_" in does


def _asks_whether_there_is_one(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and chain(test.left).endswith(".grad") and isinstance(test.ops[0], ast.IsNot)
