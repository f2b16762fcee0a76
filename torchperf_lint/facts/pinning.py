"""What the call that makes a loader says: pinned, workers, unpacked arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from torchperf_lint.facts.arguments import keyword, unpacks
from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.loaders import Origin
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.spread_arguments import written_out
from torchperf_lint.facts.value import Frame

LOADER_CLASSES = ("torch.utils.data.DataLoader", "torch_geometric.loader.DataLoader", "torch_geometric.data.DataLoader")
"""A project's own subclasses may set anything: they are not judged."""
WORKERS_POSITION = 5
PIN_POSITION = 7
"""Positions in `DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers,
collate_fn, pin_memory)`."""


class Pinning(NamedTuple):
    """Which loaders are known not to pin their batches, and what to say about it."""

    unpinned: tuple[Origin, ...]
    clause: str = ""
    advice: str = ""


def pinning_of(project: Project, origins: Sequence[Origin]) -> Pinning:
    """What is known of the loaders made at `origins`: the ones that do not pin."""
    calls = {origin: told_call(project, origin) for origin in origins}
    unpinned = tuple(o for o, node in calls.items() if node is not None and lacks(node, "pin_memory", PIN_POSITION))
    if not unpinned:
        advice = "" if any(calls.values()) else ", with `pin_memory=True` at the loader"
        return Pinning((), advice=advice)
    place = f"{unpinned[0][0]}:{unpinned[0][1]}"
    return Pinning(
        unpinned, f"; its loader ({place}) is not pinned", f" here and `pin_memory=True` to the loader ({place})"
    )


def loader_call(project: Project, origin: Origin) -> ast.Call | None:
    """The call that stands at `origin`, as an `ast` node."""
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


def told_call(project: Project, origin: Origin) -> ast.Call | None:
    """The same with what it spreads written out as far as that is known: to be asked, and not to be edited."""
    path, line, column = origin
    node = loader_call(project, origin)
    record = next((c for c in project.index.outlines[path].calls if (c.line, c.column) == (line, column)), None)
    if node is None or record is None:
        return node
    return written_out(project.values, node, Frame(path, record.function, (line, column)))


def lacks(node: ast.Call, name: str, position: int) -> bool:
    """Whether a call is known not to pass an argument, or to pass a literal False, 0 or None; unpacking hides it."""
    if unpacks(node):
        return False
    given = keyword(node, name)
    if given is None and len(node.args) > position:
        given = node.args[position]
    return given is None or (isinstance(given, ast.Constant) and not given.value)
