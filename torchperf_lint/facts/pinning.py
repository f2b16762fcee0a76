"""What the call that makes a loader says: pinned, workers, unpacked arguments."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.loaders import Origin
from torchperf_lint.facts.project import Project

WORKERS_POSITION = 5
PIN_POSITION = 7
"""Positions in `DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory)`."""


class Pinning(NamedTuple):
    """Whether a loader is known not to pin its batches, and what to say about it."""

    missing: bool
    clause: str = ""
    advice: str = ""


def pinning_at(project: Project, origin: Origin | None) -> Pinning:
    """What is known of the loader made at `origin`."""
    node = loader_call(project, origin)
    if node is None or not lacks(node, "pin_memory", PIN_POSITION):
        return Pinning(False, advice=", with `pin_memory=True` at the loader" if node is None else "")
    assert origin is not None
    place = f"{origin[0]}:{origin[1]}"
    return Pinning(True, f"; its loader ({place}) is not pinned", f" here and `pin_memory=True` to the loader ({place})")


def loader_call(project: Project, origin: Origin | None) -> ast.Call | None:
    """The call that stands at `origin`, as an `ast` node."""
    if origin is None:
        return None
    path, line, column = origin
    body = project.body(path)
    outline = project.index.outlines.get(path)
    if body is None or outline is None:
        return None
    for call in outline.calls:
        if (call.line, call.column) == (line, column):
            node = body.call(call.function, line, column, call.callee)
            if node is not None and last_part(call.callee) not in ("to", "cuda"):
                return node
    return None


def lacks(node: ast.Call, name: str, position: int) -> bool:
    """Whether a call is known not to pass an argument, or to pass a literal False, 0 or None; unpacking hides it."""
    if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    given = next((k.value for k in node.keywords if k.arg == name), None)
    if given is None and len(node.args) > position:
        given = node.args[position]
    return given is None or (isinstance(given, ast.Constant) and not given.value)
