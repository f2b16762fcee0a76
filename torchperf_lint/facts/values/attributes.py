"""Values of attributes: of tensors and modules by torch's own tables, of objects by their class."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.devices.schedules import TIMESTEPS, timesteps_of
from torchperf_lint.facts.devices.step_batches import one_tensor
from torchperf_lint.facts.outlines.signatures import annotation_chain
from torchperf_lint.facts.roles.trainer_buffers import stays_with_its_trainer
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.added_to import added_before
from torchperf_lint.facts.values.assigned_before import assigned_before
from torchperf_lint.facts.values.compared_texts import is_mask_of_texts
from torchperf_lint.facts.values.detected_boxes import BOXES, detected_boxes
from torchperf_lint.facts.values.entries import holds_texts
from torchperf_lint.facts.values.filling import filled_attribute, is_empty_container
from torchperf_lint.facts.values.given_numbers import only_numbers_given
from torchperf_lint.facts.values.learners_batch import of_learner
from torchperf_lint.facts.values.nominal import from_annotation, from_thing
from torchperf_lint.facts.values.own_registering import as_kept, own_register
from torchperf_lint.facts.values.results import returned
from torchperf_lint.facts.values.saved_tensors import saved_tensors
from torchperf_lint.facts.values.tensor_subclasses import of_subclasses, tells_another_kind
from torchperf_lint.facts.values.usage import value_by_uses
from torchperf_lint.facts.values.used_as_modules import used_as_a_module
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    join,
    tensor,
    told,
)
from torchperf_lint.facts.values.wrapped_in_parallel import wrapped
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


SIZES = pattern(r"^(?:\w+_)?(?:size|shape)s?$")
"""Names of sizes, which are numbers of the host."""
_MOVES = frozenset({"cpu", "cuda", "to"})


def value_of_attribute(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """`base.name`: of tensors and modules by torch's own tables, of objects by their class."""
    base = values.of(node.value, frame)
    name = node.attr
    if name == TIMESTEPS and base.kind in ("unknown", "object"):
        found = _timesteps(values, node, base, frame)
        if found.kind != "unknown":
            return found
    if base.kind == "tensor" and isinstance(node.value, ast.Name) and used_as_a_module(values, base, node.value, frame):
        return _of_unknown_module(base, name)
    if base.kind in ("tensor", "batch"):
        asked = _of_tensor_subclass(values, name, frame) if base.kind == "tensor" else UNKNOWN
        if tells_another_kind(asked):
            return asked
        found = base if _is_moved_size(values, node, frame) else _of_tensor(base, name)
        used = found.kind == "batch" and found.device == DEVICE and _of_unknown(values, node, frame).kind == "tensor"
        return one_tensor(found) if used else found
    if (model := wrapped(base, name)) is not None:
        return model
    if base.kind in ("module", "object") and base.thing is not None:
        found = assigned_before(values, node, frame)
        found = found if found.kind != "unknown" else _of_class(values, node, base, frame)
        return found if found.kind != "unknown" else of_learner(values, node, frame)
    if base.kind == "module":
        return _of_unknown_module(base, name)
    if base.kind == "array":
        return PLAIN if name in ("shape", "ndim", "size", "dtype") else base
    if base.kind == "sequence":
        return next((value for field, value in base.entries if field == name), None) or _of_pair(base, name)
    if base.kind == "plain":
        return PLAIN
    found = _of_unknown(values, node, frame) if base.kind == "unknown" else UNKNOWN
    return found if found.kind != "unknown" else of_learner(values, node, frame)


def _of_class(values: Values, node: ast.Attribute, base: Value, frame: Frame) -> Value:
    """What the class of an object shows, wherever the place is."""
    found = _of_object(values, base, node.attr, frame)
    if found.kind == "tensor" and base.kind == "object" and base.thing is not None:
        return PLAIN if only_numbers_given(values, node.value, base.thing, found, frame) else found
    if base.kind == "object" and found.kind == "plain":
        added = added_before(values, node, frame)
        return added if added.kind != "unknown" else found
    if found.kind != "unknown":
        return found
    if base.kind == "object":
        return value_by_uses(values, node, frame)
    return _of_unknown_module(base, node.attr) if node.attr in ("weight", "bias") else UNKNOWN


def _of_unknown(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    if node.attr == "saved_tensors":
        return saved_tensors(values, frame)
    if node.attr == api.BATCH_SIZES:
        return tensor(HOST, "the lengths of a `PackedSequence`, which torch keeps on the host")
    if node.attr == BOXES and (boxes := detected_boxes(values, node, frame)).kind != "unknown":
        return boxes
    if is_mask_of_texts(node):
        return Value("array", HOST, "a column of texts, compared with one")
    found = from_thing(values, values.types.thing(frame.path, frame.function, chain(node)), chain(node))
    found = found if found.kind != "unknown" else value_by_uses(values, node, frame)
    return _gradient(values, node, frame) if found.kind == "unknown" and node.attr == "grad" else found


def _gradient(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """`p.grad`, whatever `p` is: in a file of torch only tensors have one, and it is where they are."""
    outline = values.index.outlines[frame.path]
    if chain(node).partition(".")[0] in outline.imports or not outline.imports_from("torch"):
        return UNKNOWN  # `torch.autograd.grad`
    return tensor(ANYWHERE, f"`{chain(node)}` (line {node.lineno}) is the gradient of a tensor", Confidence.LIKELY)


def _of_pair(base: Value, name: str) -> Value:
    """`x.max(0).values`, `torch.sort(x).indices`: what torch's pairs call their halves."""
    position = api.PAIR_NAMES.get(name)
    return base.items[position] if position is not None and len(base.items) == len(api.PAIR_NAMES) else UNKNOWN


def _timesteps(values: Values, node: ast.Attribute, base: Value, frame: Frame) -> Value:
    """The schedule of a sampler, unless its class shows it to be no tensor: arrays and lists are on the host."""
    own = _of_object(values, base, node.attr, frame) if base.thing is not None else UNKNOWN
    return timesteps_of(values, node.value, frame) if own.kind in ("unknown", "tensor") else own


def _of_tensor(base: Value, name: str) -> Value:
    if name in api.PLAIN_ATTRIBUTES:
        return PLAIN
    if name == "device":
        return Value("torch_device", base.device if base.on_device else HOST, borrowed=base.borrowed)
    if name == "dtype":
        return Value("dtype", HOST)
    if name == api.BATCH_SIZES:
        return tensor(HOST, "the lengths of a `PackedSequence`, which torch keeps on the host")
    if holds_texts(name):
        return UNKNOWN  # `batch.names`
    if SIZES.search(name):
        return PLAIN  # `instances.image_size`: what is moved may be a record of tensors and of their sizes
    # `T`, `data`, `grad`; and `outputs.loss`: what a model returns may be a record of tensors.
    return base


def _is_moved_size(values: Values, node: ast.Attribute, frame: Frame) -> bool:
    """Whether what is called like a size is a tensor after all, as the function moves it: `batch.tree_size.cpu()`."""
    if not SIZES.search(node.attr):
        return False
    body = values.body(frame.path)
    return body is not None and any(use in _MOVES for use, _ in body.uses(frame.function, chain(node)))


def _of_unknown_module(base: Value, name: str) -> Value:
    if name in ("weight", "bias"):
        return tensor(base.device, f"the `{name}` of a module", base.confidence)
    if name == "module":
        return base
    if name == "device":
        return Value("torch_device", DEVICE)
    return UNKNOWN


def value_of_field(values: Values, record: Value, name: str, frame: Frame) -> Value:
    """The value of a field of a record, whoever asks for it by its place."""
    return _of_object(values, record, name, frame)


def _of_object(values: Values, base: Value, name: str, frame: Frame) -> Value:
    assert base.thing is not None
    key = ("attribute", base.thing, name)
    return values.remembered(key, frame, lambda at: _assigned_attribute(values, base, name, at))


def _assigned_attribute(values: Values, base: Value, name: str, frame: Frame) -> Value:
    thing = base.thing
    assert thing is not None
    if thing.kind == "external":
        return from_thing(values, Thing("external", dotted=f"{thing.dotted}.{name}"), name)
    found: list[Value] = []
    written: list[tuple[int, ast.expr, bool]] = []
    for cls in values.index.ancestry(thing):
        if cls.kind != "class":
            continue
        written = setters(values, cls, name)
        each = [_self_definition(values, cls, setter, name, frame) for setter in written]
        # `self.layers = []` beside a list of modules, for the case of none: what it never holds says nothing.
        known = [v for v, (_, e, _) in zip(each, written, strict=True) if not (_is_empty(e) and _holds_nothing(v))]
        found += known or each
        if found:
            break
    if not found:
        property_ = _property(values, thing, name)
        if property_ is not None:
            return returned(values, property_, frame)
        promised = _promised(values, thing, name, frame)
        if promised.kind != "unknown":
            return promised
        things = values.types.attribute(thing, name)
        told_by_type = from_thing(values, things[0] if things else None, name)
        return told_by_type if told_by_type.kind != "unknown" else _left_to_subclasses(values, thing, name, frame)
    placeholder = all(is_none(expression) and not buffer for _, expression, buffer in written)
    return _left_open(values, thing, name, frame) if placeholder else join(found)


def _left_open(values: Values, thing: Thing, name: str, frame: Frame) -> Value:
    """What an attribute may be that its class makes None: what its annotation says, or what its owner makes it."""
    promised = _promised(values, thing, name, frame)
    if promised.kind != "unknown":
        return promised
    given = values.types.by_owners.of(thing, name)
    return from_thing(values, given[0], name) if len(given) == 1 else UNKNOWN


def _left_to_subclasses(values: Values, thing: Thing, name: str, frame: Frame) -> Value:
    """What all subclasses that set an attribute make it, where a base class only uses it: `self.input.copy_(x)`."""
    below = values.index.subclasses.get((thing.path, thing.index), ())
    if not below or len(below) > _MANY_SUBCLASSES:
        return UNKNOWN
    each = [
        join([_self_definition(values, cls, setter, name, frame) for setter in written])
        for cls in below
        if (written := setters(values, cls, name))
    ]
    found = join(each) if each else UNKNOWN
    return found.weaker(Confidence.LIKELY) if found.kind in ("tensor", "module") else UNKNOWN


_MANY_SUBCLASSES = 12


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and not node.elts


def _holds_nothing(value: Value) -> bool:
    return value.kind == "unknown" or (
        value.kind == "sequence" and (value.item is None or value.item.kind == "unknown")
    )


def _promised(values: Values, thing: Thing, name: str, frame: Frame) -> Value:
    """What an annotation says of an attribute: of a record's field, or of one that begins as None."""
    for cls in values.index.ancestry(thing):
        body = values.body(cls.path) if cls.kind == "class" else None
        if body is None:
            continue
        field = body.annotated_fields(values.index.record(cls).line).get(name)
        hints = [(b.value[1:], b.line) for b in values.types.self_bindings(cls, name) if b.value.startswith(":")]
        if field is not None:
            hints.append((annotation_chain(field.annotation), field.lineno))
        if hints and hints[0][0]:
            value = from_annotation(values, hints[0][0], frame._replace(path=cls.path), name, hints[0][1])
            return value.weaker(Confidence.LIKELY) if value.kind in ("tensor", "sequence") else UNKNOWN
    return UNKNOWN


def _property(values: Values, thing: Thing, name: str) -> FunctionKey | None:
    key = values.index.method(thing, name)
    return key if key is not None and _is_property(values, key) else None


def _is_property(values: Values, key: FunctionKey) -> bool:
    return any(d == "property" or d.endswith("cached_property") for d in values.index.function(key).decorators)


def _of_tensor_subclass(values: Values, name: str, frame: Frame) -> Value:
    """What a property gives that tensors have in this project alone."""
    key = of_subclasses(values.index, name)
    return returned(values, key, frame) if key is not None and _is_property(values, key) else UNKNOWN


def setters(values: Values, cls: Thing, name: str) -> list[tuple[int, ast.expr, bool]]:
    """(method, assigned expression, whether it is registered) for each `self.name = ...` in one class."""
    body = values.body(cls.path)
    if body is None:
        return []
    if cls not in values.setting_methods:
        methods = values.index.record(cls).methods.values()
        values.setting_methods[cls] = [index for index in methods if body.self_assignments(index)]
    found: list[tuple[int, ast.expr, bool]] = []
    setting = values.setting_methods[cls]
    # What is set under this very name is not what `register_buffer(f"mean_{key}", ...)` makes in another method.
    for index in [index for index in setting if body.sets_itself(index, name)] or setting:
        found += [(index, value, buffer) for value, buffer in body.self_assigned(index, name)]
    return found[:6]


def _self_definition(values: Values, cls: Thing, setter: tuple[int, ast.expr, bool], name: str, frame: Frame) -> Value:
    function, expression, buffer = setter
    body = values.body(cls.path)
    assert body is not None
    value = values.of(expression, frame.hop(cls.path, function, body.at(expression)))
    if is_empty_container(value, expression):
        return filled_attribute(values, cls, name, frame)
    if buffer and stays_with_its_trainer(values.index, cls):
        because = f"the buffer `{name}` of a trainer that nobody moves (line {expression.lineno})"
        return tensor(HOST, because, Confidence.LIKELY)
    own = own_register(values, cls) if buffer else None
    if own is not None:
        value = as_kept(values, own, value)
    elif buffer:
        return tensor(ANYWHERE, f"the buffer `{name}` of a module (line {expression.lineno})")
    if value.kind in ("tensor", "batch", "module") and value.because:
        return value._replace(because=told(f"self.{name}", value.because, expression.lineno))
    return value
