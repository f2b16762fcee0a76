"""Branches that a setting chooses: the same one is taken at every step, and what it binds a name to stays the same.

    if "target" in self.hparams:               if self.cfg.wide:
        target = self.hparams.target               levels = self.wide_levels
    else:                                      else:
        target = self.known["target"]              levels = self.levels
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import BlockPath, Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.bound_alike import chosen_among

if TYPE_CHECKING:
    from torchperf_lint.facts.constants.constants import Look

_BRANCHES = frozenset({"body", "else"})
"""The two of an `if`."""


def decided_alike(look: Look, body: Body, scope: int, reaching: list[Definition], around: BlockPath) -> bool:
    """Whether what decides among the bindings of a name, beside what is around its use, is the same at every step."""
    if len(reaching) < 2 or not chosen_among(reaching):
        return False
    deciding = {part for d in reaching for part in d.block if part not in around}
    if any(branch not in _BRANCHES for _, branch in deciding):
        return False
    tests = _tests(body, scope)
    asked = [tests.get(line) for line in {line for line, _ in deciding}]
    inner = look.within(scope)
    return all(test is not None and inner.inside(tests=True, at=body.at(test)).of(test, 1) for test in asked)


def _tests(body: Body, scope: int) -> dict[int, ast.expr]:
    """Line -> what the `if` there asks; of two on one line neither is known."""
    found: dict[int, ast.expr] = {}
    twice = set()
    for statement in body.statements(scope):
        if isinstance(statement, ast.If):
            if statement.lineno in found:
                twice.add(statement.lineno)
            found[statement.lineno] = statement.test
    return {line: test for line, test in found.items() if line not in twice}
