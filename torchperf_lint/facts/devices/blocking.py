"""Copies that the host waits for, as far as their call says."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.literals import is_false


def is_blocking(node: ast.Call) -> bool:
    """Whether a copy waits: no `non_blocking` (an unpacked argument may hold it)."""
    if any(k.arg is None or k.arg == "non_blocking" for k in node.keywords):
        return any(k.arg == "non_blocking" and is_false(k.value) for k in node.keywords)
    limit = 1 if getattr(node.func, "attr", "") in ("cuda", "type", "copy_") else 2
    return len(node.args) <= limit and not any(isinstance(a, ast.Starred) for a in node.args)
