"""Copies to the host of what an iterator of the project's own has uploaded and handed over, unchanged.

    def __next__(self):                                      for x, labels in batches:
        rows = self.rows[self.at : self.at + 8]                  out = model(x)
        labels = torch.LongTensor([r.label for r in rows])       seen.append(labels.cpu())
        return self.x(rows), labels.to(self.device)

The host had those numbers all along, as in `uploaded`: they could be handed over beside what lies on the device.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.uploaded import (
    below_reductions,
    may_be_changed,
    same_numbers,
    uploaded_in,
    uploaded_on,
)
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.iteration import hands_over
from torchperf_lint.facts.values.value import Frame

_HOPS = 3
_BARS = frozenset({"tqdm", "iter"})
"""Calls around an iterable that hand on what it gives."""


class Upload(NamedTuple):
    """The line of an iterator that uploads what it hands over, or its part."""

    path: str
    line: int
    by: str
    """The name of the function that it stands in."""


def had_before(file: SourceFile, site: Site) -> bool:
    """Whether what a call copies to the host was there before: uploaded around, or by what handed it over.

    The sums and extremes of that count as well: the lengths of a mask, `mask.sum(dim=1)`.
    """
    if site.receiver is None:
        return False
    uploaded = uploaded_on(file, site, below_reductions(site.receiver)) is not None
    return uploaded or uploaded_by_iterator(file, site, site.receiver) is not None


def uploaded_by_iterator(file: SourceFile, place: Place, node: ast.expr) -> Upload | None:
    """The upload of what an expression is, or is another view of, where the loop around got it from such an iterator.

    None as well where the function may have changed it since.
    """
    node = same_numbers(node)
    body = file.project.body(file.path)
    if body is None or not isinstance(node, ast.Name):
        return None
    found = _element(body, place, node.id)
    if found is None or may_be_changed(file, place.frame, body, node.id):
        return None
    iterated, index = found
    uploads = [_upload(file, key, part, index, _HOPS) for key, part in _given(file, place, iterated)]
    return uploads[0] if uploads and None not in uploads else None


def _element(body: Body, place: Place, name: str) -> tuple[ast.expr, tuple[int, ...]] | None:
    """What a loop goes through, and which part of an element a name is: the one loop that may have bound it."""
    index: tuple[int, ...] = ()
    at = place.frame.at
    for _ in range(2):  # `for batch in batches:`, `x, labels = batch`
        reaching = body.reaching(place.function, name, at) or ()
        if len(reaching) != 1 or reaching[0].value is None:
            return None
        bound = reaching[0]
        assert bound.value is not None
        index = (*bound.index, *index)
        if bound.how == "loop":
            return _below_bars(bound.value, index)
        if bound.how != "item" or not isinstance(bound.value, ast.Name):
            return None
        name, at = bound.value.id, body.at(bound.value)
    return None


def _below_bars(node: ast.expr, index: tuple[int, ...]) -> tuple[ast.expr, tuple[int, ...]] | None:
    while isinstance(node, ast.Call) and node.args:
        name = last_part(chain(node.func))
        if name == "enumerate" and index[:1] == (1,):
            index = index[1:]
        elif name not in _BARS:
            break
        node = node.args[0]
    return node, index


def _given(file: SourceFile, place: Place, iterated: ast.expr) -> list[tuple[FunctionKey, ast.expr]]:
    """What the `__next__` of an iterator returns, each with the function that returns it."""
    values = file.project.values
    value = values.of(iterated, place.frame._replace(at=file.start(iterated)))
    key = values.index.method(value.thing, "__next__") if value.thing and hands_over(values, value) else None
    body = file.project.body(key.path) if key is not None else None
    return [(key, node) for node in body.returns(key.index)] if key is not None and body is not None else []


def _upload(
    file: SourceFile, key: FunctionKey, node: ast.expr, index: tuple[int, ...], hops: int
) -> Upload | None:
    """The upload of one part of what a function returns."""
    project = file.project
    body = project.body(key.path)
    if body is None:
        return None
    if index and isinstance(node, ast.Tuple | ast.List):
        whole = index[0] < len(node.elts) and not any(isinstance(part, ast.Starred) for part in node.elts)
        return _upload(file, key, node.elts[index[0]], index[1:], hops) if whole else None
    other = file if key.path == file.path else SourceFile(project, key.path, project.text(key.path))
    line = uploaded_in(other, Frame(key.path, key.index, body.at(node)), node) if not index else None
    if line is not None:
        return Upload(key.path, line, project.index.function(key).qualname)
    if isinstance(node, ast.Name) and hops:
        bound = body.assigned_once(key.index, node.id, body.at(node))
        return _upload(file, key, bound, index, hops - 1) if bound is not None else None
    if not isinstance(node, ast.Call) or not hops:
        return None
    targets = project.types.targets(key.path, key.index, chain(node.func))
    there = project.body(targets[0].path) if len(targets) == 1 else None
    if there is None:
        return None
    found = [_upload(file, targets[0], part, index, hops - 1) for part in there.returns(targets[0].index)]
    return found[0] if found and None not in found else None
