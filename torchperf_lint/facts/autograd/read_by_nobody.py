"""Lists that a pass fills with tensors of the device, and that nothing ever reads.

    features = []
    with torch.no_grad():
        for batch in loader:
            image_features = model(batch.to(device))
            features.append(image_features)               # and no other line mentions `features`
            total += criterion(image_features)

A tensor that nobody keeps gives its memory back to the next turn; in such a list it stays, with all those of the pass.
Only names of one function are asked: who may read what an object, an argument or a module holds cannot be seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.autograd.kept import LOSS_NAME
from torchperf_lint.facts.autograd.stores import Store, outlives, store_of
from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, spot_at
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE, Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_READ_BY_NAME = pattern(r"(?<![.\w])(?:locals|vars|globals|exec|eval|breakpoint)\(|\bset_trace\(")
"""What may read a name of a function that no line mentions."""
_FILLS = frozenset(("append", "extend"))


class Unread(NamedTuple):
    """A statement that puts a tensor of the device into a list which nothing reads."""

    spot: Spot
    store: Store
    name: str
    """The list's."""
    value: Value


def unread_lists(file: SourceFile) -> tuple[Unread, ...]:
    """The statements of a file's hot code that fill lists for nobody, in order."""
    body = file.project.body(file.path)
    if body is None or not any(f"{name}(" in file.text for name in _FILLS):
        return ()
    return tuple(found for function in hot_functions(file) if function for found in _of_function(file, body, function))


def _of_function(file: SourceFile, body: Body, function: int) -> Iterator[Unread]:
    around = file.enclosing(function)
    for statement in around.of_kinds((ast.Expr,)):
        assert isinstance(statement, ast.stmt)
        store = store_of(statement)
        if store is None or store.how != "store" or not isinstance(store.target, ast.Name):
            continue
        name = store.target.id
        spot = spot_at(file, statement, function) if _is_only_filled(file, body, function, name) else None
        if spot is None or spot.hot.optional or spot.hot.kind not in ("step", "eval", "rollout"):
            continue
        value = _on_the_device(spot, store)
        if value is not None and outlives(spot, store, body) is Confidence.CERTAIN:
            yield Unread(spot, store, name, value)


def _is_only_filled(file: SourceFile, body: Body, function: int, name: str) -> bool:
    """Whether a function makes a list of its own, empty, and then does nothing with it but put something in."""
    bound = body.definitions(function).get(name, ())
    if not bound or not all(map(_is_empty_list, bound)):
        return False
    parents = file.enclosing(function).parents
    if not all(_is_filled(parents, read) for read in body.reads(function, name)):
        return False
    node = body.functions.get(function)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    others = (n for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal))
    return not any(name in other.names for other in others) and not _READ_BY_NAME.search(file.source(node))


def _is_empty_list(definition: Definition) -> bool:
    value = definition.value
    for number in definition.index if definition.how == "item" else ():
        if not isinstance(value, ast.Tuple | ast.List) or number >= len(value.elts):
            return False
        value = value.elts[number]
    if definition.how not in ("assign", "item"):
        return False
    return (isinstance(value, ast.List) and not value.elts) or (value is not None and ast.unparse(value) == "list()")


def _is_filled(parents: dict[ast.AST, ast.AST], read: ast.Name) -> bool:
    """`features` of `features.append(x)` whose result, None, is not used."""
    attribute = parents.get(read)
    call = parents.get(attribute) if isinstance(attribute, ast.Attribute) and attribute.attr in _FILLS else None
    return isinstance(call, ast.Call) and call.func is attribute and isinstance(parents.get(call), ast.Expr)


def _on_the_device(spot: Spot, store: Store) -> Value | None:
    """What is put in, where it is a tensor there, and no loss, which is a number: that takes a few bytes a step."""
    if LOSS_NAME.search(last_part(chain(store.value))):
        return None
    value = spot.file.value(store.value, spot)
    known = value.kind == "tensor" and value.device == DEVICE and value.confidence is not Confidence.POSSIBLE
    return value if known else None
