"""Values of calls: who answers for which callee."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.devices.schedules import RETRIEVE, retrieved
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.substituted import call_of_named, named_attribute
from torchperf_lint.facts.values.aliases import called_through
from torchperf_lint.facts.values.externals import BUILTIN_RESULTS, PROGRESS, value_of_builtin, value_of_external
from torchperf_lint.facts.values.methods import value_of_method
from torchperf_lint.facts.values.named_tuples import record_of
from torchperf_lint.facts.values.results import as_a_module_would, made_by_project, module_output, returned
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    UNKNOWN,
    Frame,
    Value,
    join,
    tensor,
)
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_FUNCTION = "torch.autograd.Function"


def value_of_call(values: Values, node: ast.Call, frame: Frame) -> Value:
    """The value of a call."""
    written = chain(node.func)
    if last_part(written) == RETRIEVE:
        return retrieved(values, node, frame)
    named = named_attribute(node) if written == "getattr" else call_of_named(node)
    if named is not None:
        asked = values.of(named, frame)
        # What is asked for like that may be missing, or None by its default.
        return asked if asked.kind not in ("plain", "object") else UNKNOWN
    things = values.types.things(frame.path, frame.function, written)
    thing = things[0] if things else None
    if thing is not None and thing.kind == "external" and "()" not in thing.dotted:
        return _of_externals(values, node, things, frame)
    applied = record_of(values, node, thing, frame) or _applied(values, node, frame)
    if applied is not None:
        return applied
    if isinstance(node.func, ast.Attribute) and not _is_plain_function(values, thing):
        found = value_of_method(values, node, node.func, frame)
        if found is not None:
            through = called_through(values, node, frame) if found.kind == "unknown" else None
            return through if through is not None else found
    if (
        isinstance(node.func, ast.Name)
        and node.func.id in BUILTIN_RESULTS
        and (thing is None or thing.kind == "external")
    ):
        return value_of_builtin(values, node, node.func.id, frame)
    if thing is not None and _is_own_bar(values, node, thing):
        return values.of(node.args[0], frame)
    if thing is not None and thing.kind in ("class", "function"):
        several = things if all(each.kind == "function" for each in things) else things[:1]
        return join([made_by_project(values, node, each, frame) for each in several])
    return _called_value(values, node, frame)


def _applied(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """What an autograd function gives, `Margin.apply(logits, labels)`: a tensor, where those are that it is given."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "apply" or not node.args:
        return None
    cls = values.thing(node.func.value, frame)
    if cls is None or cls.kind != "class" or _FUNCTION not in values.index.external_bases(cls):
        return None
    told = f"the result of `{chain(node.func)}`, an autograd function"
    given = (values.of(argument, frame) for argument in node.args if not isinstance(argument, ast.Starred))
    first = next((value for value in given if value.kind == "tensor"), None)
    if first is not None:
        return first.with_reason(f"{told}: {first.because}")
    return tensor(ANYWHERE, told, Confidence.LIKELY)


def _of_externals(values: Values, node: ast.Call, things: tuple[Thing, ...], frame: Frame) -> Value:
    """A call of one of several functions of torch may be a call of any of them."""
    torch = [thing.dotted for thing in things if thing.dotted.startswith("torch.")]
    if len(torch) < len(things):
        torch = [things[0].dotted]
    return join([value_of_external(values, node, dotted, frame) for dotted in torch])


def _is_plain_function(values: Values, thing: Thing | None) -> bool:
    """A function or class of the project that is reached through its module, not through an object."""
    if thing is None or thing.kind not in ("function", "class"):
        return False
    return thing.kind == "class" or values.index.function(FunctionKey(thing.path, thing.index)).class_index < 0


def _is_own_bar(values: Values, node: ast.Call, thing: Thing) -> bool:
    """Whether a call makes a copy of tqdm that the project keeps in its own files, around what it is given."""
    if thing.kind != "class" or not node.args or not PROGRESS.search(chain(node.func)):
        return False
    return values.index.method(thing, "__iter__") is not None


def _called_value(values: Values, node: ast.Call, frame: Frame) -> Value:
    target = values.of(node.func, frame)
    if target.kind == "module":
        return module_output(values, node, target, frame)
    if target.kind == "tensor":  # what was moved, and is called, is no tensor
        moved = Value("module", target.device, "", Confidence.LIKELY)
        return module_output(values, node, moved, frame)
    if target.kind == "object" and target.thing is not None and target.thing.kind == "instance":
        key = values.index.method(target.thing, "__call__")
        return returned(values, key, frame) if key else UNKNOWN
    if isinstance(node.func, ast.Attribute | ast.Name) and PROGRESS.search(chain(node.func)) and node.args:
        return values.of(node.args[0], frame)
    if target.kind != "unknown" and (target.thing is None or target.thing.dotted != "functools.partial()"):
        return UNKNOWN
    found = called_through(values, node, frame)
    if found is not None:
        return found
    key = _call_of_an_object(values, node, frame)
    return returned(values, key, frame) if key is not None else as_a_module_would(values, node, frame)


def _call_of_an_object(values: Values, node: ast.Call, frame: Frame) -> FunctionKey | None:
    """The `__call__` of the one class, no module, whose objects a name stands for, too far off for its value to tell.

    What it is called by says nothing then: a `criterion` may give a number beside the losses.
    """
    things = values.types.things(frame.path, frame.function, chain(node.func))
    own = things[0] if len(things) == 1 and things[0].kind == "instance" else None
    if own is None or values.index.method(own, "forward") is not None:
        return None
    return values.index.method(own, "__call__")
