"""Values of variables, parameters and attributes: what assignments, annotations, callers and uses show."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.called_later import bound_later
from torchperf_lint.facts.bindings.converted import converts_all
from torchperf_lint.facts.bindings.documented_tensors import is_documented_tensor
from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.bindings.reaching import is_bound_before
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.devices.engine_batches import batch_of_engine
from torchperf_lint.facts.devices.given_copies import where_given
from torchperf_lint.facts.devices.given_devices import as_given, may_be_given
from torchperf_lint.facts.devices.moved_in_place import after_its_move
from torchperf_lint.facts.devices.moved_names import given_and_moved, taken_and_moved
from torchperf_lint.facts.devices.moves_itself import before_its_move
from torchperf_lint.facts.devices.step_batches import batch_of_step, one_tensor, says_no_more
from torchperf_lint.facts.devices.summed_on_host import stays_on_host
from torchperf_lint.facts.outlines.records import END_OF_FILE, Function, Parameter
from torchperf_lint.facts.roles.fed import FEEDS, is_fed
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.annotated_numbers import tensor_in_earnest
from torchperf_lint.facts.values.annotated_parameters import as_annotated
from torchperf_lint.facts.values.filling import filled_name, is_empty_container, is_list_of_placeholders
from torchperf_lint.facts.values.from_callers import from_callers
from torchperf_lint.facts.values.gathered_objects import holds_objects
from torchperf_lint.facts.values.given_gradients import given_gradient
from torchperf_lint.facts.values.given_losses import is_given_by_a_step
from torchperf_lint.facts.values.gone_through_by_keys import gives_keys
from torchperf_lint.facts.values.inherited import promised_to_override
from torchperf_lint.facts.values.iteration import batch_of_unknown
from torchperf_lint.facts.values.meant_for_host import meant_for_host
from torchperf_lint.facts.values.named_tuples import as_parts
from torchperf_lint.facts.values.never_set import never_bound
from torchperf_lint.facts.values.nominal import from_annotation, from_thing
from torchperf_lint.facts.values.rest import value_of_rest
from torchperf_lint.facts.values.taken_sizes import is_size
from torchperf_lint.facts.values.tested_classes import NUMBERS, OF_EVERY_TENSOR, OPEN, known_around, of_tested_class
from torchperf_lint.facts.values.usage import counter, counts_steps, from_uses, of_forward, of_unpacked, used_as_module
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    join,
    left_over,
    sequence,
    tensor,
    told,
    unpacked,
)
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_SHALLOW = 8

_NOT_A_TENSOR = pattern(
    r"(?:typing\.)?(?:list|tuple|dict|set|str|List|Tuple|Dict|Sequence|Mapping|Callable|Iterable|object)\b"
)
_SAYS_NOTHING = pattern(r"(?:(?:typing\.|t\.)?Any)?$")
"""No annotation, and `Any`: what the function does with such a parameter says more."""
_LISTS = pattern(r"\(?(?:list|tuple)\b[ ,)listuple]*$")
_CONTAINERS = pattern(r"(?:[( ,)|]|\b(?:\w+\.)*(?:list|tuple|dict|Mapping|MutableMapping|Sequence|OrderedDict)\b)+$")
_TENSOR_TEST = pattern(r"\b(?:Tensor|Parameter)\b")


def value_of_name(values: Values, name: str, frame: Frame) -> Value:
    """The value of a variable at a place, as `isinstance` tests around the place narrow it."""
    body = values.body(frame.path)
    tested = body.narrowing(frame.function, name, frame.at) if body is not None else None
    value = _untested(values, name, frame, body) if body is not None else UNKNOWN
    if value.kind == "sequence" and body is not None and holds_objects(body, name, frame):
        return UNKNOWN
    if tested is None:
        return value if value.kind not in OPEN else known_around(values, name, value, frame)
    about_tensors = bool(_TENSOR_TEST.search(tested.classes))
    if not about_tensors and not tested.holds and not OF_EVERY_TENSOR.search(tested.classes):
        return value
    if about_tensors and tested.holds and value.kind == PLAIN.kind:
        return value  # a size, which is a tensor while the code is traced
    if about_tensors and tested.holds:
        because = f"`{name}` is tested: `isinstance({name}, {tested.classes})` (line {tested.line})"
        if value.kind == "batch" or (value.kind == "tensor" and value.confidence is not Confidence.POSSIBLE):
            return value
        sure = tested.asserted or (body is not None and is_given_by_a_step(values, name, frame, body))
        level = Confidence.LIKELY if sure else Confidence.POSSIBLE
        return value._replace(confidence=level) if value.kind == "tensor" else tensor(ANYWHERE, because, level)
    if tested.holds and not tested.elements and NUMBERS.match(tested.classes):
        return PLAIN
    if value.kind == "tensor" and _LISTS.match(tested.classes):
        return sequence(value.weaker(Confidence.LIKELY))  # what a network gives for each of its stages
    if value.kind in OPEN:
        return of_tested_class(values, name, tested, value, frame)
    if value.kind == "batch" and _CONTAINERS.match(tested.classes):
        return value  # batches are lists and dicts of tensors as often as tensors
    return UNKNOWN if value.kind in ("tensor", "batch") else value


def untested_value(values: Values, name: str, frame: Frame) -> Value:
    """The value of a variable at a place, whatever tests around the place say of it."""
    body = values.body(frame.path)
    return _untested(values, name, frame, body) if body is not None else UNKNOWN


def _untested(values: Values, name: str, frame: Frame, body: Body) -> Value:
    path, scope, at = frame.path, frame.function, frame.at
    functions = values.index.outlines[path].functions
    while scope >= 0:
        here = frame if scope == frame.function else frame.within(scope)
        reaching = body.reaching(scope, name, at)
        if reaching is not None:
            reaching = reaching or bound_later(body, scope, name, at)
            there = here if at is frame.at else here.placed(at)
            bound = _from_definitions(values, name, reaching, there, body)
            return after_its_move(values, name, bound, there, body) if bound.kind == "batch" else bound
        if _is_parameter(functions[scope], name):
            given = _from_parameter(values, name, here, body)
            return after_its_move(values, name, given, here, body) if given.kind == "batch" else given
        rest = value_of_rest(values, name, here)
        if rest is not None:
            return rest
        # An enclosing function has run to its end, as far as anyone knows, when an inner one runs.
        at = END_OF_FILE
        scope = functions[scope].parent
    return from_thing(values, values.types.thing(path, frame.function, name), name)


def _is_parameter(function: Function, name: str) -> bool:
    for parameter in function.parameters:  # noqa: SIM110 -- every name is asked about
        if parameter.name == name:
            return True
    return False


def _from_definitions(values: Values, name: str, reaching: Sequence[Definition], frame: Frame, body: Body) -> Value:
    function = values.index.outlines[frame.path].functions[frame.function]
    is_parameter = _is_parameter(function, name)
    if len(reaching) > 1:
        reaching = before_its_move(name, reaching, frame.function, frame.at, body)
    if is_parameter and any(d.within is not None for d in reaching):
        # `[str(x) for x in rows]` says nothing of the parameter `x`
        return join(_definitions(values, name, reaching, frame, body))
    if len(reaching) == 1 and not is_parameter:  # as most names are bound
        value = _definition(values, name, reaching[0], frame, body)
    else:
        found = _definitions(values, name, reaching, frame, body)
        if is_parameter and _may_be_as_given(name, reaching, frame, body):
            found.insert(0, _instead_of(found, values, name, function, frame, body))
        value = found[0] if len(found) == 1 else join(found)
    if value.kind == "tensor" and value.confidence is not Confidence.CERTAIN:
        used = used_as_module(name, frame, body)
        value = used if used is not None else value
    if value.kind == "unknown":
        returned = any(d.how == "assign" and isinstance(d.value, ast.Call) for d in reaching)
        used = from_uses(values, name, frame, body, returned) if reaching or is_parameter else UNKNOWN
        used = used if used.kind != "unknown" else of_unpacked(values, name, reaching, frame, body)
        from_host = used.kind == "tensor" and used.device == ANYWHERE and _all_from_host(values, reaching, frame, body)
        return used.moved(HOST) if from_host else used
    return value


def _definitions(values: Values, name: str, reaching: Sequence[Definition], frame: Frame, body: Body) -> list[Value]:
    found = [_definition(values, name, d, frame, body) for d in reaching]
    if len(found) > 1 and any(value.kind == "batch" for value in found):
        return [v for d, v in zip(reaching, found, strict=True) if not never_bound(values, d, frame, body)] or found
    return found


def _may_be_as_given(name: str, reaching: Sequence[Definition], frame: Frame, body: Body) -> bool:
    """Whether a parameter may still be at a place what callers pass, beside what binds it."""
    if is_bound_before(reaching, frame.at, body.block_of(frame.function, frame.at)):
        return False
    return not converts_all(body, frame.function, name, reaching)


def _instead_of(bound: list[Value], values: Values, name: str, function: Function, frame: Frame, body: Body) -> Value:
    """What callers pass for a parameter, instead of which the function binds it to other values.

    `if lengths is None: lengths = torch.full((n,), m)`: what stands in for it is on the host, as it would be.
    """
    given = _from_parameter(values, name, frame, body)
    optional = any(p.name == name and p.default for p in function.parameters)
    on_host = optional and any(value.kind == "tensor" and value.device == HOST for value in bound)
    return given.moved(HOST) if on_host and given.confidence is Confidence.LIKELY else given


def _all_from_host(values: Values, reaching: Sequence[Definition], frame: Frame, body: Body) -> bool:
    """Whether every binding is what some call makes of tensors that are on the host, and of no others."""
    for d in reaching:
        if d.how != "assign" or not isinstance(d.value, ast.Call) or frame.depth > _SHALLOW:
            return False
        at = frame.back(body.at(d.value), d.end)
        given = [values.of(a, at) for a in d.value.args[:3] if not isinstance(a, ast.Name | ast.Constant)]
        devices = {value.device for value in given if value.kind in ("tensor", "batch")}
        if devices != {HOST}:
            return False
    return bool(reaching)


def _definition(values: Values, name: str, d: Definition, frame: Frame, body: Body) -> Value:
    if d.how == "named":
        return from_thing(values, values.types.thing(frame.path, frame.function, name), name)
    if d.value is None or d.how == "other":
        return UNKNOWN
    if (d.how == "assign" and type(d.value) is ast.Constant) or (d.how == "loop" and _counts_turns(values, d, frame)):
        return PLAIN
    key = (frame.path, frame.function, name, d.at, d.how)
    if d.how in ("rest", "rest of each"):
        return values.remembered(key, frame, lambda at: _left(values, d, at, body))
    return values.remembered(key, frame, lambda at: _bound(values, name, d, at, body))


def _counts_turns(values: Values, d: Definition, frame: Frame) -> bool:
    """Whether a name is the `i` of `for i, x in enumerate(...)`: a number, whatever is gone through."""
    over = d.value
    if d.index != (0,) or not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name) or not over.args:
        return False
    if over.func.id != "enumerate":
        return False
    thing = values.thing(over.func, frame)
    return thing is None or thing.kind == "external"


def _left(values: Values, d: Definition, frame: Frame, body: Body) -> Value:
    """What `a, *rest = value` and `for a, *rest in value` bind."""
    assert d.value is not None
    value = values.of(d.value, frame.back(body.at(d.value), d.end))
    return left_over(values.element(value, frame) if d.how == "rest of each" else value, d.index)


def _bound(values: Values, name: str, d: Definition, frame: Frame, body: Body) -> Value:
    assert d.value is not None
    place = body.at(d.value)
    place = place if d.how != "augmented" else d.at
    there = frame.back(place, d.end)
    value = values.of(d.value, there)
    if d.how == "augmented" and value.kind == "tensor" and stays_on_host(values, name, d, there, body):
        value = value.moved(HOST)
    if d.how == "assign" and is_empty_container(value, d.value):
        value = filled_name(values, name, frame, body)._replace(thing=value.thing)
    elif d.how == "assign" and is_list_of_placeholders(d.value) and body.stored_items(frame.function, name):
        value = filled_name(values, name, frame, body)
    if gives_keys(value, name, d, frame.function, body):
        return PLAIN
    if d.how == "loop":
        value = values.element(value, frame, d.index)
    elif d.how == "item":
        value = unpacked(as_parts(values, value, frame), d.index)
        value = filled_name(values, name, frame, body) if _begins_empty(name, value, d, frame, body) else value
        value = value.moved(HOST) if name == api.BATCH_SIZES and value.kind == "tensor" else value
    away = d.index and value.kind == "tensor" and value.device != HOST
    if away and is_size(name, d, body.definitions(frame.function)):
        return UNKNOWN  # `for edges, _, size in parts`: what was moved are records
    if d.how == "with" and value.kind not in ("tensor", "batch", "loader", "sequence"):
        return UNKNOWN
    if value.kind == "unknown" and d.how in ("assign", "item"):
        value = batch_of_unknown(values, name, d.value, frame)
    if value.kind == "unknown" and d.how in ("assign", "item", "loop"):
        value = taken_and_moved(values, name, d, frame, body)
    if value.kind in ("tensor", "batch", "module") and value.because:
        return value.with_reason(told(name, value.because, d.at[0]))
    return value


def _begins_empty(name: str, value: Value, d: Definition, frame: Frame, body: Body) -> bool:
    """`masks, spans = [], []`."""
    parts = d.value.elts if isinstance(d.value, ast.Tuple) else []
    part = parts[d.index[0]] if len(d.index) == 1 and d.index[0] < len(parts) else None
    if part is None:
        return False
    stored = is_list_of_placeholders(part) and bool(body.stored_items(frame.function, name))
    return stored or is_empty_container(value, part)


# -- parameters ------------------------------------------------------------------------------------


def _from_parameter(values: Values, name: str, frame: Frame, body: Body) -> Value:
    key = ("parameter", frame.path, frame.function, name)
    value = values.remembered(key, frame, lambda at: _parameter(values, name, at, body))
    if meant_for_host(value, name, frame, body):
        value = value.moved(HOST)
    return value.lent() if value.kind == "tensor" and not value.borrowed else value


def _parameter(values: Values, name: str, frame: Frame, body: Body) -> Value:
    function = values.index.outlines[frame.path].functions[frame.function]
    parameter = next(p for p in function.parameters if p.name == name)
    if function.class_index >= 0 and parameter is function.parameters[0] and "staticmethod" not in function.decorators:
        return from_thing(values, Thing("instance", frame.path, function.class_index), name)
    value = (
        from_annotation(values, parameter.annotation, frame, name, function.header_line)
        if parameter.annotation
        else promised_to_override(values, function, name, frame)
    )
    if value.kind == "tensor" or (value.kind == "unknown" and says_no_more(parameter.annotation)):
        told_by_role = _by_role(values, function, parameter, frame)
        if told_by_role is not None:
            return told_by_role
    if value.kind == "sequence" and counts_steps(name):
        return sequence(counter(name))
    if value.kind not in ("unknown", "tensor", "torch_device", "sequence"):
        return _as_settled(values, value, function, parameter, frame)
    key = FunctionKey(frame.path, frame.function)
    passed = as_given(values, from_callers(values, function, parameter, frame), key, parameter)
    told = as_annotated(value, passed)
    if told is not None:
        return _as_used(values, told, name, frame, body)
    default = default_of(body.functions.get(frame.function), name)
    if value.kind != "tensor" and default is not None and device_of(values, default, frame.deeper()) == HOST:
        return Value("torch_device", ANYWHERE if may_be_given(values, key, name) else HOST)
    if value.kind != "unknown":
        return value
    if _NOT_A_TENSOR.match(parameter.annotation):
        return UNKNOWN
    if isinstance(default, ast.Constant) and default.value is not None:
        return PLAIN
    moved = given_and_moved(values, name, frame, body)
    used = moved if moved.kind != "unknown" else from_uses(values, name, frame, body)
    used = used if used.kind != "unknown" else of_forward(values, name, frame, body)
    hot = key in values.hotness.functions
    unsaid = _SAYS_NOTHING.match(parameter.annotation)
    if used.kind == "unknown" and unsaid and hot and is_documented_tensor(body, frame.function, name):
        documented = f"`{name}` is documented as a tensor (line {function.header_line})"
        return tensor(ANYWHERE, documented).weaker(Confidence.LIKELY)
    return where_given(values, key, function, name, used)


def _as_used(values: Values, value: Value, name: str, frame: Frame, body: Body) -> Value:
    """What callers pass: of a batch, which may hold several, its use in the function tells whether it is one tensor."""
    is_batch = value.kind == "batch" and value.device == DEVICE
    return one_tensor(value) if is_batch and from_uses(values, name, frame, body).kind == "tensor" else value


def _as_settled(values: Values, value: Value, function: Function, parameter: Parameter, frame: Frame) -> Value:
    """What an annotation settles; accelerate and Fabric move the batches of a loader that a caller had them set up."""
    if value.kind != "loader":
        return tensor_in_earnest(values, function, parameter, frame) or value
    passed = from_callers(values, function, parameter, frame)
    return value.moved(DEVICE) if passed.kind == "loader" and passed.device == DEVICE else value


def _by_role(values: Values, function: Function, parameter: Parameter, frame: Frame) -> Value | None:
    """The batch that Lightning hands to `training_step` is on the device already; what a model is fed is not."""
    key = FunctionKey(frame.path, frame.function)
    if function.name in FEEDS and is_fed(values.index, key, parameter.name):
        return Value("batch", HOST, f"the batch of a step, which `{function.name}` is for", Confidence.LIKELY)
    gradient = given_gradient(values.index, key, function, parameter)
    if gradient is not None:
        return gradient
    hot = values.hotness.functions.get(key)
    if hot is None or hot.depth:
        return None
    return batch_of_step(values.index, key, function, parameter) or batch_of_engine(values, key, function, parameter)
