"""Copies to the host that nobody waited for, and what reads them before they have arrived."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.host_data import made_on_host
from torchperf_lint.facts.devices.devices import target_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.asynchronous import does_not_block
from torchperf_lint.facts.outlines.records import Call, Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.facts.values.value import HOST

_VIEWS = frozenset(
    "detach view reshape squeeze unsqueeze flatten contiguous float double half bfloat16 long int bool byte to T "
    "transpose permute expand data numpy astype view_as narrow".split()
)
"""What gives the same memory, or may: no proof of a read."""
_READS = frozenset(
    "item tolist clone sum mean max min argmax argmin any all std var norm topk sort median nonzero tobytes copy "
    "prod cumsum unique histogram savetxt".split()
)
_READING = frozenset("float int bool print list sum max min any all sorted str set tuple".split())
_WAITS = frozenset(
    "synchronize wait wait_event wait_stream wait_for result item tolist cpu barrier query all_gather_object join "
    "cuda_synchronize get elapsed_time stream_synchronize".split()
)
"""Calls after which an earlier copy of the same stream may have arrived, whoever they are for."""


class Unfinished(NamedTuple):
    """A read of a copy that may not have arrived."""

    copy: Site
    read: ast.AST
    written: str
    """How the read is written."""


def unfinished_reads(file: SourceFile) -> Iterator[Unfinished]:
    """The first read of each copy to the host that is asked not to block, where nothing in between waits."""
    records = [call for call in file.outline.calls if last_part(call.callee) in ("to", "copy_")]
    for site in file.calls_among(records):
        if site.receiver is None or not does_not_block(site.call) or not _goes_to_host(site):
            continue
        read = _read_in_place(site)
        read = read if read is not None else _read_later(site)
        if read is not None:
            yield read


def _goes_to_host(site: Site) -> bool:
    values = site.file.project.values
    if last_part(site.record.callee) == "copy_":
        held = values.of(site.receiver, site.frame) if site.receiver is not None else None
        source = values.of(site.call.args[0], site.frame) if site.call.args else None
        if held is None or held.kind != "tensor" or held.device != HOST:
            return False
        assert site.receiver is not None
        if made_on_host(values, site.receiver, site.frame) is not None:
            # CUDA is back from a copy to pageable memory once it is complete, whatever torch was asked for.
            return False
        return source is not None and source.kind == "tensor" and source.device != HOST
    if target_device(values, site.call, site.frame) != HOST:
        return False
    assert site.receiver is not None
    moved = values.of(site.receiver, site.frame)
    return moved.kind in ("tensor", "unknown") and not (moved.kind == "tensor" and moved.device == HOST)


def _read_in_place(site: Site) -> Unfinished | None:
    """`x.to("cpu", non_blocking=True).numpy().tolist()`: the copy is read by what it stands in."""
    parents = site.file.enclosing(site.function).parents
    top: ast.AST = site.call
    shared = False
    while True:
        parent = parents.get(top)
        if not isinstance(parent, ast.Attribute):
            break
        call = parents.get(parent)
        if parent.attr in _READS and isinstance(call, ast.Call):
            return Unfinished(site, call, f".{parent.attr}()")
        if parent.attr not in _VIEWS:
            return None
        shared = shared or parent.attr == "numpy"
        top = call if isinstance(call, ast.Call) and call.func is parent else parent
    if _is_read_by(parents.get(top), top):
        return Unfinished(site, top, _shown(parents[top]))
    if shared and not _will_be_waited_for(site, top):
        return Unfinished(site, top, ".numpy()")
    return None


def _is_read_by(parent: ast.AST | None, node: ast.AST) -> bool:
    if isinstance(parent, ast.Call) and node is not parent.func:
        name = chain(parent.func)
        head = name.partition(".")[0]
        return (
            name in _READING or head in ("np", "numpy", "pickle") or name in ("torch.save", "torch.cat", "torch.stack")
        )
    if isinstance(parent, ast.List | ast.Tuple):
        return False
    if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert):
        return parent.test is node
    return isinstance(parent, ast.FormattedValue | ast.Compare | ast.For | ast.comprehension)


def _shown(parent: ast.AST) -> str:
    if isinstance(parent, ast.Call):
        return f"{ast.unparse(parent.func)}(...)"
    return "a test" if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert | ast.Compare) else "what uses it"


def _will_be_waited_for(site: Site, top: ast.AST) -> bool:
    """An array that shares the memory is no read: the caller of `async_copy(x)` may wait first, and then look."""
    enclosing = site.file.enclosing(site.function)
    statement = enclosing.statement(top)
    later = [c for c in _waits(site) if statement is None or c.line > (statement.end_lineno or statement.lineno)]
    if later:
        return True
    handed_in = chain(site.receiver).partition(".")[0] if site.receiver is not None else ""
    parameters = site.file.outline.functions[site.function].parameters
    return isinstance(statement, ast.Return) and any(parameter.name == handed_in for parameter in parameters)


def _waits(site: Site) -> list[Call]:
    calls = [c for c in site.file.outline.calls if c.function == site.record.function]
    copies = site.file.calls_among([c for c in calls if last_part(c.callee) == "to"])
    return [c for c in calls if last_part(c.callee) in _WAITS] + [copy.record for copy in copies if _blocks(copy)]


def _blocks(site: Site) -> bool:
    """A copy to the host that waits for all that its stream was given before: `y.to("cpu")`."""
    flag = site.keyword("non_blocking")
    return site.receiver is not None and (flag is None or is_false(flag)) and _goes_to_host(site)


def _read_later(site: Site) -> Unfinished | None:
    """`y = x.to("cpu", non_blocking=True)`, and then `y.numpy()` with nothing between that waits."""
    name = _name_of(site)
    body = site.file.project.body(site.file.path)
    if name is None or body is None:
        return None
    enclosing = site.file.enclosing(site.function)
    statement = enclosing.statement(site.call)
    assert statement is not None
    after = body.at(statement, end=True)
    reads = sorted(_reads_of(enclosing.parents, name), key=lambda pair: (pair[0].lineno, pair[0].col_offset))  # type: ignore[attr-defined]
    waits = [(c.line, c.column) for c in _waits(site)]
    for node, written in reads:
        at = body.at(node)  # type: ignore[arg-type]
        if at <= after or _rebound_between(site, name, after, at) or not _same_branch(site, at):
            continue
        if any(after <= wait < at for wait in waits):
            return None
        return Unfinished(site, node, f"{name}{written}" if written.startswith(".") else written)
    return None


def _name_of(site: Site) -> str | None:
    """The name that the copy gets, or that it fills."""
    if last_part(site.record.callee) == "copy_":
        return site.receiver.id if isinstance(site.receiver, ast.Name) else None
    statement = site.file.enclosing(site.function).statement(site.call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    while isinstance(value, ast.Call) and value is not site.call and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _VIEWS:
            return None
        value = value.func.value
    return target.id if isinstance(target, ast.Name) and value is site.call else None


def _reads_of(parents: dict[ast.AST, ast.AST], name: str) -> Iterator[tuple[ast.AST, str]]:
    """Where a name's memory is read on the host, and how that is written."""
    for node in parents:
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        top: ast.AST = node
        shared = ""
        while isinstance(parent := parents.get(top), ast.Attribute | ast.Subscript):
            if isinstance(parent, ast.Subscript):
                if parent.slice is top:
                    break
                top = parent
                continue
            call = parents.get(parent)
            if parent.attr in _READS and isinstance(call, ast.Call):
                yield node, f".{parent.attr}()"
            shared = shared or (".numpy()" if parent.attr == "numpy" else "")
            if parent.attr not in _VIEWS:
                break
            top = call if isinstance(call, ast.Call) and call.func is parent else parent
        if _is_read_by(parents.get(top), top):
            yield node, _shown(parents[top])
        elif shared:
            yield node, shared


def _rebound_between(site: Site, name: str, start: Position, end: Position) -> bool:
    body = site.file.project.body(site.file.path)
    bound = body.definitions(site.function).get(name, ()) if body is not None else ()
    return any(start < definition.at < end for definition in bound)


def _same_branch(site: Site, at: Position) -> bool:
    """Whether the read runs whenever the copy does: in the same block or in one around it."""
    body = site.file.project.body(site.file.path)
    if body is None:
        return False
    copied, read = body.block_of(site.function, site.start), body.block_of(site.function, at)
    shared = min(len(copied), len(read))
    return copied[:shared] == read[:shared]
