"""Attributes that no step changes: of settings, of objects that were built with them, shapes of tensors."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.bound_alike import BINDS
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.constants.class_body import assigned_in_class, is_field, is_property_of_numbers
from torchperf_lint.facts.constants.configured import (
    CONFIGURED,
    LITERAL,
    SHAPE,
    is_configuration,
    is_size_of_an_input,
    loosest,
)
from torchperf_lint.facts.constants.held import (
    LIST_CHANGES,
    builds,
    changed_in,
    held_since_construction,
    is_made_in_steps,
)
from torchperf_lint.facts.constants.host_numbers import CONSTANTS, LIMITS
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.constants.constants import Look

_SPACE = pattern(r"(?:^|[._])(?:action|act|observation|obs)_space$")
_OF_SPACES = frozenset({"low", "high", "n", "nvec"})
_CONSTANTS_MODULE = pattern(r"(?:^|[._])(?:const|consts|constants?)$", re.IGNORECASE)

_attributes: WeakKeyDictionary[Values, dict[tuple[Thing, str, bool], str | None]] = WeakKeyDictionary()


def of_attribute(look: Look, node: ast.Attribute, depth: int) -> str | None:
    """Why an attribute is the same at every step, LITERAL, CONFIGURED or SHAPE; None where it may not be."""
    if node.attr in ("shape", "ndim") and chain(node.value) != "self":
        return SHAPE if look.is_tensor(node.value, node.attr == "shape") else None
    thing = look.values.thing(node, look.frame)
    if thing is not None and thing.kind == "external" and thing.dotted in CONSTANTS:
        return LITERAL
    if node.attr in LIMITS and last_part(chain(node.value).removesuffix("()")) in ("finfo", "iinfo"):
        return LITERAL
    if is_configuration(node.value) or (look.tests and is_configuration(node)):  # `"target" in self.hparams`
        return CONFIGURED if look.values.of(node, look.frame).kind not in ("tensor", "batch", "array") else None
    if (node.attr.isupper() and len(node.attr) > 2) or is_of_constants(look, node):
        return LITERAL
    if is_bound_of_a_space(node):
        return CONFIGURED
    own = _owner(look, node.value)
    if own is None:
        return SHAPE if _is_size(look, node, node.attr) else _of_record(look, node, depth)
    getter = look.values.index.method(own, node.attr)
    if getter is not None and "property" in look.values.index.function(getter).decorators:
        return _of_property(look, getter, own, node.attr, depth)
    held = _held(look, own, node.attr) if not _is_record_of_the_step(look, own, node.value) else None
    # What a module was built with is the same at every step; what a list takes from it are numbers.
    built = held is None and depth > 0 and held_since_construction(look.values, node, look.frame)
    return CONFIGURED if built else held


def is_bound_of_a_space(node: ast.Attribute) -> bool:
    """Whether an attribute is what a space of gym's is made with: `env.action_space.high`, an array of the host.

    An environment has one space for all its actions: what it allows does not change from step to step.
    """
    return node.attr in _OF_SPACES and _SPACE.search(chain(node.value)) is not None


def of_entry(look: Look, node: ast.Subscript) -> str | None:
    """Why an entry by a written key is the same at every step: of a configuration, or the size of a sample's image."""
    if not isinstance(node.slice, ast.Constant):
        return None
    if is_configuration(node.value):
        return CONFIGURED
    return SHAPE if _is_size(look, node, str(node.slice.value)) else None


def _is_size(look: Look, node: ast.expr, name: str) -> bool:
    """Whether a part of a record is the size of its image: `h, w = instances.image_size`, `meta["img_shape"]`."""
    return is_size_of_an_input(name) and look.values.of(node, look.frame).kind in ("unknown", "plain", "sequence")


def is_of_constants(look: Look, node: ast.expr) -> bool:
    """Whether a name is that of a module of constants: `residue_constants.atom_types`, `constants.mean`."""
    if not isinstance(node, ast.Attribute) or not _CONSTANTS_MODULE.search(chain(node.value)):
        return False
    thing = look.values.thing(node.value, look.frame)
    return thing is not None and thing.kind in ("external", "module")


def _of_property(look: Look, getter: FunctionKey, own: Thing, name: str, depth: int) -> str | None:
    """What a property gives, where that is made of what stays the same: `return [2 * s for s in self.scales]`."""
    if is_property_of_numbers(look.values, own, name):
        return CONFIGURED
    body = look.values.body(getter.path)
    if body is None or not look.may_go_into(depth):
        return None
    returned = body.returns(getter.index)
    inner = look.elsewhere
    found = [
        inner(look.frame.hop(getter.path, getter.index, body.at(r)), look.tests).of(r, depth + 1) for r in returned
    ]
    return loosest([kind for kind in found if kind]) if found and all(found) else None


def _is_record_of_the_step(look: Look, own: Thing, node: ast.expr) -> bool:
    """Whether an object is a record, with fields alone, that the function makes or takes from what is at hand."""
    body = look.values.body(look.frame.path)
    if not isinstance(node, ast.Name) or body is None or look.values.index.method(own, "__init__") is not None:
        return False
    reaching = body.reaching(look.frame.function, node.id, look.frame.at) or ()
    return any(d.how in BINDS and not isinstance(d.value, ast.Attribute) for d in reaching)


def _of_record(look: Look, node: ast.Attribute, depth: int) -> str | None:
    """`level.sizes`, of what a loop takes from a list of settings."""
    body = look.values.body(look.frame.path)
    if body is None or not isinstance(node.value, ast.Name):
        return None
    reaching = body.reaching(look.frame.function, node.value.id, look.frame.at)
    if not reaching or any(d.how != "loop" for d in reaching):
        return None
    known = look.inside(tests=True).of(node.value, depth + 1) is not None
    return CONFIGURED if known and look.values.of(node, look.frame).kind not in ("tensor", "batch") else None


def _held(look: Look, own: Thing, name: str) -> str | None:
    """What an attribute of a class is, worked out once: each mention of it asks."""
    known = _attributes.setdefault(look.values, {})
    key = (own, name, look.tests)
    if key not in known:
        known[key] = None  # what it is made of itself tells nothing
        known[key] = _set_once(look, own, name)
    return known[key]


def _owner(look: Look, node: ast.expr) -> Thing | None:
    """The class of the project that `self`, or another object, is of."""
    own = look.values.index.class_of(look.frame.path, look.frame.function)
    if own is not None and isinstance(node, ast.Name) and look.values.thing(node, look.frame) == own:
        return own
    value = look.values.of(node, look.frame)
    thing = value.thing if value.kind in ("object", "module") else None
    return Thing("class", thing.path, thing.index) if thing is not None and thing.kind == "instance" else None


def _set_once(look: Look, own: Thing, name: str) -> str | None:
    """`self.name`, where constructors alone set it, or what the project calls from no step, to numbers."""
    found: list[str | None] = []
    if is_property_of_numbers(look.values, own, name):
        return CONFIGURED
    changes = {f"self.{name}.{change}" for change in LIST_CHANGES}
    if any(call.callee in changes for call in look.values.index.outlines[own.path].calls):
        return None
    for cls in look.values.index.ancestry(own):
        if cls.kind != "class":
            continue
        if not all(builds(look.values, key) for key in changed_in(look.values, cls, name)):
            return None
        for value in assigned_in_class(look.values, cls, name):
            found.append(_set_in_constructor(look, cls.path, 0, value))
        for function, value, buffer in setters(look.values, cls, name):
            if buffer:
                return None
            if is_none(value):
                continue  # not there yet
            found.append(_set_in_constructor(look, cls.path, function, value))
    if not all(found) or not (found or is_field(look.values, own, name)):
        return None
    sized = SHAPE in found and is_made_in_steps(look.values, own)
    return SHAPE if sized else CONFIGURED  # `Boxes(image_size=x.shape[2:])`


def _set_in_constructor(look: Look, path: str, function: int, value: ast.expr) -> str | None:
    body = look.values.body(path)
    assert body is not None
    frame = Frame(path, function, body.at(value))
    return look.elsewhere(frame, look.tests, constructs=True).of(value, 0)
