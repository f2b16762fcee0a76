"""Objects of the project whose class a test tells: `assert isinstance(sde, VESDE)`, in a function around as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Narrowing
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.values.nominal import from_thing
from torchperf_lint.facts.values.value import Frame, Value
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

OF_EVERY_TENSOR = pattern(r"\b(?:Iterable|Sized|Hashable)\b")
"""What each tensor is an instance of, by the methods of its class: what such a test has ruled out is no tensor."""
NUMBERS = pattern(r"\(?(?:(?:int|float|bool|complex|(?:numbers\.)?(?:Number|Real|Integral))[ ,|)]*)+$")
"""`isinstance(mean, (int, float))`: whoever else gives tensors, here it is a number."""
OPEN = ("unknown", "object")
"""What a class of the project says more of."""


def of_tested_class(values: Values, name: str, tested: Narrowing, value: Value, frame: Frame) -> Value:
    """An object of the one class of the project that a test asks for; what it was, where that is known closer.

    What a mixin asserts of its own object is another class of the same: `assert isinstance(self, Base)`.
    """
    function = values.index.outlines[frame.path].functions[frame.function]
    of_itself = function.class_index >= 0 and function.parameters[:1] and function.parameters[0].name == name
    if not tested.holds or tested.elements or of_itself:
        return value
    cls = values.types.thing(frame.path, frame.function, tested.classes)
    if cls is None or cls.kind != "class":
        return value
    if value.thing is not None and any(base[:3] == cls[:3] for base in _classes_of(values, value.thing)):
        return value
    return from_thing(values, Thing("instance", cls.path, cls.index), name)


def _classes_of(values: Values, thing: Thing) -> list[Thing]:
    """The class of an object and those that it derives from."""
    return [cls for cls in values.index.ancestry(thing) if cls.kind == "class"] if thing.kind == "instance" else []


def known_around(values: Values, name: str, value: Value, frame: Frame) -> Value:
    """What a test in the function around, above the inner one, says of a name that the inner one does not bind."""
    inner = values.index.outlines[frame.path].functions[frame.function]
    if inner.parent <= 0 or any(parameter.name == name for parameter in inner.parameters):
        return value
    body = values.body(frame.path)
    if body is None or body.definitions(frame.function).get(name):
        return value
    tested = body.narrowing(inner.parent, name, (inner.header_line, 10**6))
    return of_tested_class(values, name, tested, value, frame) if tested is not None else value
