"""What the call that makes a loader says: pinned, workers, unpacked arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.loaders import Origin
from torchperf_lint.facts.loaders.spread_arguments import written_out
from torchperf_lint.facts.syntax.arguments import keyword, unpacks
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.web_loaders import WEB_LOADER

LOADER_CLASSES = (
    "torch.utils.data.DataLoader",
    "torch_geometric.loader.DataLoader",
    "torch_geometric.data.DataLoader",
    WEB_LOADER,
)
"""A project's own subclasses may set anything: they are not judged."""
WORKERS_POSITION = 5
PIN_POSITION = 7
"""Positions in `DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers,
collate_fn, pin_memory)`."""


FROM_ANYWHERE = ", and let what hands the batch over pin it: `pin_memory=True` of a DataLoader, else `.pin_memory()`"
"""Where nothing tells what makes the batch: it may be a class of one's own, which takes no such argument."""
_ON_TO = "super().__init__"


class Pinning(NamedTuple):
    """Which loaders are known not to pin their batches, and what to say about it."""

    unpinned: tuple[Origin, ...]
    clause: str = ""
    advice: str = ""
    """What follows "pass `non_blocking=True`": how the batches come to be pinned as well."""


def pinning_of(project: Project, origins: Sequence[Origin]) -> Pinning:
    """What is known of the loaders made at `origins`: the ones that do not pin."""
    deciding = [_deciding(project, origin) for origin in origins]
    calls = {origin: told_call(project, origin) for origin in deciding}
    unpinned = tuple(o for o, node in calls.items() if node is not None and lacks(node, "pin_memory", PIN_POSITION))
    if not unpinned:
        return Pinning((), advice="" if any(calls.values()) else FROM_ANYWHERE)
    place = f"{unpinned[0][0]}:{unpinned[0][1]}"
    whom = "the loader" if unpinned[0] in origins else f"`{_ON_TO}` of the loader's class"
    advice = f" here and `pin_memory=True` to {whom} ({place})"
    return Pinning(unpinned, f"; its loader ({place}) is not pinned", advice)


def _deciding(project: Project, origin: Origin) -> Origin:
    """The call that says whether a loader pins: in the constructor of a class of the project that takes no such word.

    class Batches(DataLoader):
        def __init__(self, data):
            super().__init__(data, batch_size=8)
    """
    path, line, column = origin
    node = loader_call(project, origin)
    record = next((c for c in project.index.outlines[path].calls if (c.line, c.column) == (line, column)), None)
    if node is None or record is None:
        return origin
    made = project.values.thing(node.func, Frame(path, record.function, (line, column)))
    built = project.index.method(made, "__init__") if made is not None and made.kind == "class" else None
    if built is None:
        return origin
    for call in project.index.outlines[built.path].calls:
        inner = (built.path, call.line, call.column)
        told = told_call(project, inner) if call.function == built.index and call.callee == _ON_TO else None
        if told is not None and not unpacks(told) and not _takes_false(project, built, told):
            return inner
    return origin


def _takes_false(project: Project, built: FunctionKey, told: ast.Call) -> bool:
    """Whether a constructor passes on a `pin_memory` of its own that is false unless it is given."""
    body, given = project.body(built.path), keyword(told, "pin_memory")
    if body is None or not isinstance(given, ast.Name) or given.id != "pin_memory":
        return False
    default = default_of(body.functions[built.index], given.id)
    return isinstance(default, ast.Constant) and not default.value


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
