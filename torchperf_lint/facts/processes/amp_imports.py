"""Where a file imports the spellings of mixed precision that torch has replaced: what else is to change with a use.

    from torch.cuda.amp import GradScaler, autocast      belongs to the first use of each of them
    from torch.cuda import amp

A function may import what it uses itself; the nearest import around a use is the one that binds its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.processes.amp import Legacy, names_from_torch


def first_of_imports(uses: Sequence[Legacy]) -> Iterator[tuple[Legacy, ast.stmt | None]]:
    """Each use in its order; beside the first use of an imported name the statement that imports it."""
    told: set[tuple[int, str]] = set()
    for use in uses:
        statement = import_of(use) if use.device else None
        if statement is None or (statement.lineno, use.head) in told:
            yield use, None
            continue
        told.add((statement.lineno, use.head))
        yield use, statement


def import_of(use: Legacy) -> ast.stmt | None:
    """The statement that imports the first name of a use, in its function or in one around it; None for `torch`."""
    file = use.mark.file
    body = file.project.body(file.path)
    number = use.mark.function
    while body is not None:
        for statement in body.statements(number):
            if use.head in names_from_torch(statement) and isinstance(statement, ast.Import | ast.ImportFrom):
                return statement
        if number == 0:
            break
        number = max(file.outline.functions[number].parent, 0)
    return None
