"""Data sets that are given transforms of images, which they run for each item: `Cifar(root, transform=train_tf)`.

Where a data set was made is followed through names, attributes, parameters, and splits of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_GIVEN = pattern(r"^(?:\w+_)?(?:transforms?|augmentations?|augment)$")
_COMPOSED = pattern(
    r"^(?:torchvision\.transforms|albumentations|monai\.transforms|timm\.data|torchaudio\.transforms)\."
)
_DATA_SET = pattern(r"^[A-Z]|data_?set|_ds$")
_PARTS = frozenset(("random_split", "Subset"))
"""What makes data sets of a part of one: its first argument."""
_STEPS = 5


class _Made(NamedTuple):
    """A call that makes something, and where it stands."""

    call: ast.Call
    frame: Frame


def transforms_given(values: Values, data: ast.expr, frame: Frame) -> str | None:
    """What reading one item costs, in words, where the data set was made with transforms of a library of images."""
    made = _made(values, data, frame)
    if made is None or not _DATA_SET.search(last_part(chain(made.call.func))):
        return None
    for keyword in made.call.keywords:
        if keyword.arg is None or not _GIVEN.search(keyword.arg):
            continue
        given = _made(values, keyword.value, made.frame)
        thing = values.thing(given.call.func, given.frame) if given is not None else None
        if thing is not None and thing.kind == "external" and _COMPOSED.search(thing.dotted):
            name, at = last_part(chain(made.call.func)), place(made.frame.path, made.call.lineno, frame.path)
            return f"`{name}` runs `{chain(keyword.value)}` ({at}) for each item"
    return None


def _made(values: Values, node: ast.expr, frame: Frame, steps: int = _STEPS) -> _Made | None:
    """The call that an expression is, or that what it names is bound to, splits of a data set taken off."""
    if steps <= 0:
        return None
    if isinstance(node, ast.Subscript):
        return _made(values, node.value, frame, steps - 1)
    if isinstance(node, ast.Call):
        if last_part(chain(node.func)) in _PARTS and node.args:
            return _made(values, node.args[0], frame, steps - 1)
        return _Made(node, frame)
    found = list(_bound(values, node, frame))
    made = (_made(values, value, there, steps - 1) for value, there in found)
    return next((m for m in made if m is not None), None)


def _bound(values: Values, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What a name or an attribute of the object is bound to, where that can be told."""
    body = values.body(frame.path)
    if body is None:
        return
    if isinstance(node, ast.Name):
        for function in dict.fromkeys((frame.function, 0)):
            found = [d for d in body.definitions(function).get(node.id, ()) if d.within is None]
            if len(found) == 1 and found[0].value is not None and found[0].how in ("assign", "item"):
                yield found[0].value, Frame(frame.path, function, found[0].at)
            if found:
                return
        yield from _passed(values, node.id, frame)
    if isinstance(node, ast.Attribute) and chain(node) == f"self.{node.attr}":
        cls = values.index.class_of(frame.path, frame.function)
        for part in values.index.ancestry(cls) if cls is not None else ():
            if part.kind == "class":
                yield from _set(values, part.path, values.index.record(part).methods.values(), node.attr)


def _set(values: Values, path: str, methods: Iterable[int], attribute: str) -> Iterator[tuple[ast.expr, Frame]]:
    """What the methods of a class bind an attribute to."""
    body = values.body(path)
    if body is None:
        return
    for method in methods:
        for name, value, _ in body.self_assignments(method):
            if name == attribute:
                yield value, Frame(path, method, body.at(value))


def _passed(values: Values, name: str, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What the callers of a function pass for a parameter."""
    key = FunctionKey(frame.path, frame.function)
    function = values.index.function(key)
    if name not in [parameter.name for parameter in function.parameters]:
        return
    for site in values.hotness.callers.get(key, ())[:2]:
        node = call_at(values, site)
        given = argument_for(node, function, name) if node is not None else None
        if given is not None:
            yield given, Frame(site.path, site.call.function, (site.call.line, site.call.column))
