"""What calling a module, or a class or function of the project, gives."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import argument_for, in_short
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.devices.moved_back import moved_back_to
from torchperf_lint.facts.devices.recursive_movers import moved_with_its_parts
from torchperf_lint.facts.outlines.signatures import annotation_chain
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.dicts_of_dicts import gives_dicts_of_dicts
from torchperf_lint.facts.values.nominal import from_annotation, from_thing
from torchperf_lint.facts.values.number_helpers import gives_a_number
from torchperf_lint.facts.values.rest import rest_handed_back
from torchperf_lint.facts.values.settled_by_call import returns_of_call
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    MAX_HOPS,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    as_called,
    join,
    sequence,
    tensor,
)
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.values.values import Values


MODULE_NAME = pattern(
    r"^(?!(?:get|build|make|create|load|save|scale|set|compute|init|to|from|update|log|plot|encode|decode|process)_)"
    r"(?:\w*_)?(?:model|net|network|module|encoder|decoder|backbone|head|criterion|loss_fn|loss_func|generator|discriminator|"
    r"policy|critic|actor|agent|denoiser|vocoder|unet|vae|lstm|gru|rnn|mlp|cnn|student|teacher|layer|block|proj|conv|norm|embed|embedding|attn|attention|classifier|"
    r"extractor|transformer|predictor|(?:net)?[DG](?:_[A-Z]{1,2})?|net[DG]_[A-Z]2[A-Z])\d*"
    r"(?:_(?:ema|target|local|old|ref|student|teacher|module|layer|\d+))?$"
    r"|^(?:ln|bn|(?:\w+_)?(?:layer|batch|rms|group)norm)(?:_?\d+|_(?:pre|post|final|out|in|\d+))?$"
    r"|^to_(?:[qkv]|kv|qk|qkv|out|logits)$",
    re.IGNORECASE,
)


LOSS_FUNCTION = pattern(r"^(?!(?:log|print|plot|get|build|make|create|save|update|val|avg|total)_)(?:\w+_)?loss$")
"""Functions that compute a loss of tensors, by their name: `l1_loss(image, target)`."""
_PLAIN_HINT = pattern(
    r"(?:\b(?:typing|float|int|bool|str|None|tuple|Tuple|list|List|dict|Dict|Optional|Union)\b|[\s,.|\[\]'\"])+"
)
_ANEW = frozenset({"tensor", "from_numpy", "numpy", "tolist", "item"}) | api.LEGACY_TYPES
"""What gives something of another kind, or on the host, whatever it was given."""
_CONVERTS = frozenset("float long int half double bool".split())
_BARE_CONTAINER = pattern(r"\b(?:tuple|Tuple|list|List|dict|Dict)\b(?!\s*\[)")
"""`-> list` says nothing of what is in it."""
_OF_SEVERAL = pattern(r"\b(?:tuple|Tuple|list|List|dict|Dict)\b")
"""`-> Optional[int]` is one number, or none."""


def module_output(values: Values, node: ast.Call, module: Value, frame: Frame) -> Value:
    """What calling a module gives: a tensor or a record of them, on the device of its inputs or its own."""
    inputs = [values.of(argument, frame) for argument in node.args[:3]]
    devices = {value.device for value in inputs if value.kind == "tensor"}
    device = (
        DEVICE
        if DEVICE in devices or module.device == DEVICE
        else HOST
        if devices == {HOST} and module.device == HOST
        else ANYWHERE
    )
    written = chain(node.func)
    told = module.because or "a module"
    because = f"the output of `{written}(...)`{'; ' if told.startswith('`') else ', '}{told}"
    whole = tensor(device, because, module.confidence)
    if module.thing is not None and module.thing.kind == "instance":
        key = values.index.method(module.thing, "forward")
        if key is not None:
            settled = _left_by(values, node, key, frame)
            return _forward_output(returned(values, key, frame) if settled is None else settled, whole)
    return _as_each_of_several(values, written, whole, frame) if module.thing is None else whole


def _as_each_of_several(values: Values, written: str, whole: Value, frame: Frame) -> Value:
    """What one of several modules gives, where the `forward` of each gives as many: `return loss, count.item()`."""
    things = values.types.things(frame.path, frame.function, written)
    if not 1 < len(things) < 5 or any(thing.kind != "instance" for thing in things):
        return whole
    keys = [values.index.method(thing, "forward") for thing in things]
    each = [_forward_output(returned(values, key, frame), whole) for key in keys if key is not None]
    parts = {len(value.items) for value in each if value.kind == "sequence"}
    alike = len(each) == len(things) and all(value.kind == "sequence" for value in each) and len(parts) == 1
    return join(each) if alike and parts != {0} else whole


def _forward_output(inner: Value, whole: Value) -> Value:
    """A module's output with the structure that its `forward` shows."""
    if inner.kind == "sequence" and inner.items:
        items = tuple(_part_of_output(item, whole) for item in inner.items)
        known = inner.item is not None and inner.item.kind == "tensor"
        return inner._replace(items=items, item=join(items) if known else inner.item)
    if inner.kind in ("plain", "array"):
        return inner
    if inner.kind == "sequence" and inner.item is not None and inner.item.kind in ("plain", "array"):
        return inner
    if inner.kind == "sequence":
        return sequence(_forward_output(inner.item, whole) if inner.item is not None else whole)
    if inner.kind == "tensor" and inner.device == HOST:
        return inner
    return whole


def _part_of_output(part: Value, whole: Value) -> Value:
    """One of several things that a module gives: a list beside the tensors may be one of lengths."""
    if part.kind == "sequence" and not part.items and part.item is not None and part.item.kind == "unknown":
        return part
    return _forward_output(part, whole)


def as_a_module_would(values: Values, node: ast.Call, frame: Frame) -> Value:
    """An unknown callable named like a module and called with a tensor gives a tensor."""
    written = chain(node.func)
    if not MODULE_NAME.search(last_part(written)) and not LOSS_FUNCTION.search(last_part(written)):
        return UNKNOWN
    inputs = (values.of(a, frame) for a in [*node.args[:3], *(k.value for k in node.keywords[:3])])
    if not any(value.kind == "tensor" or (value.kind == "batch" and value.device == DEVICE) for value in inputs):
        return UNKNOWN
    because = f"the output of `{written}(...)`, called with a tensor and a module or loss by its name"
    return module_output(values, node, Value("module", ANYWHERE, "", Confidence.LIKELY), frame).with_reason(because)


def made_by_project(values: Values, node: ast.Call, thing: Thing, frame: Frame) -> Value:
    """What calling a class or function of the project gives."""
    if thing.kind == "class":
        instance = Thing("instance", thing.path, thing.index)
        made = from_thing(values, instance, values.index.record(thing).name)
        return made._replace(origins=origin_of(values, node, frame)) if made.kind == "loader" else made
    return called(values, node, FunctionKey(thing.path, thing.index), frame)


def called(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Value:
    """What one call of a function of the project gives."""
    found = _for_this_call(values, node, key, frame)
    moved = moved_back_to(values, key, frame) if found.kind in ("tensor", "batch") and found.device == HOST else None
    return found.moved(moved, _as_returned(node, key, found, frame)) if moved is not None else found


def _for_this_call(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Value:
    passed_through = _passed_through(values, node, key, frame)
    found = passed_through if passed_through is not None else returned(values, key, frame)
    if passed_through is not None:
        return found
    if found.kind in ("unknown", "sequence"):
        found = _settled(values, node, key, frame) or found
    if found.kind not in ("tensor", "batch", "sequence"):
        return moved_with_its_parts(values, node, key, frame) if found.kind == "unknown" else found
    parts = found.kind == "sequence" and (found.item is None or found.item.kind == "unknown")
    if parts and (moved := moved_with_its_parts(values, node, key, frame)).kind != "unknown":
        return moved
    if found.kind == "tensor" and found.device != HOST and not found.borrowed:
        found = _settled(values, node, key, frame) or found
    arguments = [*node.args[:6], *(keyword.value for keyword in node.keywords[:6])]
    found = as_called(found, [values.of(argument, frame) for argument in arguments])
    if found.kind == "tensor" and _asked_for_host(values, node, frame):
        found = found.moved(HOST)
    if found.kind == "sequence" or not found.because:
        return found
    return found.with_reason(_as_returned(node, key, found, frame))


def _settled(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Value | None:
    """What a function gives that may move its argument, where literals of this call say whether it does.

    Or that may give more: a tensor, or several of them.
    """
    found = _left_by(values, node, key, frame)
    return found if found is not None and found.kind in ("tensor", "sequence") else None


def _left_by(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Value | None:
    """The join of what a function returns for one call, where its literals settle it: `loss` of a call without details.

    `return (loss, details) if with_details else loss`.
    """
    body = values.body(key.path) if frame.hops < MAX_HOPS else None  # a function may call itself
    left = returns_of_call(node, body, key.index, values.index.function(key)) if body is not None else None
    if body is None or not left or len(left) > 6:
        return None
    places = [(part, frame.hop(key.path, key.index, body.at(part))) for part in left]
    return join([_given(values, part, at) for part, at in places])


def _as_returned(node: ast.Call, key: FunctionKey, found: Value, frame: Frame) -> str:
    where = "" if key.path == frame.path else f" ({key.path})"
    written = f"what `{chain(node.func)}(...)` returns{where}"
    return found.because if found.because.startswith(written) else in_short(f"{written}: {found.because}")


def _asked_for_host(values: Values, node: ast.Call, frame: Frame) -> bool:
    """`as_tensor_of(x, device="cpu")`: whatever the function makes, this call wants it on the host."""
    given = keyword(node, "device")
    return given is not None and device_of(values, given, frame) == HOST


def _passed_through(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Value | None:
    """For a function that hands a parameter back, what this call gives it; None for other functions."""
    body = values.body(key.path)
    if body is None:
        return None
    function = values.index.function(key)
    if gives_a_number(body, key.index, function):
        return PLAIN
    names = [parameter.name for parameter in function.parameters]
    yielded = body.yields(key.index)
    expressions = [_gone_through(body, key.index, *pair) for pair in yielded] or body.returns(key.index)
    rest = rest_handed_back(values, node, expressions, key, frame) if not yielded else None
    if rest is not None:
        return rest
    stands_in = None if yielded else _or_else(expressions, names)
    handed_back = stands_in or [
        e.id for e in expressions if isinstance(e, ast.Name) and e.id in names and not _is_another(body, key.index, e)
    ]
    if not handed_back or (len(handed_back) < len(expressions) and not stands_in):
        return None
    arguments = [argument_for(node, function, name) for name in handed_back]
    each = [_value_given(values, a, frame) for a in arguments]
    # Of `default(noise, lambda: torch.randn_like(x))` the argument of which something is known tells what both are.
    told = [value for value in each if value.kind != "unknown"] if stands_in else each
    found = join(told or each)
    if not yielded:
        return found
    # The generator's own uses of a parameter may say more than the argument.
    return sequence(values.element(found, frame)) if found.kind != "unknown" else None


def _is_another(body: Body, function: int, name: ast.Name) -> bool:
    """Whether a parameter stands for something else by then, whichever way: `k = torch.tensor(k)`, then `return k`.

    `x = x.float()` and `x = pad(x)` are still the same thing.
    """
    bound = body.reaching(function, name.id, body.at(name)) or []
    anew = (d.how == "assign" and not d.block and _makes_anew(d.value) for d in bound)
    return any(anew) and all(d.how in ("assign", "augmented") for d in bound)


def _makes_anew(node: ast.expr | None) -> bool:
    """`torch.tensor(k)`, `{k: torch.tensor(v) for k, v in x.items()}`, `torch.stack([from_numpy(f(e)) for e in x])`."""
    node = node.value if isinstance(node, ast.DictComp) else node.elt if isinstance(node, ast.ListComp) else node
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONVERTS:
        node = node.func.value
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Dict) and None not in node.keys  # `{"x": x, "y": y}`, and nothing spread into it
    name = last_part(chain(node.func))
    return name in _ANEW or (name in ("stack", "cat") and bool(node.args) and _makes_anew(node.args[0]))


def _or_else(results: Sequence[ast.expr | None], names: list[str]) -> list[str] | None:
    """The parameters that a function hands back, the second where the first is missing: `default(value, other)`.

    The other may be a function, which it calls: `return other() if callable(other) else other`.
    """
    found: list[str] = []
    for result in results:
        for part in [result.body, result.orelse] if isinstance(result, ast.IfExp) else [result]:
            made = isinstance(part, ast.Call) and not part.args and not part.keywords
            below = part.func if made and isinstance(part, ast.Call) else part
            if not isinstance(below, ast.Name) or below.id not in names:
                return None
            found.append(below.id)
    return list(dict.fromkeys(found)) if len(set(found)) > 1 else None


def _value_given(values: Values, argument: ast.expr | None, frame: Frame) -> Value:
    """What a parameter that is handed back stands for; of a function without parameters, what it gives."""
    if argument is None:
        return UNKNOWN
    thunk = isinstance(argument, ast.Lambda) and not argument.args.args
    return values.of(argument.body if thunk and isinstance(argument, ast.Lambda) else argument, frame)


def _gone_through(body: Body, function: int, yielded: ast.expr, whole: bool) -> ast.expr | None:
    """What a generator takes item by item and yields as it is: `yield from x`; `for y in x: yield y`."""
    if whole or not isinstance(yielded, ast.Name):
        return yielded if whole else None
    bound = body.definitions(function).get(yielded.id, [])
    return bound[0].value if len(bound) == 1 and bound[0].how == "loop" and not bound[0].index else None


def returned(values: Values, key: FunctionKey | None, frame: Frame) -> Value:
    """The join of what a function of the project returns; several overrides are not told apart."""
    if key is None:
        return UNKNOWN
    return values.remembered(("returned", key), frame, lambda at: _returned(values, key, at))


def _returned(values: Values, key: FunctionKey, frame: Frame) -> Value:
    body = values.body(key.path)
    if body is None:
        return UNKNOWN
    hint = getattr(body.functions.get(key.index), "returns", None)
    if key not in values.plain_returned:
        values.plain_returned[key] = _plain_returned(values, key, hint, body)
    plain = values.plain_returned[key]
    if plain is not None:
        return plain
    yielded = body.yields(key.index)
    if yielded:
        return _generated(values, key, yielded, frame)
    found = [
        _given(values, expression, frame.hop(key.path, key.index, body.at(expression)))
        for expression in body.returns(key.index)[:6]
    ]
    value = join(found) if found else UNKNOWN
    if hint is None or value.kind not in ("unknown", "plain"):
        return value
    told = _as_annotated(values, key, hint, frame)
    return told if told.kind != "unknown" else value


def _plain_returned(values: Values, key: FunctionKey, hint: ast.expr | None, body: Body) -> Value | None:
    """What a function returns that says of itself that it returns numbers, texts and the like; None of any other."""
    if gives_a_number(body, key.index, values.index.function(key)):
        return PLAIN
    named = isinstance(hint, ast.Name | ast.Attribute)
    promised = "" if hint is None else chain(hint) if named else ast.unparse(hint)
    if not _PLAIN_HINT.fullmatch(promised) or _BARE_CONTAINER.search(promised):
        return None
    if "[" in promised and gives_dicts_of_dicts(body, key.index):
        return None
    return sequence(PLAIN) if "[" in promised and _OF_SEVERAL.search(promised) else PLAIN


def _given(values: Values, node: ast.expr, frame: Frame) -> Value:
    """What a function returns; of `return module.device` that it is a device, whatever stands for none.

    What an unknown module gives counts as a tensor. Where the function asks it for its keys, it is a mapping of them.
    """
    value = values.of(node, frame)
    if isinstance(node, ast.Name) and value.kind == "tensor" and _has_keys(values, node.id, frame):
        return sequence(value)
    named = value.kind == "unknown" and isinstance(node, ast.Attribute) and node.attr == "device"
    return Value("torch_device", ANYWHERE) if named else value


def _has_keys(values: Values, name: str, frame: Frame) -> bool:
    body = values.body(frame.path)
    return body is not None and any(used in ("keys", "items") for used, _ in body.uses(frame.function, name))


def _as_annotated(values: Values, key: FunctionKey, hint: ast.expr, frame: Frame) -> Value:
    """The tensor, or container of tensors, that a function is annotated to return, where its arguments are."""
    function = values.index.function(key)
    annotation = annotation_chain(hint)
    at = frame.hop(key.path, key.index, (function.header_line, 1))
    value = from_annotation(values, annotation, at, function.name, function.header_line)
    if value.kind not in ("tensor", "sequence"):
        return value if value.kind == "array" else UNKNOWN
    because = f"`{function.name}` is annotated to return `{annotation}` (line {function.header_line})"
    return _given_back(value, because)


def _given_back(value: Value, because: str) -> Value:
    if value.kind == "sequence":
        item = _given_back(value.item, because) if value.item is not None else None
        return value._replace(item=item, items=tuple(_given_back(part, because) for part in value.items))
    return (
        value._replace(because=because, confidence=Confidence.LIKELY, borrowed=True)
        if value.kind == "tensor"
        else value
    )


def _generated(values: Values, key: FunctionKey, yielded: list[tuple[ast.expr, bool]], frame: Frame) -> Value:
    """What a generator goes through; what a context manager hands out is another matter."""
    body = values.body(key.path)
    if body is None or any("contextmanager" in d or "fixture" in d for d in values.index.function(key).decorators):
        return UNKNOWN
    found = []
    for node, whole in yielded[:4]:
        value = values.of(node, frame.hop(key.path, key.index, body.at(node)))
        found.append(values.element(value, frame) if whole else value)
    return sequence(join(found))


def origin_of(values: Values, node: ast.Call, frame: Frame) -> tuple[tuple[str, int, int], ...]:
    """The place of a call, as loaders carry it."""
    body = values.body(frame.path)
    return ((frame.path, *body.at(node)),) if body is not None else ()
