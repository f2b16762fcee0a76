"""Fixes of copies to the device: `non_blocking=True` where the batch is copied, `pin_memory=True` where it is made,
and no pinning in the step.

Correct they are wherever a copy goes from the host to a CUDA device: its kernels wait for it. What remains to be
proved before it is done without asking is said in `_is_proved`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.constants.changed_in_place import base_of, changed
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.loaders.loaders import Origin
from torchperf_lint.facts.loaders.pinning import (
    LOADER_CLASSES,
    PIN_POSITION,
    WORKERS_POSITION,
    lacks,
    loader_call,
    told_call,
)
from torchperf_lint.facts.loaders.spread_arguments import spreads_keyword, written_out
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import moved_to, unpacks_keywords
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.values import datasets
from torchperf_lint.facts.values.value import Frame, Value
from torchperf_lint.model import Edit, Fix, Safety

_DEPTH = 6
_ALWAYS_FINE = ("torch.cuda.is_available", "torch.accelerator.is_available")


def without_blocking(site: Site, batch: Value) -> Fix | None:
    """The fix of a blocking copy of a batch; where its loader has workers and is not pinned, of both at once.

    None where the loader does not pin, would have to do so in another file, or yields what cannot be pinned. Of an
    unknown loader it is asked whether any that the file makes does.
    """
    safety = Safety.SAFE if _is_proved(site, batch) else Safety.UNSAFE
    return fix_of(site, safety, lambda edit: _both(edit, site, batch))


def pinned(site: Site) -> Fix | None:
    """The fix of a loader that is not pinned: unsafe, for page-locked memory is memory."""
    values = site.file.project.values
    if datasets.batches_on_device(values, site.call, site.frame):
        return None
    if spreads_keyword(values, site.call, "pin_memory", site.frame):
        return None
    return fix_of(site, Safety.UNSAFE, lambda edit: edit.set_argument(site.call, "pin_memory", PIN_POSITION, "True"))


def without_pinning(pin: ast.Call, move: Site, batch: Value) -> Fix | None:
    """The fix of a batch that the step pins before it moves it; where its loader could pin it, that is asked to.

    Safe where the loader has pinned it: `pin_memory` gives back the tensor itself then. None as above.
    """
    assert isinstance(pin.func, ast.Attribute)
    loaders = [_is_pinned(move.file.project, origin) for origin in batch.origins]
    proved = bool(loaders) and all(loaders) and _comes_from_loop(pin.func.value, move)
    return fix_of(move, Safety.SAFE if proved else Safety.UNSAFE, lambda edit: _unpinned(edit, pin, move, batch))


def _both(edit: Editor, site: Site, batch: Value) -> Iterator[Edit]:
    pinned_here, values = list(_pinned_loaders(site, batch)), site.file.project.values
    told = [_is_said_to_pin(site.file.project, origin) for origin in batch.origins]
    if not told:  # a parameter: the loaders of its file are most likely what is passed
        made = site.file.calls_of(*LOADER_CLASSES)
        told = [not lacks(written_out(values, m.call, m.frame), "pin_memory", PIN_POSITION) for m in made]
    if told and not pinned_here and not any(told):
        raise CannotFix("its loader does not pin, and the flag alone changes nothing")
    into = isinstance(site.call.func, ast.Attribute) and site.call.func.attr == "copy_"
    copied = site.call.args[0] if into else site.receiver
    if copied is None or _is_computed(copied):
        raise CannotFix("it is not the memory that the loader pinned")
    yield from edit.set_keyword(site.call, "non_blocking", "True")
    yield from pinned_here


def _is_computed(node: ast.expr) -> bool:
    """Whether something is made of the batch first: `batch["x"][:, 0].unsqueeze(1)`."""
    parts = list(ast.walk(node))
    return any(isinstance(part, ast.Call | ast.BinOp | ast.Slice) for part in parts)


def _is_said_to_pin(project: Project, origin: Origin) -> bool:
    """Whether a loader is given anything as `pin_memory` but False."""
    call = told_call(project, origin)
    return call is not None and not lacks(call, "pin_memory", PIN_POSITION)


def _unpinned(edit: Editor, pin: ast.Call, move: Site, batch: Value) -> Iterator[Edit]:
    assert isinstance(pin.func, ast.Attribute)
    if pin.args or pin.keywords:
        raise CannotFix("it says for which device")
    pinning = list(_pinned_loaders(move, batch))
    if not pinning and not any(_is_said_to_pin(move.file.project, origin) for origin in batch.origins):
        raise CannotFix("no loader in sight pins it, and without that the copy would block")
    statement = edit.statement(pin)
    if isinstance(statement, cst.Assign) and statement.value is edit.node(pin):
        target = statement.targets[0].target
        itself = len(statement.targets) == 1 and edit.source(target) == edit.source(pin.func.value)
        yield from edit.drop_statement(pin) if itself else [edit.unwrap(pin)]
    else:
        yield edit.unwrap(pin)
    yield from pinning


def _comes_from_loop(node: ast.expr, site: Site) -> bool:
    """Whether an expression is a part of what a loop over a loader yields, as it came."""
    while isinstance(node, ast.Subscript):
        node = node.value
    body = site.file.project.body(site.file.path)
    if body is None or not isinstance(node, ast.Name):
        return False
    reaching = body.reaching(site.function, node.id, body.at(node)) or []
    return bool(reaching) and all(definition.how == "loop" for definition in reaching)


def _pinned_loaders(site: Site, batch: Value) -> Iterator[Edit]:
    """Pin the loaders with workers that do not: a thread does it then."""
    for origin in batch.origins:
        call, told = loader_call(site.file.project, origin), told_call(site.file.project, origin)
        if call is None or told is None or not lacks(told, "pin_memory", PIN_POSITION):
            continue
        if lacks(told, "num_workers", WORKERS_POSITION):
            continue
        record = _record(site.file, origin)
        frame = Frame(origin[0], record.function, origin[1:])
        if datasets.batches_on_device(site.file.project.values, call, frame):
            raise CannotFix("its batches cannot be pinned")
        if spreads_keyword(site.file.project.values, call, "pin_memory", frame):
            raise CannotFix("what it spreads says so already")
        yield from Editor(site.file, record.function).set_argument(call, "pin_memory", PIN_POSITION, "True")


def _record(file: SourceFile, origin: Origin) -> Call:
    path, line, column = origin
    found = [c for c in file.outline.calls if (c.line, c.column) == (line, column)] if path == file.path else []
    if not found:
        raise CannotFix("its loader is made in another file")
    return found[0]


# -- what is proved --------------------------------------------------------------------------------------


def _is_proved(site: Site, batch: Value) -> bool:
    """Whether the copy goes to CUDA or nowhere, the batch holds tensors and nothing else that has such a method, the
    loader is pinned and has workers, and nothing writes into the batch while it is copied.
    """
    project = site.file.project
    loaders = [_is_pinned(project, origin) and _has_workers(project, origin) for origin in batch.origins]
    return bool(loaders) and all(loaders) and _to_cuda(site) and not _written_to(site)


def _has_workers(project: Project, origin: Origin) -> bool:
    call = told_call(project, origin)
    return call is not None and not lacks(call, "num_workers", WORKERS_POSITION)


def _is_pinned(project: Project, origin: Origin) -> bool:
    """Whether a loader pins its batches, which hold tensors and nothing else that has such a method."""
    call = loader_call(project, origin)
    record = next((c for c in project.index.outlines[origin[0]].calls if (c.line, c.column) == origin[1:]), None)
    if call is None or record is None or unpacks_keywords(call):
        return False
    frame = Frame(origin[0], record.function, origin[1:])
    thing = project.values.thing(call.func, frame)
    if thing is None or thing.dotted != LOADER_CLASSES[0]:
        return False
    given = {k.arg: k.value for k in call.keywords}
    pin = given.get("pin_memory") or (call.args[PIN_POSITION] if len(call.args) > PIN_POSITION else None)
    collates = "collate_fn" in given or len(call.args) > datasets.COLLATE_POSITION
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return not (collates or starred) and _is_true(project, pin, frame)


def _is_true(project: Project, pin: ast.expr | None, frame: Frame) -> bool:
    if isinstance(pin, ast.Call):
        thing = project.values.thing(pin.func, frame)
        return thing is not None and thing.dotted in _ALWAYS_FINE
    return is_true(pin)


def _written_to(site: Site) -> bool:
    """Whether the function changes in place what goes by the name of what is copied."""
    name, body = base_of(site.receiver), site.file.project.body(site.file.path)
    if name is None or body is None:
        return True
    return any(
        base_of(written) == name for node in ast.walk(body.functions[site.function]) for written in changed(node)
    )


# -- where it is copied to -------------------------------------------------------------------------------


def _to_cuda(site: Site) -> bool:
    """Whether a copy goes to a CUDA device, or, where there is none, nowhere: other backends copy otherwise."""
    call = site.call
    if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda":
        return True
    device = moved_to(call)
    return device is not None and _names_cuda(site.file.project, device, site.frame, _DEPTH)


def _names_cuda(project: Project, node: ast.expr, frame: Frame, depth: int) -> bool:
    if depth == 0:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith(("cuda", "cpu"))
    if isinstance(node, ast.IfExp):
        return all(_names_cuda(project, n, frame, depth - 1) for n in (node.body, node.orelse))
    if isinstance(node, ast.Call):
        thing = project.values.thing(node.func, frame)
        made = thing is not None and thing.dotted == "torch.device" and bool(node.args)
        return made and _names_cuda(project, node.args[0], frame, depth - 1)
    bound = list(_bound(project, node, frame))
    return bool(bound) and all(v is not None and _names_cuda(project, v, at, depth - 1) for v, at in bound)


def _bound(project: Project, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr | None, Frame]]:
    """What a name, or an attribute of `self`, is bound to, and where; None for what is no plain assignment."""
    body, outline = project.body(frame.path), project.index.outlines[frame.path]
    if body is None:
        return
    if isinstance(node, ast.Name):
        function = frame.function
        while function > 0 and node.id not in body.definitions(function):
            if any(parameter.name == node.id for parameter in outline.functions[function].parameters):
                return
            function = outline.functions[function].parent
        for definition in body.definitions(function).get(node.id, ()):
            plain = definition.value if definition.how == "assign" and not definition.index else None
            yield plain, frame._replace(function=function, at=definition.at)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        owner = outline.functions[frame.function].class_index
        methods = [number for number, f in enumerate(outline.functions) if f.class_index == owner >= 0]
        for number in methods:
            for name, value, _ in body.self_assignments(number):
                if name == node.attr:
                    yield value, frame._replace(function=number, at=body.at(value))
