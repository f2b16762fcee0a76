"""Whether what a name holds at one place is what `backward` runs on at another, under the same name.

    total += loss
    loss = loss / accumulation              # the same graph, with one more node
    loss.backward()
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part

_SCALINGS = 2
"""How often a loss is scaled under its own name between the two places."""


def reaches_backward(body: Body, function: int, written: str, here: Position, there: Position) -> bool:
    """Whether `written`, read at `here`, carries the graph that `backward` runs through at `there`."""
    root = re.split(r"[.\[(]", written, maxsplit=1)[0]
    read = body.reaching(function, root, here)
    for _ in range(_SCALINGS + 1):
        run = body.reaching(function, root, there)
        if read is None or run is None:
            return read is run
        if {d.at for d in read} & {d.at for d in run}:
            return not any(root == written and ends_graph(d) for d in read)
        scaled = run[0] if len(run) == 1 and root == written and _is_scaled(run[0], root) else None
        if scaled is None:
            return False
        there = scaled.at
    return False


def _is_scaled(d: Definition, name: str) -> bool:
    """`loss = loss / n`, `loss /= n`, `loss = loss * 0.5`."""
    node = d.value
    if not isinstance(node, ast.BinOp) or not isinstance(node.left, ast.Name) or node.left.id != name:
        return False
    return isinstance(node.op, ast.Div) or (isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant))


def ends_graph(d: Definition) -> bool:
    """A binding that plainly ends the graph: `loss = loss.detach()`, `loss = float(loss)`."""
    node = d.value
    if d.how != "assign" or node is None:
        return False
    if isinstance(node, ast.Attribute):
        return node.attr == "data"
    if not isinstance(node, ast.Call):
        return False
    name = last_part(chain(node.func))
    return name in ("detach", "item", "float", "tolist", "numpy") or chain(node.func).startswith("numpy.")
