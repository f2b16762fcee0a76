"""Values of methods: torch's own on tensors and modules, the project's on its objects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.devices.devices import target_device
from torchperf_lint.facts.devices.distributions import drawn_on_host, draws_a_share
from torchperf_lint.facts.devices.legacy import of_type
from torchperf_lint.facts.devices.spread_devices import spreads
from torchperf_lint.facts.devices.step_batches import one_tensor, prepared_inputs, shows_a_tensor
from torchperf_lint.facts.outlines.signatures import ACCELERATOR_NAME
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.substituted import entry_by_get
from torchperf_lint.facts.values.called_after_class import method_of_namesake, only_by_name
from torchperf_lint.facts.values.graph_data import graph_data
from torchperf_lint.facts.values.iteration import loader_method, prepared
from torchperf_lint.facts.values.nominal import from_thing
from torchperf_lint.facts.values.results import MODULE_NAME, as_a_module_would, called, module_output
from torchperf_lint.facts.values.stand_ins import of_stand_ins
from torchperf_lint.facts.values.tensor_subclasses import of_subclasses, tells_another_kind
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    is_mapping,
    sequence,
    tensor,
)
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


_MAKES_A_MODULE = pattern(
    r"^_?(?:build|get|make|create|load|init|prepare)_(?:\w+_)?(?:model|network|net|encoder|decoder|backbone|generator|"
    r"discriminator|criterion)$"
)
"""Functions that make a module, by their names."""
_CONVERTS = frozenset({"int", "long", "bool", "double"})
"""Methods that tensors have, and arrays have not."""
_COMPUTES = pattern(
    r"^(?:forward\w*|encode(?:_\w+)?|embed(?:_\w+)?|extract_\w*(?:features?|embeddings?)|get_\w*(?:features?|embeddings?|logits)"
    r"|features?|log_prob|loss|compute_\w*loss|generate)$"
)
"""What methods are called that compute with what they are given."""
_KEEPS = pattern(
    r"^_?(?:set|add|register|load|save|log|update|apply|init|reset|print|freeze|push|enqueue|write)(?:_|$)"
)
"""What methods are called that keep what they are given, or show it."""
_OPTIMIZER = pattern(r"(?:^|[._])(?:optim(?:izer)?s?|opt)\d*$")
_REDUCTIONS = frozenset("sum max min mean argmax argmin argsort cumsum prod round floor ceil std var".split())


def value_of_method(values: Values, node: ast.Call, function: ast.Attribute, frame: Frame) -> Value | None:
    """The value of a call of a method; None when nothing is known of the object."""
    base = values.of(function.value, frame)
    name = function.attr
    handed_back = prepared(values, node, frame)
    if handed_back is not None:
        return handed_back
    inputs = prepared_inputs(values, base, name)
    if inputs is not None:
        return inputs
    of_graph = graph_data(values.index.outlines[frame.path], node, base)
    if of_graph is not None:
        return of_graph
    if base.kind in ("tensor", "batch"):
        base = one_tensor(base) if shows_a_tensor(name) else base
        own = of_subclasses(values.index, name) if base.kind == "tensor" else None
        found = called(values, node, own, frame) if own is not None else UNKNOWN
        return found if tells_another_kind(found) else _tensor_method(values, node, base, name, frame)
    if base.kind == "module":
        return _module_method(values, node, base, name, frame)
    if base.kind == "array":
        return PLAIN if name == "item" else Value("array", HOST)
    entry = entry_by_get(node) if is_mapping(base) else None
    if entry is not None:
        return values.of(entry, frame)
    if base.kind == "sequence":
        # An entry that was set anew, `tokens["ids"] = torch.stack(tokens["ids"])`, no longer is the list it was.
        return _of_unknown(values, node, function, frame) if name in api.TENSOR_MARKS else _sequence_method(base, name)
    if base.kind == "plain":
        return PLAIN
    if base.kind == "object" and base.thing is not None:
        return _object_method(values, node, base.thing, name, frame)
    if base.kind == "loader":
        return loader_method(values, base, name, frame)
    return _of_unknown(values, node, function, frame)


_GATHERS = frozenset("gather gather_for_metrics reduce all_gather pad_across_processes".split())
"""What accelerate and Fabric call operations that give back what they are given, of all processes."""


def _of_unknown(values: Values, node: ast.Call, function: ast.Attribute, frame: Frame) -> Value | None:
    """What a method shows about the unknown object it is called on."""
    name, written = function.attr, chain(function.value)
    if name in _GATHERS and node.args and ACCELERATOR_NAME.search(written):
        given = values.of(node.args[0], frame)
        because = f"`{written}.{name}(...)` gathers it from all processes (line {node.lineno})"
        if given.kind == "sequence" and not isinstance(node.args[0], ast.Call):
            return given
        # What processes exchange is on the device, wherever the batch was made.
        known = given.kind == "tensor" and given.device != HOST and given.confidence is not Confidence.POSSIBLE
        return given if known else tensor(ANYWHERE, because, Confidence.LIKELY)
    if name == "numpy" and not node.args:
        return Value("array", HOST)  # whoever has such a method, arrays are on the host
    if name in api.TENSOR_MARKS:
        return tensor(ANYWHERE, f"a tensor: `.{name}()` is called on it (line {node.lineno})", Confidence.LIKELY)
    told = _told_by_name(values, node, function, frame)
    if told is not None:
        return told
    if name in _CONVERTS and isinstance(function.value, ast.Subscript) and _takes_a_range(function.value):
        because = f"a tensor: `.{name}()` converts a part of it (line {node.lineno})"
        return tensor(ANYWHERE, because, Confidence.LIKELY)
    if name in _CONVERTS and _reduced(function.value):
        because = f"a tensor: `.{name}()` converts what a reduction gives (line {node.lineno})"
        return tensor(ANYWHERE, because, Confidence.LIKELY)
    if name not in ("to", "cuda", "cpu"):
        if name == "forward" and written == "super()" and values.thing(function, frame) is None:
            return tensor(ANYWHERE, "what `super().forward(...)` of a library's module gives", Confidence.LIKELY)
        found = _computed_by(values, node, UNKNOWN, frame)
        return found if found.kind != "unknown" else None
    return _moved(values, node, function, frame)


def _moved(values: Values, node: ast.Call, function: ast.Attribute, frame: Frame) -> Value | None:
    """What is moved: a module by its name, or by that of what makes it, else a tensor where that is on a device."""
    name, written = function.attr, chain(function.value)
    device = {"cuda": DEVICE, "cpu": HOST}.get(name) or target_device(values, node, frame)
    if MODULE_NAME.search(last_part(written)):
        return Value("module", device or ANYWHERE, f"`{written}`, a module by its name", Confidence.LIKELY)
    if isinstance(function.value, ast.Call) and _MAKES_A_MODULE.match(last_part(chain(function.value.func))):
        because = f"what `{chain(function.value.func)}(...)` makes, a module by its name"
        return Value("module", device or ANYWHERE, because, Confidence.LIKELY)
    if device is None or device == ANYWHERE:
        return None
    argument = ast.unparse(node.args[0]) if node.args else ""
    return tensor(device, f"moved by `.{name}({argument})` (line {node.lineno})", Confidence.LIKELY)


def _told_by_name(values: Values, node: ast.Call, function: ast.Attribute, frame: Frame) -> Value | None:
    """What a method gives that only one class of the project, or only distributions have."""
    namesake = method_of_namesake(values, function.value, function.attr)
    if namesake is not None:
        return only_by_name(called(values, node, namesake, frame))
    if function.attr != "rsample" and not (function.attr == "log_prob" and _is_given_a_tensor(values, node, frame)):
        return None
    because = f"what `{chain(function)}(...)` of a distribution gives (line {node.lineno})"
    return tensor(ANYWHERE, because, Confidence.LIKELY)


def _is_given_a_tensor(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether the probability of a tensor is asked for: of numbers, and of arrays, other libraries tell it as well."""
    given = values.of(node.args[0], frame) if len(node.args) == 1 else UNKNOWN
    return given.kind == "tensor" and given.device != HOST


def _reduced(node: ast.expr) -> bool:
    """`x.sum(1)`, `x.max(-1)[0]`, `x.argmax(dim=1)`: what arrays give as well, and of those nobody asks `.int()`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS


def _takes_a_range(node: ast.Subscript) -> bool:
    """`x[:n]`, `x[:, 0]`: what arrays and tensors are asked for, and modules hardly ever."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) for part in parts)


def _tensor_method(values: Values, node: ast.Call, base: Value, name: str, frame: Frame) -> Value:
    if name == "item" or name in api.PLAIN_METHODS:
        return PLAIN
    if name in ("tolist", "numpy", "__array__"):
        return sequence(PLAIN) if name == "tolist" else Value("array", HOST)
    if name in ("cpu", "cuda"):
        return base.moved(HOST) if name == "cpu" else base.moved(DEVICE, base.because or "moved by `.cuda()`")
    if name == "to":
        return _tensor_to(values, node, base, frame)
    if name in ("type", "type_as"):
        return of_type(values, node, base, frame) if node.args or node.keywords else PLAIN
    if name.startswith("new_") and any(k.arg == "device" for k in node.keywords):
        return base.moved(target_device(values, node, frame) or ANYWHERE)
    if name in ("items", "keys", "values", "get", "pop"):
        return _of_a_record(base._replace(levels=0) if base.levels else base, name)
    if name in api.PAIR_METHODS and (node.args or node.keywords) and not _of_two(values, node, name, frame):
        return sequence(base, (base, base))
    if name in api.SEQUENCE_METHODS:
        return sequence(base)
    return base if base.kind == "batch" else _beside_others(values, node, base, frame)


def _of_two(values: Values, node: ast.Call, name: str, frame: Frame) -> bool:
    """`x.max(y)` of two tensors is one tensor; `x.max(1)` and `x.max(dim)` are the values and where they were."""
    return name in ("max", "min") and bool(node.args) and values.of(node.args[0], frame).kind == "tensor"


def _of_a_record(base: Value, name: str) -> Value:
    """A batch, or what a model returns, may be a dict of tensors."""
    if name == "items":
        return sequence(sequence(base, (PLAIN, base)))
    if name == "values":
        return sequence(base)
    return sequence(PLAIN) if name == "keys" else base


def _beside_others(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    """A tensor that is combined with one on the device is there too."""
    others = [values.of(argument, frame) for argument in node.args[:2]]
    if base.device == ANYWHERE and any(o.kind == "tensor" and o.device == DEVICE for o in others):
        return base.moved(DEVICE)
    return base


def _tensor_to(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    target = target_device(values, node, frame)
    if target is None:
        return base.moved(ANYWHERE) if base.device == HOST and spreads(node) else base
    because = base.because
    if base.kind == "batch" or not because:
        written = ast.unparse(node.args[0]) if node.args else "..."
        because = f"moved by `.{chain(node.func).rpartition('.')[2]}({written})`"
    return base.moved(target, because)


def _module_method(values: Values, node: ast.Call, base: Value, name: str, frame: Frame) -> Value:
    if base.thing is not None and base.thing.kind == "instance":
        key = values.index.method(base.thing, name)
        if key is not None and name not in api.MODULE_SELF_METHODS:
            return _of_own(values, node, key, base.thing, frame)
        left_open = of_stand_ins(values, node, base.thing, name, frame) if key is None else UNKNOWN
        if left_open.kind != "unknown":
            return left_open
    if name in api.MODULE_SELF_METHODS:
        return _moved_module(values, node, base, name, frame)
    if name == "forward":
        return module_output(values, node, base, frame)
    if name == "state_dict" and _OPTIMIZER.search(chain(node.func).removesuffix(".state_dict")):
        return UNKNOWN  # whatever a registry makes: learning rates are there, too, which are numbers of the host
    part = _part_of_module(base, name)
    if part is None:
        return _submodule(values, node, base, frame)
    return sequence(sequence(part, (PLAIN, part))) if name.startswith(("named_", "items")) else sequence(part)


def _of_own(values: Values, node: ast.Call, key: FunctionKey, thing: Thing, frame: Frame) -> Value:
    """What a method of the project gives; what only raises gives what those do that stand in for it."""
    found = called(values, node, key, frame)
    if found.kind not in ("unknown", "nothing"):
        return found
    left_open = of_stand_ins(values, node, thing, values.index.function(key).name, frame)
    return left_open if left_open.kind != "unknown" else found


def _moved_module(values: Values, node: ast.Call, base: Value, name: str, frame: Frame) -> Value:
    if name == "to":
        return base._replace(device=target_device(values, node, frame) or base.device)
    return base._replace(device={"cuda": DEVICE, "cpu": HOST}.get(name, base.device))


def _part_of_module(base: Value, name: str) -> Value | None:
    """What iterating `.parameters()`, `.modules()` and their like gives."""
    if name in api.MODULE_PARAMETERS or name in api.MODULE_NAMED:
        return tensor(base.device, "a parameter of a module", base.confidence)
    if name in ("children", "modules", "named_children", "named_modules") or _of_module_dict(base, name):
        return Value("module", base.device)
    return tensor(ANYWHERE, "an entry of a state dict") if name == "state_dict" else None


def _of_module_dict(base: Value, name: str) -> bool:
    dotted = base.thing.dotted if base.thing is not None else ""
    return name in ("values", "items") and dotted == "torch.nn.ModuleDict()"


def _submodule(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    """A call of an attribute of a module: most are modules themselves, whoever handed them in."""
    target = values.of(node.func, frame)
    if target.kind in ("unknown", "nothing"):
        of_class = from_thing(values, values.thing(node.func, frame), chain(node.func))
        target = of_class if of_class.kind == "module" else target  # what it is, its class says, wherever it comes from
    if target.kind == "module":
        return module_output(values, node, target, frame)
    if target.kind == "unknown" and base.thing is not None and base.thing.kind == "instance":
        return as_a_module_would(values, node, frame)
    return _computed_by(values, node, base, frame) if target.kind == "unknown" else UNKNOWN


def _computed_by(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    """What a method of a model gives that is given a tensor: `net.forward_features(x)`, `vae.encode(image)`.

    Of an object of which nothing is known the name of the method has to say so, and the tensor has to be on the device.
    """
    name = last_part(chain(node.func))
    if _KEEPS.match(name) or not (base.kind == "module" or _COMPUTES.match(name)):
        return UNKNOWN
    inputs = [values.of(argument, frame) for argument in node.args[:3]]
    inputs += [_by_keyword(values, keyword, frame) for keyword in node.keywords[:3]]
    given = [v for v in inputs if v.kind == "tensor" and (base.kind == "module" or v.device == DEVICE)]
    if not given:
        return UNKNOWN
    because = (
        f"computed by `{chain(node.func)}(...)` from a tensor: {given[0].because.rpartition(' from a tensor: ')[2]}"
    )
    on_device = base.device == DEVICE or any(value.device == DEVICE for value in given)
    return tensor(DEVICE if on_device else ANYWHERE, because, Confidence.LIKELY)


def _by_keyword(values: Values, keyword: ast.keyword, frame: Frame) -> Value:
    """What a keyword is given; of a dict that is spread over several, `**inputs`, what each gets."""
    given = values.of(keyword.value, frame)
    return given.item or UNKNOWN if keyword.arg is None and given.kind == "sequence" else given


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
            return _of_own(values, node, key, thing, frame)
        left_open = of_stand_ins(values, node, thing, name, frame)
        if left_open.kind != "unknown":
            return left_open
        target = values.of(node.func, frame)
        if target.kind == "module":
            return module_output(values, node, target, frame)
        return as_a_module_would(values, node, frame) if target.kind == "unknown" else UNKNOWN
    if (
        thing.dotted.startswith(("torch.cuda.amp.GradScaler()", "torch.amp.GradScaler()"))
        and name == "scale"
        and node.args
    ):
        return values.of(node.args[0], frame)
    if thing.dotted.startswith("torch.distributions.") and name in ("sample", "rsample", "log_prob", "entropy"):
        place = HOST if drawn_on_host(values, node, frame) is not None else ANYWHERE
        sure = Confidence.POSSIBLE if draws_a_share(values, node, frame) else Confidence.LIKELY
        return tensor(place, f"what `{chain(node.func)}(...)` of a distribution gives", sure)
    if name in _GATHERS and node.args:
        return values.of(node.args[0], frame)
    return from_thing(values, Thing("external", dotted=f"{thing.dotted}.{name}()"), name)
