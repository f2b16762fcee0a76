"""Functions that only exchange a tensor, or a mapping of them, between all processes: `reduce_tensor(loss)`.

def reduce_tensor(x):
    if dist.get_world_size() < 2:
        return x
    x = x.clone()
    dist.all_reduce(x)
    return x / dist.get_world_size()
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import last_part

EXCHANGE = frozenset("all_reduce reduce all_gather all_gather_into_tensor gather broadcast".split())
_SHORT = 25
"""Statements of a function that does little else."""


_OF_LIBRARIES = ("detectron2.utils.comm.reduce_dict", "maskrcnn_benchmark.utils.comm.reduce_dict")
"""Such functions of libraries, for the losses of one step in a mapping."""


def reducing_calls(file: SourceFile) -> Iterator[tuple[Site, Call | None, str]]:
    """The hot calls of a file that run such a function, with a tensor or a mapping of them first.

    With each its collective, and the file of that, where the function is the project's.
    """
    yield from ((site, None, "") for site in file.calls_of(*_OF_LIBRARIES) if site.call.args)
    found: dict[Call, tuple[Call, str]] = {}
    for call in file.outline.calls:
        hot = file.project.hotness.of_region(file.path, call.region)
        if hot is not None and hot.kind == "step":
            targets = file.project.types.targets(file.path, call.function, call.callee)
            inside = _only_exchange(file.project, targets[0]) if len(targets) == 1 else None
            if inside is not None:
                found[call] = inside, targets[0].path
    yield from ((site, *found[site.record]) for site in file.calls_among(list(found)) if site.call.args)


def _only_exchange(project: Project, key: FunctionKey) -> Call | None:
    """The collective of a short function that hands over its first parameter once and gives the result back."""
    function = project.index.function(key)
    if function.end_line - function.line > 3 * _SHORT or len(function.parameters) == function.bound:
        return None
    called = project.index.calls_in(key)
    exchanged = [
        call for call in called if last_part(call.callee) in EXCHANGE and _is_torchs(project, key, call.callee)
    ]
    body = project.body(key.path)
    if len(exchanged) != 1 or body is None or any(last_part(call.callee) == "backward" for call in called):
        return None
    if len(body.statements(key.index)) > _SHORT:
        return None
    node = body.node_of(exchanged[0])
    first = function.parameters[function.bound].name
    named = node is not None and any(keyword.arg == "tensor" for keyword in node.keywords)
    hands_over = node is not None and bool(body.reads(key.index, first)) and (bool(node.args) or named)
    return exchanged[0] if hands_over else None


def _is_torchs(project: Project, key: FunctionKey, callee: str) -> bool:
    things = project.types.things(key.path, key.index, callee)
    return any(thing.kind == "external" and thing.dotted.startswith("torch.distributed.") for thing in things)
