"""Numbers that are worked out on the device though the host has all they are made of.

    time = torch.full((1,), step / steps, device=device)
    masked = (n * torch.cos(time * math.pi / 2)).long().clamp(min=1)
    scores.topk(masked.item())                  # waits for what `math.cos` gives at once
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.copies.made_there import is_made_of_host_numbers
from torchperf_lint.facts.copies.own_factories import torch_name
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

_DEPTH = 12
_WORKED_OUT = frozenset(
    "abs ceil clamp clamp_max clamp_min clip cos cosh deg2rad detach div double exp expm1 flatten float floor int log "
    "log10 log1p log2 long maximum minimum mul neg pow reciprocal reshape round rsqrt sigmoid sin sqrt square squeeze "
    "sub add tan tanh to trunc unsqueeze view".split()
)
"""What gives one number for each that it is given, and nothing of any other tensor's."""
_COUNT = pattern(r"^(?:n|num)_\w+s$|^(?:n|num)_\w+_(?:per|of|in)_\w+$|^(?:max_)?seq_len$", re.IGNORECASE)
"""What is called so is a number of the host's, where nothing shows more."""


def worked_out(file: SourceFile, place: Place, node: ast.expr) -> int | None:
    """The line that puts a number of the host's on the device, of which alone an expression is computed; else None."""
    body = file.project.body(file.path)
    return _line(file, place.frame, body, node, place.frame.at, _DEPTH) if body is not None else None


def _line(file: SourceFile, frame: Frame, body: Body, node: ast.expr, at: Position, depth: int) -> int | None:
    if not depth:
        return None
    if isinstance(node, ast.Name):
        made = body.assigned_once(frame.function, node.id, at)
        start = body.at(made) if made is not None else at
        return _line(file, frame, body, made, start, depth - 1) if made is not None and start < at else None
    parts = _parts(file, frame._replace(at=at), node)
    if not parts:
        made_there = isinstance(node, ast.Call) and is_made_of_host_numbers(
            file.project.values, node, frame._replace(at=at)
        )
        return node.lineno if made_there else None
    lines = [
        _line(file, frame, body, part, at, depth - 1)
        for part in parts
        if not _is_number(file, part, frame._replace(at=at))
    ]
    return next(iter(lines), None) if None not in lines else None


def _parts(file: SourceFile, frame: Frame, node: ast.expr) -> list[ast.expr]:
    """What an expression is computed of, where that is all; nothing for others."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if not isinstance(node, ast.Call):
        return []
    values = file.project.values
    if torch_name(values, node, frame) in _WORKED_OUT:
        return node.args
    called = node.func if isinstance(node.func, ast.Attribute) and node.func.attr in _WORKED_OUT else None
    if called is None or values.of(called.value, frame).kind != "tensor":
        return []
    return [called.value, *(part for part in node.args if values.of(part, frame).kind == "tensor")]


def _is_number(file: SourceFile, node: ast.expr, frame: Frame) -> bool:
    if is_host_number(file.project.values, node, frame):
        return True
    kind = file.project.values.of(node, frame).kind
    return isinstance(node, ast.Name) and kind in ("plain", "unknown") and bool(_COUNT.search(node.id))
