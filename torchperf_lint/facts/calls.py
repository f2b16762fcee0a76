"""Values of calls: torch's functions and methods, modules, functions of the project, builtins."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.devices import device_of, is_dtype
from torchperf_lint.facts.names import from_thing, short_name
from torchperf_lint.facts.index import FunctionKey, Thing
from torchperf_lint.facts.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    join,
    sequence,
    tensor,
)
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_MODULE_NAME = re.compile(
    r"^(?!(?:get|build|make|create|load|save|scale|set|compute|init|to|from|update|log|plot|encode|decode|process)_)"
    r"(?:\w*_)?(?:model|net|network|module|encoder|decoder|backbone|head|criterion|loss_fn|loss_func|generator|discriminator|"
    r"policy|critic|actor|unet|vae|student|teacher|layer|block|proj|conv|norm|embed|embedding|attn|attention|classifier|"
    r"extractor|transformer|predictor|(?:net)?[DG])\d*(?:_(?:ema|target|old|student|teacher|module|layer|\d+))?$",
    re.IGNORECASE,
)
_PROGRESS = re.compile(r"(?:^|\.)(?:tqdm|trange|track|progress_bar|pbar)$|log_every$", re.IGNORECASE)


def value_of_call(values: Values, node: ast.Call, frame: Frame) -> Value:
    """The value of a call."""
    callee = chain(node.func)
    thing = values.types.thing(frame.path, frame.function, callee)
    if thing is not None and thing.kind == "external" and "()" not in thing.dotted:
        return _external(values, node, thing.dotted, frame)
    if isinstance(node.func, ast.Attribute):
        if not (thing is not None and thing.kind in ("function", "class") and not _is_method(values, thing)):
            found = _method(values, node, node.func, frame)
            if found is not None:
                return found
    if isinstance(node.func, ast.Name) and node.func.id in _BUILTIN_RESULTS and (thing is None or thing.kind == "external"):
        return _builtin(values, node, node.func.id, frame)
    if thing is not None and thing.kind in ("class", "function"):
        return _project(values, node, thing, frame)
    return _called_value(values, node, frame)


def _is_method(values: Values, thing: Thing) -> bool:
    if thing.kind != "function":
        return False
    return values.index.function(FunctionKey(thing.path, thing.index)).class_index >= 0


# -- calls of modules and of functions of the project -------------------------------------------------


def _called_value(values: Values, node: ast.Call, frame: Frame) -> Value:
    target = values.of(node.func, frame)
    if target.kind == "module":
        return module_output(values, node, target, frame)
    if target.kind == "object" and target.thing is not None and target.thing.kind == "instance":
        key = values.index.method(target.thing, "__call__")
        return returned(values, key, frame) if key else UNKNOWN
    if isinstance(node.func, ast.Attribute | ast.Name) and _PROGRESS.search(chain(node.func)) and node.args:
        return values.of(node.args[0], frame)
    return _as_a_module_would(values, node, frame) if target.kind == "unknown" else UNKNOWN


def module_output(values: Values, node: ast.Call, module: Value, frame: Frame) -> Value:
    """What calling a module gives: a tensor or a record of them, on the device of its inputs or its own."""
    inputs = [values.of(argument, frame) for argument in node.args[:3]]
    devices = {value.device for value in inputs if value.kind == "tensor"}
    device = DEVICE if DEVICE in devices or module.device == DEVICE else HOST if devices == {HOST} and module.device == HOST else ANYWHERE
    written = chain(node.func)
    because = f"the output of `{written}(...)`; {module.because}" if module.because else f"the output of `{written}(...)`, a module"
    whole = tensor(device, because, module.confidence)
    if module.thing is not None and module.thing.kind == "instance":
        key = values.index.method(module.thing, "forward")
        if key is not None:
            return _forward_output(returned(values, key, frame), whole)
    return whole


def _forward_output(inner: Value, whole: Value) -> Value:
    """A module's output with the structure that its `forward` shows."""
    if inner.kind == "sequence" and inner.items:
        return replace(inner, items=tuple(_forward_output(item, whole) for item in inner.items))
    if inner.kind in ("plain", "array"):
        return inner
    if inner.kind == "sequence":
        return inner if inner.item is not None and inner.item.kind in ("plain", "array") else whole
    if inner.kind == "tensor" and inner.device == HOST:
        return inner
    return whole


def _project(values: Values, node: ast.Call, thing: Thing, frame: Frame) -> Value:
    if thing.kind == "class":
        instance = Thing("instance", thing.path, thing.index)
        made = from_thing(values, instance, values.index.record(thing).name)
        return replace(made, origins=_origin(values, node, frame)) if made.kind == "loader" else made
    found = returned(values, FunctionKey(thing.path, thing.index), frame)
    if found.kind in ("tensor", "batch") and found.because:
        return replace(found, because=f"what `{chain(node.func)}(...)` returns{_elsewhere(thing.path, frame)}: {found.because}")
    return found


def _elsewhere(path: str, frame: Frame) -> str:
    return "" if path == frame.path else f" ({path})"


def returned(values: Values, key: FunctionKey | None, frame: Frame) -> Value:
    """The join of what a function of the project returns; several overrides are not told apart."""
    if key is None:
        return UNKNOWN
    return values.remembered(("returned", key), frame, lambda: _returned(values, key, frame))


def _returned(values: Values, key: FunctionKey, frame: Frame) -> Value:
    body = values.body(key.path)
    if body is None:
        return UNKNOWN
    annotated = body.functions.get(key.index)
    hint = getattr(annotated, "returns", None)
    if isinstance(hint, ast.Name) and hint.id in ("float", "int", "bool", "str"):
        return PLAIN
    found = [
        values.of(expression, frame.hop(key.path, key.index, body.at(expression)))
        for expression in body.returns(key.index)[:6]
    ]
    if not found:
        return UNKNOWN
    return join(found)


def _origin(values: Values, node: ast.Call, frame: Frame) -> tuple[tuple[str, int, int], ...]:
    body = values.body(frame.path)
    return ((frame.path, *body.at(node)),) if body is not None else ()


# -- methods -----------------------------------------------------------------------------------------


def _method(values: Values, node: ast.Call, function: ast.Attribute, frame: Frame) -> Value | None:
    base = values.of(function.value, frame)
    name = function.attr
    if base.kind in ("tensor", "batch"):
        return _tensor_method(values, node, base, name, frame)
    if base.kind == "module":
        return _module_method(values, node, base, name, frame)
    if base.kind == "array":
        return PLAIN if name in ("item", "tolist", "sum", "mean", "max", "min", "astype", "save") and name in ("item",) else Value("array", HOST)
    if base.kind == "sequence":
        return _sequence_method(base, name)
    if base.kind == "plain":
        return PLAIN
    if base.kind == "object" and base.thing is not None:
        return _object_method(values, node, base.thing, name, frame)
    if base.kind == "loader":
        return UNKNOWN
    if name in api.TENSOR_MARKS:
        return tensor(ANYWHERE, f"a tensor: `.{name}()` is called on it (line {node.lineno})", Confidence.LIKELY)
    if name in ("to", "cuda") and _MODULE_NAME.search(last_part(chain(function.value))):
        device = DEVICE if name == "cuda" else target_device(values, node, frame) or ANYWHERE
        return Value("module", device, f"`{chain(function.value)}`, a module by its name", Confidence.LIKELY)
    if name == "cuda" and not node.args:
        return tensor(DEVICE, f"moved by `.cuda()` (line {node.lineno})", Confidence.LIKELY)
    if name == "to":
        return _unknown_to(values, node, frame)
    return None




def _unknown_to(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    target = target_device(values, node, frame)
    if target == DEVICE:
        return tensor(DEVICE, f"moved by `.to({ast.unparse(node.args[0])})`" if node.args else "moved by `.to(...)`", Confidence.LIKELY)
    return None


def _tensor_method(values: Values, node: ast.Call, base: Value, name: str, frame: Frame) -> Value:
    if name == "item" or name in api.PLAIN_METHODS:
        return PLAIN
    if name == "tolist":
        return sequence(PLAIN)
    if name in ("numpy", "__array__"):
        return Value("array", HOST)
    if name == "cpu":
        return base.moved(HOST)
    if name == "cuda":
        return base.moved(DEVICE, base.because or "moved by `.cuda()`")
    if name in ("to", "type", "type_as"):
        return _tensor_to(values, node, base, frame)
    if base.kind == "batch" and name in ("items", "values", "keys", "get", "pop"):
        return PLAIN if name == "keys" else sequence(base, (PLAIN, base)) if name == "items" else base
    if name in ("items",):
        return sequence(sequence(base, (PLAIN, base)))
    if name in api.PAIR_METHODS and (node.args or node.keywords):
        return sequence(base, (base, base))
    if name in api.SEQUENCE_METHODS:
        return sequence(base)
    if base.kind == "batch":
        return base
    others = [values.of(argument, frame) for argument in node.args[:2]]
    if base.device == ANYWHERE and any(o.kind == "tensor" and o.device == DEVICE for o in others):
        return base.moved(DEVICE)
    return base


def _tensor_to(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    target = target_device(values, node, frame)
    if target is None:
        return base if base.kind == "tensor" or node.args else base
    because = base.because
    if base.kind == "batch" or not because:
        written = ast.unparse(node.args[0]) if node.args else "..."
        because = f"moved by `.{chain(node.func).rpartition('.')[2]}({written})`"
    return base.moved(target, because)


def target_device(values: Values, node: ast.Call, frame: Frame) -> str | None:
    """Where `.to(...)` or a factory's `device=` puts its result; None when only the dtype changes or unknown."""
    for keyword in node.keywords:
        if keyword.arg == "device":
            return device_of(values, keyword.value, frame)
    if not node.args or not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return None
    first = node.args[0]
    if is_dtype(values, first, frame):
        return None
    found = device_of(values, first, frame)
    if found is not None:
        return found
    other = values.of(first, frame)
    if other.kind != "tensor":
        return None
    return HOST if other.device == HOST else DEVICE


def _module_method(values: Values, node: ast.Call, base: Value, name: str, frame: Frame) -> Value:
    if base.thing is not None and base.thing.kind == "instance":
        key = values.index.method(base.thing, name)
        if key is not None and name not in api.MODULE_SELF_METHODS:
            return returned(values, key, frame)
    if name in api.MODULE_SELF_METHODS:
        if name == "cuda":
            return replace(base, device=DEVICE)
        if name == "to":
            return replace(base, device=target_device(values, node, frame) or base.device)
        return replace(base, device=HOST) if name == "cpu" else base
    parameter = tensor(base.device, "a parameter of a module", base.confidence)
    if name in api.MODULE_PARAMETERS:
        return sequence(parameter)
    if name in api.MODULE_NAMED:
        return sequence(sequence(parameter, (PLAIN, parameter)))
    if name == "forward":
        return module_output(values, node, base, frame)
    if name in ("children", "modules"):
        return sequence(Value("module", base.device))
    if name in ("named_children", "named_modules"):
        return sequence(sequence(Value("module", base.device), (PLAIN, Value("module", base.device))))
    if name == "state_dict":
        return sequence(tensor(ANYWHERE, "an entry of a state dict"))
    return _submodule(values, node, base, frame)


def _submodule(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    """A call of an attribute of a module: most are modules themselves, whoever handed them in."""
    target = values.of(node.func, frame)
    if target.kind == "module":
        return module_output(values, node, target, frame)
    if target.kind == "unknown" and base.thing is not None and base.thing.kind == "instance":
        return _as_a_module_would(values, node, frame)
    return UNKNOWN


def _as_a_module_would(values: Values, node: ast.Call, frame: Frame) -> Value:
    """An unknown callable named like a module and called with a tensor gives a tensor."""
    written = chain(node.func)
    if not _MODULE_NAME.search(last_part(written)):
        return UNKNOWN
    inputs = [values.of(a, frame) for a in [*node.args[:3], *(k.value for k in node.keywords[:3])]]
    if not any(value.kind == "tensor" or (value.kind == "batch" and value.device == DEVICE) for value in inputs):
        return UNKNOWN
    because = f"the output of `{written}(...)`, called with a tensor and a module by its name"
    return module_output(values, node, Value("module", ANYWHERE, "", Confidence.LIKELY), frame).with_reason(because)


def _sequence_method(base: Value, name: str) -> Value:
    item = base.item or UNKNOWN
    if name in ("values", "copy"):
        return sequence(item)
    if name == "items":
        return sequence(sequence(item, (PLAIN, item)))
    if name in ("pop", "get", "popleft", "setdefault"):
        return item
    return PLAIN if name in ("keys", "append", "extend", "index", "count") else UNKNOWN


def _object_method(values: Values, node: ast.Call, thing: Thing, name: str, frame: Frame) -> Value:
    if thing.kind == "instance":
        key = values.index.method(thing, name)
        if key is not None:
            found = returned(values, key, frame)
            if found.kind in ("tensor", "batch") and found.because:
                where = _elsewhere(key.path, frame)
                return replace(found, because=f"what `{chain(node.func)}(...)` returns{where}: {found.because}")
            return found
        target = values.of(node.func, frame)
        if target.kind == "module":
            return module_output(values, node, target, frame)
        return _as_a_module_would(values, node, frame) if target.kind == "unknown" else UNKNOWN
    if thing.dotted.startswith(("torch.cuda.amp.GradScaler()", "torch.amp.GradScaler()")) and name == "scale" and node.args:
        return values.of(node.args[0], frame)
    if thing.dotted.startswith("torch.distributions.") and name in ("sample", "rsample", "log_prob", "entropy"):
        return tensor(ANYWHERE, f"what `{chain(node.func)}(...)` of a distribution gives", Confidence.LIKELY)
    if name in ("gather", "gather_for_metrics", "reduce", "all_gather", "pad_across_processes") and node.args:
        return values.of(node.args[0], frame)
    if name == "prepare" and node.args:
        return sequence(UNKNOWN, tuple(prepared(values.of(a, frame)) for a in node.args))
    return from_thing(values, Thing("external", dotted=f"{thing.dotted}.{name}()"), name)


def prepared(value: Value) -> Value:
    """What `accelerator.prepare` returns: modules on the device, loaders whose batches are there."""
    if value.kind in ("loader", "module"):
        return replace(value, device=DEVICE)
    return value


# -- functions from outside the project ----------------------------------------------------------------


def _external(values: Values, node: ast.Call, dotted: str, frame: Frame) -> Value:
    head, _, rest = dotted.partition(".")
    if head == "torch":
        return _torch(values, node, dotted, rest, frame)
    if head == "builtins":
        return _builtin(values, node, rest, frame)
    if _PROGRESS.search(dotted) and node.args:
        return values.of(node.args[0], frame)
    if dotted == "itertools.islice" and node.args:
        return values.of(node.args[0], frame)
    if head in ("einops", "torchvision") and node.args and rest.partition(".")[0] in ("rearrange", "repeat", "reduce", "ops"):
        return values.of(node.args[0], frame)
    if head == "copy" and node.args:
        return values.of(node.args[0], frame)
    if head in api.ARRAY_MODULES:
        return Value("array", HOST)
    if head in api.PLAIN_MODULES:
        return PLAIN
    return from_thing(values, Thing("external", dotted=dotted + "()"), dotted)


def _torch(values: Values, node: ast.Call, dotted: str, rest: str, frame: Frame) -> Value:
    name = rest.rpartition(".")[2]
    if dotted.startswith(api.TENSOR_NAMESPACES):
        return _computed(values, node, dotted, frame)
    if dotted == "torch.utils.data.DataLoader":
        return Value("loader", HOST, "a DataLoader", origins=_origin(values, node, frame))
    if dotted == "torch.device":
        return Value("torch_device", device_of(values, node, frame) or DEVICE)
    if dotted == "torch.nn.Parameter" and node.args:
        return tensor(ANYWHERE, "an nn.Parameter")
    if dotted.startswith("torch.cuda.") and name in ("FloatTensor", "LongTensor", "HalfTensor", "DoubleTensor"):
        return tensor(DEVICE, f"made on the device by `{dotted}`")
    if name in ("clip_grad_norm_", "clip_grad_norm", "get_total_norm"):
        return tensor(ANYWHERE, f"the norm that `{name}` returns, a tensor")
    if dotted == "torch.load":
        return UNKNOWN
    if "." in rest:
        return from_thing(values, Thing("external", dotted=dotted + "()"), short_name(dotted))
    if rest in api.LIKE_FACTORIES:
        return _like(values, node, rest, frame)
    if rest in api.FACTORIES or rest in api.HOST_DATA or rest in api.LEGACY_TYPES:
        device = target_device(values, node, frame)
        has_device = any(k.arg == "device" or k.arg is None for k in node.keywords)
        where = device or (ANYWHERE if has_device else HOST)
        if rest in ("as_tensor", "asarray") and where == HOST and node.args:
            inner = values.of(node.args[0], frame)
            where = inner.device if inner.kind == "tensor" else HOST
        return tensor(where, f"made by `torch.{rest}`")
    if rest in api.PLAIN_TORCH or rest in api.NOT_FUNCTIONS:
        return PLAIN
    if rest in ("save", "load", "compile"):
        return values.of(node.args[0], frame) if rest == "compile" and node.args else UNKNOWN
    return _computed(values, node, dotted, frame)


def _like(values: Values, node: ast.Call, name: str, frame: Frame) -> Value:
    device = target_device(values, node, frame)
    if device is None and node.args:
        source = values.of(node.args[0], frame)
        device = source.device if source.kind in ("tensor", "batch") else ANYWHERE
    return tensor(device or ANYWHERE, f"made by `torch.{name}`")


def _computed(values: Values, node: ast.Call, dotted: str, frame: Frame) -> Value:
    """A torch function of tensors: a tensor where its inputs are."""
    inputs = [values.of(a, frame) for a in node.args[:3]]
    inputs += [values.of(k.value, frame) for k in node.keywords[:3] if k.arg in ("input", "target", "tensors", "tensor")]
    inputs = [value.item if value.kind == "sequence" and value.item is not None else value for value in inputs]
    if any(value.kind == "array" for value in inputs):
        return UNKNOWN
    tensors = [value for value in inputs if value.kind in ("tensor", "batch")]
    devices = {value.device for value in tensors}
    unknown = any(value.kind == "unknown" for value in inputs)
    device = DEVICE if DEVICE in devices else HOST if devices == {HOST} and not unknown else ANYWHERE
    written = dotted.replace("torch.nn.functional.", "F.")
    because = f"computed by `{written}`"
    basis = next((v.because for v in tensors if v.device == device and v.because), "")
    found = tensor(device, f"{because} from a tensor: {basis}" if basis else because)
    if last_part(dotted) in api.PAIR_METHODS and (len(node.args) > 1 or any(k.arg == "dim" for k in node.keywords)):
        return sequence(found, (found, found))
    if last_part(dotted) in api.SEQUENCE_METHODS:
        return sequence(found)
    return found


# -- builtins ----------------------------------------------------------------------------------------

_BUILTIN_RESULTS = api.PLAIN_BUILTINS | api.PASSING_BUILTINS | {"sum", "max", "min", "abs", "round", "enumerate", "zip", "map", "filter", "getattr", "dict", "pow"}


def _builtin(values: Values, node: ast.Call, name: str, frame: Frame) -> Value:
    arguments = [values.of(argument, frame) for argument in node.args[:4]]
    if name in ("range",):
        return sequence(PLAIN)
    if name in api.PLAIN_BUILTINS:
        return PLAIN
    if not arguments:
        return sequence(UNKNOWN) if name in ("list", "tuple", "set", "dict") else UNKNOWN
    first = arguments[0]
    if name == "next":
        return values.element(first)
    if name in api.PASSING_BUILTINS or name == "filter":
        return arguments[-1] if name == "filter" else first
    if name == "enumerate":
        return sequence(sequence(UNKNOWN, (PLAIN, values.element(first))))
    if name == "zip":
        items = tuple(values.element(argument) for argument in arguments)
        return sequence(sequence(join(items), items))
    if name in ("sum", "max", "min"):
        return values.element(first) if len(arguments) == 1 else join(arguments)
    if name in ("abs", "round", "pow"):
        return first
    return UNKNOWN
