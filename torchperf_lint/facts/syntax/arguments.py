"""What a call passes, as written: by keyword, all of it, or what nobody sees."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.literals import UNKNOWN, literal_of


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """What is passed by a keyword."""
    for given in call.keywords:
        if given.arg == name:
            return given.value
    return None


def moved_to(call: ast.Call) -> ast.expr | None:
    """Where `.to(device)` or `.cuda(device)` moves: `device=`, else the first argument, which may be a type."""
    return keyword(call, "device") or (call.args[0] if call.args else None)


def literal(call: ast.Call, name: str) -> object:
    """The number, text, True, False or None passed by a keyword; UNKNOWN for anything else, and for nothing."""
    value = keyword(call, name)
    return UNKNOWN if value is None else literal_of(value)


def arguments(call: ast.Call) -> list[ast.expr]:
    """All that is passed, in order, by position and by keyword, unpacked mappings too."""
    return [*call.args, *[given.value for given in call.keywords]]


def unpacks_keywords(call: ast.Call) -> bool:
    """Whether a call passes keywords that nobody sees: `**kwargs`."""
    return any(given.arg is None for given in call.keywords)


def unpacks(call: ast.Call) -> bool:
    """Whether a call passes what nobody sees: `*args`, `**kwargs`."""
    return unpacks_keywords(call) or any(isinstance(given, ast.Starred) for given in call.args)
