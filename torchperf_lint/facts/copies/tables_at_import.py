"""Tensors that a file of Python makes when it is imported, as entries of a dict: `STATS = {"mean": torch.tensor(...)}`.

    def normalise(latents):
        mean = STATS["mean"][:, None, None]
        return latents - mean.to(latents)                # copies the same numbers from the host in each call
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.literals import is_none, is_text
from torchperf_lint.facts.values.value import HOST, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence


def entry_at_import(values: Values, node: ast.expr, frame: Frame) -> Value | None:
    """What is moved where that is the same part of a constant of the file at each call, of a tensor on the host."""
    body = values.body(frame.path)
    if body is None or frame.function == 0:
        return None
    node = _unviewed(node)
    if isinstance(node, ast.Name):
        bound = body.assigned_once(frame.function, node.id, frame.at)
        node = _unviewed(bound) if bound is not None else node
    if not isinstance(node, ast.Subscript) or not is_text(node.slice) or not isinstance(node.value, ast.Name):
        return None
    table = node.value.id
    if not table.isupper() or body.definitions(frame.function).get(table):
        return None
    bound_there = body.reaching(0, table, END_OF_FILE) or ()
    made = bound_there[0].value if len(bound_there) == 1 and bound_there[0].how == "assign" else None
    entry = _entry(made, node.slice) if isinstance(made, ast.Dict) else None
    if entry is None or body.stored_items(0, table) or body.stored_items(frame.function, table):
        return None
    value = values.of(entry, Frame(frame.path, 0, body.at(entry)))
    if value.kind != "tensor" or value.device != HOST or value.confidence is not Confidence.CERTAIN:
        return None
    return value.with_reason(f"`{ast.unparse(node)}` (line {entry.lineno}) {value.because}, at import")


def _unviewed(node: ast.expr) -> ast.expr:
    """`table` of `table[:, None]`: no more than another shape of it."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple | ast.Slice) and _is_whole(node.slice):
        node = node.value
    return node


def _is_whole(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(is_none(p) or (isinstance(p, ast.Slice) and p.lower is p.upper is p.step is None) for p in parts)


def _entry(table: ast.Dict, key: ast.expr) -> ast.expr | None:
    wanted = ast.dump(key)
    pairs = zip(table.keys, table.values, strict=True)
    return next((value for own, value in pairs if own is not None and ast.dump(own) == wanted), None)
