"""Data sets whose class is chosen by a name: what an item costs where it costs that in every data set of the project.

    dataset_class = find_dataset(options.mode)         get_dataset(config.name)(root=config.root)
    dataset = dataset_class(options)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.datasets import heavy_call
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_DATA_SETS = ("torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset", "torchvision.datasets.")
_known: WeakKeyDictionary[Values, list[tuple[str, str | None]]] = WeakKeyDictionary()


def work_of_any(values: Values, data: ast.expr, frame: Frame) -> str | None:
    """What reading one item costs, in words, where a function of the project chose the class of the data set."""
    made = _bound(values, data, frame)
    if not isinstance(made, ast.Call) or not _is_chosen(values, made.func, frame):
        return None
    found = _work_of_all(values)
    if not found or not all(work for _, work in found):
        return None
    name, work = found[0]
    others = ", and every other data set of the project does such work" if len(found) > 1 else ""
    return f"`{name}.__getitem__` calls `{work}` for each item{others}"


def _bound(values: Values, node: ast.expr, frame: Frame) -> ast.expr | None:
    """The one expression that a name of the function, or an attribute of `self`, is bound to."""
    body = values.body(frame.path)
    if body is None:
        return None
    if isinstance(node, ast.Name):
        return body.assigned_once(frame.function, node.id, frame.at)
    if isinstance(node, ast.Attribute) and chain(node.value) == "self":
        made = body.self_assigned(frame.function, node.attr)
        return made[0][0] if len(made) == 1 else None
    return node


def _is_chosen(values: Values, called: ast.expr, frame: Frame) -> bool:
    """Whether what is called came from a function of the project, and nothing more is known of it."""
    chosen = _bound(values, called, frame) if isinstance(called, ast.Name) else called
    if not isinstance(chosen, ast.Call):
        return False
    things = values.types.things(frame.path, frame.function, chain(chosen.func))
    return any(thing.kind == "function" for thing in things)


def _work_of_all(values: Values) -> list[tuple[str, str | None]]:
    """(class, what an item of it costs) of all data sets: read once, however many loaders are made of some."""
    if values not in _known:
        _known[values] = [(name, heavy_call(values, key, 2)) for name, key in _items(values)]
    return _known[values]


def _items(values: Values) -> Iterator[tuple[str, FunctionKey]]:
    """(class, method) for what reads an item of each data set of the project that no other derives from."""
    for path, outline in values.index.outlines.items():
        if not any(cls.bases for cls in outline.classes) or Demonstrations.is_a_test(path):
            continue
        for number, cls in enumerate(outline.classes):
            thing = Thing("class", path, number)
            bases = values.index.external_bases(thing)
            if not any(base.startswith(_DATA_SETS) for base in bases) or next(values.index.below(thing), None):
                continue
            key = values.index.method(thing, "__getitem__")
            if key is not None:
                yield cls.name, key
