"""Places that a mask chooses, all of which take the same number in a table: `fired[places[active]] = True`.

The places that are left out may go to one slot more, which nobody reads: no size decides over that.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.indexing.selections import LOAD, Selection


def is_marked(selection: Selection) -> bool:
    """Whether what a mask selects is used for nothing but the places at which one number is put."""
    node = selection.spot.expression
    around = selection.spot.file.enclosing(selection.spot.function)
    table = around.parents.get(node) if node is not None else None
    if selection.form != LOAD or not isinstance(table, ast.Subscript) or table.slice is not node:
        return False
    statement = around.parents.get(table)
    if not isinstance(statement, ast.Assign) or statement.targets != [table]:
        return False
    value = statement.value.operand if isinstance(statement.value, ast.UnaryOp) else statement.value
    return isinstance(value, ast.Constant)
