"""Tensors that torch computes on the host, over several statements and helpers, and all that their data comes from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.copies.computed_names import bound_parts, may_be_from_callers
from torchperf_lint.facts.copies.filled_first import is_filled, is_filled_between, only_target
from torchperf_lint.facts.copies.fresh import Fresh, is_random, made_of_sizes
from torchperf_lint.facts.copies.host_data import Upload, constant_upload, made_on_host
from torchperf_lint.facts.copies.integer_products import holds_integers, multiplies
from torchperf_lint.facts.copies.left_behind import LeftBehind, left_behind
from torchperf_lint.facts.copies.written_into import is_cut
from torchperf_lint.facts.devices.devices import destination
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.parts_of_results import Parts, field_of_result, is_field_of_result
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, MAX_HOPS, Frame, Value, tensor
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_MAX_PARTS = 80
"""How many expressions between a tensor and what made it are looked at."""
_DATA = api.HOST_DATA | api.LEGACY_TYPES
_MADE = _DATA | api.FACTORIES
_TAKE_A_SHAPE = frozenset({"expand_as", "view_as", "reshape_as"})
"""Methods that take no more than the shape of their argument."""
_ASK_FOR_TENSORS = frozenset({"is_tensor", "isinstance"})
_HELPERS = 2
"""Helpers of helpers, as `create_window` calls `gaussian`."""
_ARGUMENTS = 4
"""Of a helper, those looked at for tensors."""


_COMPUTED = ast.Name | ast.Call | ast.Attribute | ast.BinOp | ast.Subscript
"""What may have been computed, as it stands before its move."""


class Source(NamedTuple):
    """A call that made some of a tensor's data on the host."""

    call: ast.Call
    factory: str
    """Its name in `torch`."""
    frame: Frame
    """Where it stands."""


class Sources(NamedTuple):
    """All that a tensor on the host is computed from."""

    made: tuple[Source, ...]
    held: tuple[LeftBehind, ...]
    """Attributes of the module that hold a tensor there."""


def computed_upload(values: Values, node: ast.Call, frame: Frame) -> Upload | None:
    """The upload that `kernel.to(x.device)` makes of what the code computed on the host, of numbers no step changes.

    Numbers of the step may scale it: that the device does as well.
    """
    found, written = _moved(values, node, frame)
    data = [source for source in found.made if _is_data(values, source)] if found is not None else []
    if found is None or found.held or not data:
        return None
    uploads = [constant_upload(values, source.call, source.frame, written) for source in data]
    told = next((upload for upload in uploads if upload is not None), None)
    if told is None or None in uploads:
        return None
    elsewhere = data[0].frame.path if data[0].frame.path != frame.path else ""
    return told._replace(scalar=False, path=elsewhere)


def computed_fresh(values: Values, node: ast.Call, frame: Frame) -> Fresh | None:
    """What `.to(device)` moves, where it was computed on the host from nothing but factories and numbers."""
    found, written = _moved(values, node, frame)
    if found is None or found.held or any(_is_data(values, source) for source in found.made):
        return None
    given = [k for source in found.made for k in source.call.keywords if k.arg == "device"]
    if any(isinstance(keyword.value, ast.Constant) for keyword in given):
        return None  # `device="cpu"` is written on purpose
    source = found.made[0]
    place = (
        f"line {source.call.lineno}" if source.frame.path == frame.path else f"{source.frame.path}:{source.call.lineno}"
    )
    value = tensor(HOST, f"computed on the host from `torch.{source.factory}` ({place})", Confidence.LIKELY)
    return Fresh(source.factory, written, is_random(source.factory), value, source.call, source.frame.path)


def _is_data(values: Values, source: Source) -> bool:
    """Whether a call makes a tensor of numbers that it is given, and not of sizes as `torch.FloatTensor(n, m)` does."""
    return source.factory in _DATA and made_of_sizes(values, source.call, source.frame) is None


def computed_left_behind(values: Values, node: ast.Call, frame: Frame) -> LeftBehind | None:
    """The attribute on the host that is computed with there, before the result is moved: `outer(t, self.f).to(d)`."""
    found, _ = _moved(values, node, frame)
    return found.held[0] if found is not None and found.held else None


_Moved = tuple[Sources | None, str]
_known: WeakKeyDictionary[Values, dict[tuple[object, ...], _Moved]] = WeakKeyDictionary()
"""Answers by place: three rules ask about each move."""


def _moved(values: Values, node: ast.Call, frame: Frame) -> _Moved:
    """What a call takes to the device, as `_looked_at` finds it, worked out once."""
    place = (frame.path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    answers = _known.setdefault(values, {})
    if place not in answers:
        answers[place] = _looked_at(values, node, frame)
    return answers[place]


def _looked_at(values: Values, node: ast.Call, frame: Frame) -> _Moved:
    """What `.to`, `.cuda` or `.type_as` takes to the device, and the device as written; None where that is not known.

    What one look finds, `torch.zeros(3).to(d)` or a chain of methods over it, is no matter of several statements.
    """
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(receiver, ast.Subscript) and not is_cut(values, receiver.slice, frame):
        return None, ""
    if not isinstance(receiver, _COMPUTED) or not _may_compute(values, receiver, frame):
        return None, ""
    device, written = destination(values, node, frame)
    if device != DEVICE:
        return None, ""
    value = values.of(receiver, frame)
    if value.kind != "tensor" or value.device not in (HOST, ANYWHERE) or _is_one_look(values, receiver, frame):
        return None, ""
    return computed_on_host(values, receiver, frame), written


def _is_one_look(values: Values, receiver: ast.expr, frame: Frame) -> bool:
    """Whether a factory is all there is to it: nothing was written into what it made, and nobody was given it."""
    if made_on_host(values, receiver, frame) is None or is_filled(values, receiver, frame):
        return False
    return not is_filled_between(values, receiver, frame)


def _may_compute(values: Values, receiver: ast.expr, frame: Frame) -> bool:
    """Whether a function, or one it calls, makes a tensor at all: its calls tell, before any value is worked out."""
    body = values.body(frame.path)
    if body is None:
        return False
    if isinstance(receiver, ast.Attribute):
        return property_of(values, receiver, frame) is not None or is_field_of_result(values, receiver, frame)
    if isinstance(receiver, ast.Name) and not body.reaching(frame.function, receiver.id, frame.at):
        return may_be_from_callers(values, receiver.id, frame)
    if isinstance(receiver, ast.BinOp) or (isinstance(receiver, ast.Call) and _computes_with_attribute(receiver)):
        return True
    return _makes(values, FunctionKey(frame.path, frame.function), _HELPERS + 1)


def _computes_with_attribute(node: ast.Call) -> bool:
    """`torch.outer(t, self.freq)`."""
    return any(isinstance(part, ast.Attribute) and chain(part.value) == "self" for part in node.args)


_makers: WeakKeyDictionary[Values, dict[tuple[FunctionKey, int], bool]] = WeakKeyDictionary()
"""Answers of `_makes` by function and depth: most moves of a project stand near others."""


def _makes(values: Values, key: FunctionKey, depth: int) -> bool:
    """Whether a function of the project makes tensors itself, or through a helper of its own."""
    answers = _makers.setdefault(values, {})
    if (key, depth) not in answers:
        answers[key, depth] = _calls_a_maker(values, key, depth)
    return answers[key, depth]


def _calls_a_maker(values: Values, key: FunctionKey, depth: int) -> bool:
    body = values.body(key.path)
    for callee in body.callees(key.index) if body is not None else ():
        thing = values.types.thing(key.path, key.index, callee)
        if thing is None:
            continue
        if thing.kind == "external" and thing.dotted.removeprefix("torch.") in _MADE:
            return True
        if depth > 1 and thing.kind == "function" and _makes(values, FunctionKey(thing.path, thing.index), depth - 1):
            return True
    return False


def computed_on_host(values: Values, node: ast.expr, frame: Frame) -> Sources | None:
    """All that a tensor's data comes from, through `torch.outer(k, k)`, `k / k.sum()`, `k *= 2` and helpers.

    None where some of it is not known, or not on the host. Unlike `made_on_host` it follows names with several
    bindings, as `if k.ndim == 1: k = torch.outer(k, k)` makes them.
    """
    made: dict[int, Source] = {}
    held: dict[str, LeftBehind] = {}
    seen: set[tuple[str, int, int]] = set()
    stack, multiplied = [(node, frame)], False
    for _ in range(_MAX_PARTS):
        if not stack:
            if multiplied and any(holds_integers(source.call) for source in made.values()):
                return None
            return Sources(tuple(made.values()), tuple(held.values())) if made or held else None
        part, at = stack.pop()
        multiplied = multiplied or multiplies(part)
        several = _written_out(values, part, at)
        if several is not None:
            stack += several
            continue
        one = made_on_host(values, part, at) if not is_filled(values, part, at) else None
        if one is not None and one.function != at.function:
            return None  # made once, by whoever calls this, or when the module is imported
        if one is not None:
            body = values.body(at.path)
            assert body is not None
            made[id(one.call)] = Source(one.call, one.factory, Frame(at.path, one.function, body.at(one.call)))
            continue
        value = values.of(part, at)
        if value.kind == "plain" or (value.kind == "unknown" and _is_setting(values, part, at)):
            continue
        if value.kind != "tensor" or not (value.device == HOST or _tells_by_its_parts(value, part)):
            return None
        attribute = left_behind(values, part, at)
        if attribute is not None:
            held[attribute.name] = attribute
            continue
        parts = _parts(values, part, at, seen)
        if parts is None:
            return None
        stack += parts
    return None


def _written_out(values: Values, part: ast.expr, at: Frame) -> Parts | None:
    """What stands in a list, in a comprehension or in a field of a record that the code makes; None for the rest."""
    if isinstance(part, ast.List | ast.Tuple):  # `torch.cat([torch.sin(t), torch.cos(t)])`
        return [(element, at) for element in part.elts]
    if isinstance(part, ast.ListComp | ast.GeneratorExp):  # `torch.cat([row + i for i in range(n)])`
        return [(part.elt, _inside(values, part.elt, at))]
    made = _made_of_numbers(part) if isinstance(part, ast.IfExp) else None
    if made is not None:
        return [(made, _inside(values, made, at))]
    return field_of_result(values, part, at) if isinstance(part, ast.Attribute) else None


def _made_of_numbers(node: ast.IfExp) -> ast.expr | None:
    """The second of `x if torch.is_tensor(x) else torch.tensor(x)`, as after `if not torch.is_tensor(x):`."""
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    if not isinstance(test, ast.Call) or last_part(chain(test.func)) not in _ASK_FOR_TENSORS or not test.args:
        return None
    made = [side for side in (node.body, node.orelse) if chain(side) != chain(test.args[0])]
    return made[0] if len(made) == 1 else None


def _tells_by_its_parts(value: Value, node: ast.expr) -> bool:
    """Whether a tensor that may be anywhere is where what it is computed from is: `torch.arange(n) * -scale`."""
    if value.device != ANYWHERE or not isinstance(node, ast.Name | ast.BinOp | ast.UnaryOp | ast.Call):
        return False
    if not isinstance(node, ast.Call):
        return True
    asks = any(k.arg in ("device", None) for k in node.keywords)
    return not asks and last_part(chain(node.func)) not in _MADE | api.LIKE_FACTORIES


def _inside(values: Values, node: ast.expr, frame: Frame) -> Frame:
    """Where the element of a comprehension is evaluated, which knows its variables, or a side of what is chosen."""
    body = values.body(frame.path)
    return frame._replace(at=body.at(node)) if body is not None else frame


def _is_setting(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what is computed with is a number that was set before: what an object holds, beside host tensors."""
    own = isinstance(node, ast.Attribute) and chain(node.value) == "self"
    return own or constancy(values, node, frame) is not None


def _parts(values: Values, node: ast.expr, frame: Frame, seen: set[tuple[str, int, int]]) -> Parts | None:
    if isinstance(node, ast.Name):
        return bound_parts(values, node, frame, seen)
    if isinstance(node, ast.Attribute):
        found = property_of(values, node, frame)
        return _given_back(values, found, frame) if found is not None else None
    target = only_target(values, node, frame) if isinstance(node, ast.Call) else None
    if target is not None and isinstance(node, ast.Call):
        return _helped(values, node, target, frame)
    return _operands(values, node, frame)


def _helped(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Parts | None:
    """What a helper computes with: the tensors that it is given; of one that is given none, what it returns."""
    given = [a for a in node.args[:_ARGUMENTS] if values.of(a, frame).kind == "tensor"]
    if given and all(values.of(a, frame).device == HOST for a in given):
        return [(a, frame) for a in given]
    # Of a tensor on the device, a helper whose result is on the host takes no more than the shape.
    return _given_back(values, key, frame)


def _given_back(values: Values, key: FunctionKey, frame: Frame) -> Parts | None:
    body = values.body(key.path)
    if body is None or frame.hops >= MAX_HOPS:
        return None
    returned = body.returns(key.index)
    return [(r, frame.hop(key.path, key.index, body.at(r))) for r in returned] if returned else None


def property_of(values: Values, node: ast.Attribute, frame: Frame) -> FunctionKey | None:
    """The property that `self.basis` works out anew each time it is asked."""
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not isinstance(node.value, ast.Name) or values.thing(node.value, frame) != own:
        return None
    key = values.index.method(own, node.attr)
    return key if key is not None and "property" in values.index.function(key).decorators else None


def _operands(values: Values, node: ast.expr, frame: Frame) -> Parts | None:
    """What an operator, a method or a function of torch computes with."""
    if isinstance(node, ast.BinOp):
        return [(side, frame) for side in _sides(values, node, frame)]
    if isinstance(node, ast.Compare):
        return [(part, frame) for part in (node.left, *node.comparators)]
    if isinstance(node, ast.UnaryOp):
        return [(node.operand, frame)]
    if isinstance(node, ast.Call) and last_part(chain(node.func)) == api.VARIABLE:
        return [(part, frame) for part in node.args[:1]]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [(part, frame) for part in _of_call(values, node, node.func, frame)]
    return [(node.value, frame)] if isinstance(node, ast.Subscript) else None


def _sides(values: Values, node: ast.BinOp, frame: Frame) -> list[ast.expr]:
    """Both sides of arithmetic; of a tensor on the host and variables of which nothing is known the tensor.

    A tensor of the device is computed with none of the host: what is not known there is a number, or on the host too.
    What callers hand in may be data of theirs.
    """
    sides = [node.left, node.right]
    told = [values.of(side, frame) for side in sides]
    if not any(value.kind == "tensor" and value.device == HOST for value in told):
        return sides
    unknown = [v.kind == "unknown" and _of_variables(values, s, frame) for s, v in zip(sides, told, strict=True)]
    return [side for side, left_out in zip(sides, unknown, strict=True) if not left_out]


def _of_variables(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is arithmetic of what the function itself computed, and of numbers."""
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)  # `h - n`, of a size and of what nothing is known of
        return all(values.of(side, frame).kind == "plain" or _of_variables(values, side, frame) for side in sides)
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name):
        return False
    return bool(body.assigned(frame.function, node.id, body.at(node)))


def _is_part_of_torch(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`torch`, `F`, `torch.fft`."""
    thing = values.thing(node, frame) if isinstance(node, ast.Name | ast.Attribute) else None
    return thing is not None and thing.kind == "external" and re.fullmatch(r"torch(?:\.\w+)*", thing.dotted) is not None


def _of_call(values: Values, node: ast.Call, function: ast.Attribute, frame: Frame) -> Iterator[ast.expr]:
    if _is_part_of_torch(values, function.value, frame):
        yield from node.args[:1] if function.attr in api.OF_THEIR_FIRST else node.args
        return
    yield function.value
    if function.attr in _TAKE_A_SHAPE or function.attr in api.SCATTERING:
        return
    if function.attr in api.DERIVING:  # takes numbers, most often of helpers' parameters: only tensors matter
        yield from (a for a in node.args if values.of(a, frame).kind in ("tensor", "batch", "array"))
    else:
        yield from node.args
