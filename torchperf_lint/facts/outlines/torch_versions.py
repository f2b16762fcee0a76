"""Branches for versions of torch that hardly anybody has: `if Version(torch.__version__) > Version("1.6"):`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.conditions import name_of
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_NAME = pattern(r"^(?:__version__|_?(?:torch|pytorch|pt)_version\w*)$|^_?(?:TORCH|PYTORCH|PT)_VERSION\w*$")
_LITERAL = pattern(r"^v?(\d+)\.\d+")
_OLD = 2
"""The first number of a version from which on it is one of today."""
_MORE, _LESS = (ast.Gt, ast.GtE), (ast.Lt, ast.LtE)


def runs_with_old_torch(test: ast.expr) -> bool | None:
    """Whether a test holds for versions before 2.0 only (True), or fails for these only (False); None for others."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (*_MORE, *_LESS)):
        return None
    if not any(
        _NAME.search(name_of(node)) for node in nodes_of(test.left) if isinstance(node, ast.Name | ast.Attribute)
    ):
        return None
    texts = [n.value for n in ast.walk(test.comparators[0]) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    versions = [int(found.group(1)) for found in map(_LITERAL.match, texts) if found]
    if not versions or versions[0] >= _OLD:
        return None
    return isinstance(test.ops[0], _LESS)
