"""Parameters that every hot call of the same file uploads just before it hands them over: the host had those numbers.

for x, y in loader:                        def log(self, predicted, label):
    x, y = x.to(device), y.to(device)          self.counts[int(label)] += 1     # waits for what the loader gave
    meter.log(net(x).argmax(1), y)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.uploaded import below_comparison, below_reductions, uploaded_in, uploaded_on
from torchperf_lint.facts.copies.worked_out import worked_out
from torchperf_lint.facts.files.hot_callers import hot_callers
from torchperf_lint.facts.files.source import Place, SourceFile


def uploaded_here_or_before(file: SourceFile, place: Place, node: ast.expr) -> int | None:
    """The line, of the same file, that uploads what an expression is, reduces, or compares with a number.

    In the function around, or where that is called; or that puts the one number there that it is worked out of.
    """
    node = below_reductions(below_comparison(node))
    line = uploaded_on(file, place, node)
    line = line if line is not None else _by_callers(file, place, node)
    return line if line is not None else worked_out(file, place, node)


def _by_callers(file: SourceFile, place: Place, node: ast.expr) -> int | None:
    body = file.project.body(file.path)
    if body is None or not isinstance(node, ast.Name) or place.function <= 0:
        return None
    parameters = {parameter.name for parameter in file.outline.functions[place.function].parameters}
    if node.id not in parameters or body.reaching(place.function, node.id, place.frame.at):
        return None
    lines = []
    for caller in hot_callers(file.project.values, place.frame):
        if caller.frame.path != file.path:
            continue  # whatever that one has: these wait for what they had
        given = caller.argument(node.id)
        lines.append(uploaded_in(file, caller.frame, given) if given is not None else None)
    return min(line for line in lines if line is not None) if lines and None not in lines else None
