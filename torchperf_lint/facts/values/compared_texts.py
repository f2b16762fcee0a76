"""Columns of texts that are compared: `(table["group"] == "treated").values`, a mask of numpy's.

No tensor holds texts, so whatever is compared with one and asked for its values is a column of a table.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.literals import is_text


def is_mask_of_texts(node: ast.expr) -> bool:
    """`(x == "a").values`, `(x != "b").values`."""
    compared = node.value if isinstance(node, ast.Attribute) and node.attr == "values" else None
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return False
    return isinstance(compared.ops[0], ast.Eq | ast.NotEq) and is_text(compared.comparators[0])
