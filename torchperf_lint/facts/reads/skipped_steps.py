"""Training steps that a look at the loss leaves out: `if torch.isnan(loss): continue`, `if loss == 0: continue`.

The look waits for the device in every step, so that once in a thousand steps a backward pass is spared.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.complaints import only_says
from torchperf_lint.facts.syntax.literals import literal_of
from torchperf_lint.model import Confidence


def skips_a_step(place: Place, asked: ast.expr) -> bool:
    """Whether a branch of a training loop leaves the turn because of what a test reads of a loss."""
    hot = place.hot
    certain = hot is not None and hot.kind == "step" and hot.loop is not None and hot.loop[0] == place.file.path
    if hot is None or not certain or hot.optional or hot.depth or hot.confidence is not Confidence.CERTAIN:
        return False
    return _leaves_the_turn(place) and _is_loss(place, asked)


def is_zero(asked: ast.expr) -> bool:
    """`loss == 0`: the gradients of such a loss are zero."""
    if not isinstance(asked, ast.Compare) or len(asked.ops) != 1 or not isinstance(asked.ops[0], ast.Eq):
        return False
    return any(literal_of(side) in (0, 0.0) and not isinstance(side, ast.Name) for side in asked.comparators)


def _leaves_the_turn(place: Place) -> bool:
    """Whether the test is that of an `if` whose body ends in `continue`, right in the loop that trains."""
    around, inner = place.file.enclosing(place.function), place.expression
    for parent in around.around(place.expression):
        if isinstance(parent, ast.If):
            return inner is parent.test and isinstance(parent.body[-1], ast.Continue) and _does_little(parent.body)
        if not isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.expr):
            return False
        inner = parent
    return False


_FEW = 8


def _does_little(body: list[ast.stmt]) -> bool:
    """What a step that is left out does instead: it says so, and clears gradients."""
    return len(body) <= _FEW and all(
        only_says(s) or isinstance(s, ast.Expr | ast.Continue | ast.Assign | ast.AugAssign | ast.Delete | ast.Pass)
        for s in body
    )


def _is_loss(place: Place, asked: ast.expr) -> bool:
    """Whether what is asked is a tensor that carries gradients."""
    grads = place.file.project.grads
    names = (n for n in ast.walk(asked) if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Load))
    return any(grads.of(node, place.frame) is not None for node in names)
