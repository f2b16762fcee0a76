"""Batches that an iterator of the project's own moves to the device before it hands them to a loop that trains.

    def batches(self, x, size):                       def __next__(self):
        for start in range(0, len(x), size):              rows = self.rows[self.at : self.at + self.size]
            part = x[start : start + size]                self.at += self.size
            yield part.to(self.device)                    return torch.LongTensor([r.ids for r in rows]).to(self.device)

The loop that draws on it waits for each copy as if the move stood in the loop itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.module_calls import MODEL_NAME
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.copies.computed import computed_upload
from torchperf_lint.facts.copies.fresh import fresh_on_host
from torchperf_lint.facts.copies.host_data import upload_at
from torchperf_lint.facts.copies.moves import span_of_loop
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.loaded_on_device import is_loaded_there
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE, HOST, Value, tensor
from torchperf_lint.model import Confidence

_WRAPS = frozenset({api.VARIABLE, "tuple", "list"})
"""Calls that hand on what they are given."""
_Comprehension = ast.ListComp | ast.GeneratorExp


def handed_over(site: Site) -> Value | None:
    """The batch that a hot move of an iterator copies from the host, where what it gives is handed over; else None."""
    if site.hot is None or site.hot.kind not in ("step", "eval") or site.hot.optional or site.receiver is None:
        return None
    project, key = site.file.project, FunctionKey(site.file.path, site.function)
    body = project.body(site.file.path)
    if body is None or not (_hands_over(project, key) or _is_asked_by_one(project, key)):
        return None
    if not _is_handed_on(site, body) or not moves_to_device(project.values, site.call, site.frame):
        return None
    return _of_the_turn(site, body)


def _hands_over(project: Project, key: FunctionKey) -> bool:
    """Whether a loop that trains or evaluates draws on a function: a generator, or the `__next__` of an object."""
    if project.index.function(key).name == "__next__":
        return True
    generators, loops = project.hotness.loops.generators, project.hotness.loops
    return any(loops.at(*place) is not None for place in generators.drawn.get(key, ()))


def _is_asked_by_one(project: Project, key: FunctionKey) -> bool:
    """Whether such an iterator hands over what a function gives it: `return self._to_tensors(rows)`."""
    for site in project.hotness.callers.get(key, ()):
        caller = FunctionKey(site.path, site.call.function)
        body, node = project.body(site.path), call_at(project.values, site)
        if body is not None and node is not None and _hands_over(project, caller):
            bound = body.definitions(caller.index).items()
            names = {name for name, found in bound if any(d.value is node for d in found)}
            if any(part is node or _is_any_of(part, names) for part in _given(body, caller.index)):
                return True
    return False


def _is_handed_on(site: Site, body: Body) -> bool:
    """Whether what a move gives is a part of what its function returns or yields, also by a name."""
    definitions = body.definitions(site.function).items()
    moved = {name for name, found in definitions if any(_gives(d.value, site.call) for d in found if d.how == "assign")}
    return any(part is site.call or _is_any_of(part, moved) for part in _given(body, site.function))


def _gives(node: ast.expr | None, call: ast.Call) -> bool:
    return node is not None and any(part is call for part in _parts(node))


def _is_any_of(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _given(body: Body, function: int) -> Iterator[ast.expr]:
    """The parts of what a function returns and yields."""
    for node in (*body.returns(function), *(node for node, _ in body.yields(function))):
        yield from _parts(node)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """What tuples, lists, dicts and `Variable(x)` hold, however deep, and what methods derive new tensors from."""
    yield node
    inner: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.List):
        inner = node.elts
    elif isinstance(node, ast.Dict):
        inner = node.values
    elif isinstance(node, _Comprehension):
        inner = [node.elt]
    elif isinstance(node, ast.DictComp):
        inner = [node.value]
    elif isinstance(node, ast.Call) and last_part(chain(node.func)) in _WRAPS:
        inner = node.args
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
        inner = [node.func.value]
    for part in inner:
        yield from _parts(part)


def _of_the_turn(site: Site, body: Body) -> Value | None:
    """What is moved, where each turn makes or cuts another and nothing says that it lies on the device.

    What a factory fills, and numbers that no step changes, other rules find.
    """
    values, receiver = site.file.project.values, site.receiver
    assert receiver is not None
    value = site.file.value(receiver, site)
    if value.device == DEVICE or value.kind not in ("tensor", "unknown"):
        return None
    if fresh_on_host(values, site.call, site.frame) or upload_at(values, site.call, site.frame):
        return None
    if computed_upload(values, site.call, site.frame) is not None:
        return None
    made = _bound_here(site, body, receiver)
    cut = made if isinstance(made, ast.Subscript) and not isinstance(made.slice, ast.Constant) else None
    if value.kind == "tensor" and value.device == HOST:
        anew = cut is not None or isinstance(made, ast.Call)
        return value.weaker(Confidence.LIKELY) if anew and not value.origins else None
    if cut is None or MODEL_NAME.search(f"_{chain(receiver)}") or not isinstance(cut.value, ast.Name | ast.Attribute):
        return None
    if is_loaded_there(values, cut.value, site.frame):
        return None
    because = f"a part of `{chain(cut.value)}` that is cut for one turn (line {cut.lineno}) and moved to the device"
    return tensor(HOST, because, Confidence.POSSIBLE)  # it may lie there already: then the move does nothing


def _bound_here(site: Site, body: Body, node: ast.expr) -> ast.expr | None:
    """What is moved, below the methods that derive it, or what the turn has bound the name to; None for all else."""
    for part in _parts(node):
        node = part
    if not isinstance(node, ast.Name):
        return node
    bound = body.assigned_once(site.function, node.id, site.start)
    span = span_of_loop(site)
    if bound is None or (span is not None and not span[0] <= body.at(bound) < span[1]):
        return None
    for part in _parts(bound):
        bound = part
    return bound
