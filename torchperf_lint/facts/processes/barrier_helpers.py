"""Functions of the project that are a barrier and nothing else, behind a name of their own or a test of the backend.

    def synchronize():
        if not dist.is_initialized() or dist.get_world_size() == 1:
            return
        dist.barrier()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.fabrics import is_named_fabric
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

WAITS = frozenset(("barrier", "monitored_barrier", "wait_for_everyone"))
ACCELERATOR = pattern(r"(?:^|\.)_?accelerator$")
OF_LIBRARIES = ("torch.distributed.", "composer.utils.dist.")
"""Modules of collectives; Composer's has those of torch, and does nothing in a single process."""
_HELD = pattern(r"\.(?:dist|distributed)$")
"""`torch.distributed` in an attribute: `self.dist.barrier()`."""
_NAMED = pattern(r"barrier|sync|wait")
_ASKED = frozenset("get_world_size get_rank get_backend is_initialized is_available".split())


def barrier_calls(file: SourceFile) -> Iterator[tuple[Site, Call, str]]:
    """The hot calls of a file that run such a function; the barrier in it, and the file of that."""
    found: dict[Call, tuple[Call, str]] = {}
    for call in file.outline.calls:
        if not _NAMED.search(last_part(call.callee)):
            continue
        hot = file.project.hotness.of_region(file.path, call.region)
        if hot is not None and not _waits_itself(file.project, FunctionKey(file.path, call.function), call.callee):
            targets = file.project.types.targets(file.path, call.function, call.callee)
            inside = [_barrier_of(file.project, key) for key in targets]
            if inside and inside[0] is not None and all(inside):
                found[call] = inside[0], targets[0].path
    yield from ((site, *found[site.record]) for site in file.calls_among(list(found)))


def _barrier_of(project: Project, key: FunctionKey) -> Call | None:
    """The barrier of a function that does nothing else."""
    body = project.body(key.path)
    function = body.functions.get(key.index) if body is not None else None
    if body is None or not isinstance(function, ast.FunctionDef) or not _only_waits(function.body, project, key):
        return None
    waits = (call for call in project.index.calls_in(key) if _waits_itself(project, key, call.callee))
    return next(waits, None)


def _only_waits(suite: Sequence[ast.stmt], project: Project, key: FunctionKey) -> bool:
    return all(_waits_or_asks(statement, project, key) for statement in suite)


def _waits_or_asks(statement: ast.stmt, project: Project, key: FunctionKey) -> bool:
    """Whether a statement waits, leaves, or asks how many processes there are, and has no other effect."""
    if isinstance(statement, ast.If):
        return _only_waits([*statement.body, *statement.orelse], project, key)
    if isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom):
        return True
    if not isinstance(statement, ast.Expr | ast.Return | ast.Assign):
        return False
    value = statement.value
    if value is None or isinstance(value, ast.Constant):
        return True
    if not isinstance(value, ast.Call):
        return False
    written = chain(value.func)
    if isinstance(statement, ast.Assign):
        return last_part(written) in _ASKED
    return _waits_itself(project, key, written) or _is_named_barrier(value)


def _is_named_barrier(call: ast.Call) -> bool:
    """`hvd.allreduce(torch.tensor(0), name="barrier")`: the collective of a library that has no barrier."""
    said = (k.value for k in call.keywords if k.arg == "name")
    return any(isinstance(value, ast.Constant) and value.value == "barrier" for value in said)


def _waits_itself(project: Project, key: FunctionKey, callee: str) -> bool:
    """Whether a call is a barrier of `torch.distributed`, of Accelerate or of Fabric."""
    receiver, _, name = callee.rpartition(".")
    if name not in WAITS:
        return False
    things = project.types.things(key.path, key.index, callee)
    if any(thing.kind == "external" and thing.dotted.startswith(OF_LIBRARIES) for thing in things):
        return True
    return bool(ACCELERATOR.search(receiver) or _HELD.search(receiver)) or is_named_fabric(receiver)
