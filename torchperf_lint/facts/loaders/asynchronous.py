"""Copies that are asked not to block, and pinning: where their memory comes from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.host_data import Made, made_on_host, upload_at
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.joined_on_host import joined_on_host
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import arguments, keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

_HELPER = pattern(r"prefetch|preload|preprocess_batch|worker|collate|staging|background|producer|thread", re.IGNORECASE)
_STARTERS = frozenset({"Thread", "Process", "submit", "start_new_thread", "Timer", "run_in_executor", "to_thread"})


class Pinned(NamedTuple):
    """A call of `pin_memory`, and the move of what it returned."""

    pin: ast.Call
    move: Site


def does_not_block(node: ast.Call) -> bool:
    """Whether a call says `non_blocking=True`."""
    return is_true(keyword(node, "non_blocking"))


def pageable_source(site: Site) -> Made | None:
    """What a hot copy that is asked not to block copies: a tensor just made in pageable memory; None otherwise.

    Not where TPL251 or TPL252 have better advice: a tensor that the device could fill, numbers that never change.
    """
    values = site.file.project.values
    if site.receiver is None or not does_not_block(site.call):
        return None
    if not moves_to_device(values, site.call, site.frame):
        return None
    joined = joined_on_host(values, site.receiver, site.frame)
    if joined is not None:
        by_join = Made(joined, last_part(chain(joined.func)), site.function)
        return by_join if _in_the_same_turn(site, by_join) else None
    made = made_on_host(values, site.receiver, site.frame)
    if made is None or made.function != site.function or not _in_the_same_turn(site, made):
        return None
    if upload_at(values, site.call, site.frame) is not None:
        return None
    filled_by_the_host = isinstance(site.receiver, ast.Name) and _is_filled(site, site.receiver.id)
    return made if made.factory in api.HOST_DATA | api.LEGACY_TYPES or filled_by_the_host else None


def _is_filled(site: Site, name: str) -> bool:
    body = site.file.project.body(site.file.path)
    return body is not None and bool(body.stored_items(site.function, name))


def _in_the_same_turn(site: Site, made: Made) -> bool:
    """Whether the tensor is made anew each time: inside the loop that makes the copy hot."""
    body = site.file.project.body(site.file.path)
    loop = site.hot.loop if site.hot is not None and not site.hot.depth else None
    if body is None or loop is None or loop[0] != site.file.path:
        return body is not None
    region = site.file.outline.regions[loop[1]]
    return region.function != site.function or region.start <= body.at(made.call) < region.end


def pinned_and_moved(file: SourceFile) -> Iterator[Pinned]:
    """The hot moves of what was pinned just before, in the process and thread that trains."""
    for site in file.hot_calls("to", "cuda"):
        if site.receiver is None or site.hot is None or site.hot.kind in ("data", "update"):
            continue
        found = _pin_below(file.project.values, site.receiver, site.frame)
        if found is None or not moves_to_device(file.project.values, site.call, site.frame):
            continue
        if _in_the_same_turn(site, Made(found, "", site.function)) and not runs_beside(site):
            yield Pinned(found, site)


def _pin_below(values: Values, node: ast.expr, frame: Frame) -> ast.Call | None:
    """The call of `pin_memory` at the bottom of a chain of methods, also over one assignment."""
    body = values.body(frame.path)
    for _ in range(8):
        if isinstance(node, ast.Name) and body is not None:
            made = body.assigned_once(frame.function, node.id, frame.at)
            if made is None:
                return None
            node, frame = made, frame._replace(at=body.at(made))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "pin_memory":
                return node
            if node.func.attr not in api.DERIVING:
                return None
            node = node.func.value
        else:
            return None
    return None


def runs_beside(site: Site) -> bool:
    """Whether the function works ahead of the training loop: in a thread, a worker, a prefetcher."""
    outline = site.file.outline
    index = site.record.function
    while index > 0:
        function = outline.functions[index]
        if _HELPER.search(function.qualname) or _is_handed_to_a_thread(site.file, function.name):
            return True
        index = function.parent
    own = site.file.project.index.class_of(site.file.path, site.record.function)
    bases = site.file.project.index.external_bases(own) if own is not None else ()
    return any(base.startswith(("threading.", "multiprocessing.")) for base in bases)


def _is_handed_to_a_thread(file: SourceFile, name: str) -> bool:
    body = file.project.body(file.path)
    for call in file.outline.calls:
        if last_part(call.callee) not in _STARTERS or body is None:
            continue
        node = body.node_of(call)
        handed = arguments(node) if node is not None else []
        if any(isinstance(a, ast.Name | ast.Attribute) and last_part(ast.unparse(a)) == name for a in handed):
            return True
    return False
