"""Optimizers that leave the update of one parameter to a function of the file, whose operations count as the turn's.

    for p in group["params"]:                          @staticmethod
        self.update_fn(p, p.grad, average, lr)         def update_fn(p, grad, average, lr):
                                                           p.add_(average.sign(), alpha=-lr)

One that is compiled, or decorated otherwise than as a method, does what nobody sees here.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part

_PLAIN = frozenset({"staticmethod", "classmethod", "no_grad"})


def helper_of(file: SourceFile, call: ast.Call, function: int) -> ast.FunctionDef | None:
    """The function of a file that a call runs, where that is one alone."""
    targets = file.project.types.targets(file.path, function, chain(call.func))
    body = file.project.body(file.path)
    if len(targets) != 1 or targets[0].path != file.path or body is None:
        return None
    found = body.functions.get(targets[0].index)
    return found if isinstance(found, ast.FunctionDef) and all(map(_is_plain, found.decorator_list)) else None


def _is_plain(decorator: ast.expr) -> bool:
    """`@staticmethod`, `@torch.no_grad()`."""
    written = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_part(chain(written)) in _PLAIN
