"""What code writes into a tensor that it has made: `table[:, 0::2] = torch.sin(angles)`, `mask[i, :k] = True`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.bindings.bindings import BlockPath, Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.constants.constants import same_choice
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values


def written_before(
    body: Body, function: int, name: str, made: Sequence[Definition], at: Position
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What `written_into` tells, but for what is put in after the place `at`, where each turn makes `name` anew."""
    loops = _loops(body.block_of(function, at))
    anew = all(d.at < at and _loops(d.block) == loops for d in made)
    for target, value in written_into(body, function, name):
        if not anew or body.at(target) < at:
            yield target, value


def _loops(block: BlockPath) -> list[tuple[int, str]]:
    return [part for part in block if part[1] == "loop"]


def is_cut_once(values: Values, target: ast.expr, made: Sequence[Definition], frame: Frame) -> bool:
    """`table[: n // 2, :] = ...` in no loop of its own: a piece of a table, wherever it is cut with numbers."""
    body = values.body(frame.path)
    if body is None or not isinstance(target, ast.Subscript):
        return False
    loops = _loops(body.block_of(frame.function, frame.at))
    return all(_loops(d.block) == loops for d in made) and is_cut(values, target.slice, frame)


def is_cut(values: Values, index: ast.expr, frame: Frame) -> bool:
    """Whether an index takes pieces by numbers, or adds dimensions: `[:n, None]`, `[..., 0]`."""
    for part in index.elts if isinstance(index, ast.Tuple) else [index]:
        if isinstance(part, ast.Slice):
            bounds = [bound for bound in (part.lower, part.upper, part.step) if bound is not None]
            if any(values.of(bound, frame).kind not in ("plain", "unknown") for bound in bounds):
                return False
        elif not isinstance(part, ast.Constant):
            return False
    return True


def steady_place(values: Values, target: ast.expr, frame: Frame, used: Position) -> bool:
    """Whether no step chooses where something is put: `[i, max(0, i - w):]` in loops over shapes and settings."""
    while isinstance(target, ast.Subscript):
        parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        if not all(same_choice(values, part, frame, used) for part in parts):
            return False
        target = target.value
    return True
