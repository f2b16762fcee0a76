"""What `import` statements bind: local names with the dotted names that they stand for, and stars."""

from __future__ import annotations

import ast

from torchperf_lint.facts.outlines.records import Outline


def bind_imports(out: Outline, node: ast.Import | ast.ImportFrom) -> None:
    """Take note of the names that an import binds in a file; relative ones begin with their dots."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            head = alias.name.partition(".")[0]
            if alias.asname:
                out.imports[alias.asname] = alias.name
            else:
                out.imports.setdefault(head, head)
        return
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            out.stars.append(base)
            continue
        separator = "" if not base or base.endswith(".") else "."
        out.imports[alias.asname or alias.name] = f"{base}{separator}{alias.name}"
