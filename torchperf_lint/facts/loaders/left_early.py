"""Evaluations that make a loader only to take its first batches: workers would cost more to start than they save.

    loader = DataLoader(dataset, batch_size=batch_size)
    for i, batch in enumerate(loader):
        ...
        if max_batches is not None and i >= max_batches:
            break
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.loaders import LoaderUse
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of


def only_begins(site: Site, uses: Iterable[LoaderUse]) -> bool:
    """Whether each loop over a loader is an evaluation in the function that makes it, which a count of batches ends."""
    return all(use.path == site.file.path and use.hot.kind == "eval" and _is_left(site, use.line) for use in uses)


def _is_left(site: Site, line: int) -> bool:
    body = site.file.project.body(site.file.path)
    statements = body.statements(site.function) if body is not None else ()
    loop = next((s for s in statements if isinstance(s, ast.For) and s.lineno == line), None)
    if loop is None:
        return False
    counters = {*_counted(loop), *_counted_up(loop)}
    return any(
        isinstance(branch, ast.If)
        and isinstance(branch.body[-1], ast.Break | ast.Return)
        and _holds_from_a_count(branch.test, counters)
        for branch in loop.body
    )


def _counted(loop: ast.For) -> Iterator[str]:
    """`i` of `for i, batch in enumerate(loader)`, also within `tqdm(...)`."""
    target, counts = loop.target, (n for n in nodes_of(loop.iter) if isinstance(n, ast.Call))
    if any(last_part(chain(call.func)) == "enumerate" for call in counts) and isinstance(target, ast.Tuple):
        yield from names_of(target.elts[0])


def _counted_up(loop: ast.For) -> Iterator[str]:
    """`n` of `n += 1`, in each turn."""
    for statement in loop.body:
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
            continue
        if isinstance(statement.target, ast.Name) and isinstance(statement.value, ast.Constant):
            yield statement.target.id


def _holds_from_a_count(test: ast.expr, counters: set[str]) -> bool:
    """`i >= n`, also where `n` is set: `n is not None and i >= n`, `n and i + 1 >= n`; no flag decides as well."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    compared = [part for part in parts if isinstance(part, ast.Compare) and names_of(part) & counters]
    if len(compared) != 1 or not isinstance(compared[0].ops[0], ast.Gt | ast.GtE | ast.Eq | ast.Lt | ast.LtE):
        return False
    return names_of(test) <= names_of(compared[0])
