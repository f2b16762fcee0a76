"""Values of variables, parameters and attributes: what assignments, annotations, callers and uses show."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.bodies import Body, Definition
from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.outline import Function, Parameter
from torchperf_lint.facts.index import FunctionKey, Thing
from torchperf_lint.facts.loops import LOADER_NAME
from torchperf_lint.facts.types import is_module_name
from torchperf_lint.facts.value import ANYWHERE, DEVICE, HOST, NOTHING, PLAIN, UNKNOWN, Frame, Value, join, sequence, tensor, unpacked
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

MAX_CALLERS = 12
"""Call sites looked at for what a parameter receives."""
_TENSOR_CLASSES = frozenset(
    "torch.Tensor torch.FloatTensor torch.LongTensor torch.BoolTensor torch.IntTensor torch.nn.Parameter "
    "torch.cuda.FloatTensor torch.HalfTensor torch.ByteTensor torch.nn.parameter.Parameter".split()
)
_ARRAY_CLASSES = re.compile(r"^(?:numpy|pandas|PIL)\.|ndarray$|NDArray$|ArrayLike$")
_PLAIN_CLASSES = re.compile(r"^builtins\.(?:int|float|bool|str|bytes|list|dict|tuple|set)\b|^torch\.(?:Size|dtype)$")
_SEQUENCE_OF_TENSORS = re.compile(r"(?:List|list|Tuple|tuple|Sequence|Iterable|Dict|dict|Mapping)\[(?:str,\s*)?(?:torch\.)?Tensor")


def value_of_name(values: Values, name: str, frame: Frame) -> Value:
    """The value of a variable at a place."""
    path, scope = frame.path, frame.function
    body = values.body(path)
    if body is None:
        return UNKNOWN
    at = frame.at
    functions = values.index.outlines[path].functions
    while scope >= 0:
        reaching = body.reaching(scope, name, at)
        if reaching is not None:
            return _from_definitions(values, name, reaching, frame._replace(function=scope, at=at), body)
        if any(parameter.name == name for parameter in functions[scope].parameters):
            return _from_parameter(values, name, frame._replace(function=scope), body)
        # An enclosing function has run to its end, as far as anyone knows, when an inner one runs.
        at = (functions[scope].end_line + 1, 1) if functions[scope].parent <= 0 else at
        at = (10**9, 1)
        scope = functions[scope].parent
    return from_thing(values, values.types.thing(path, frame.function, name), name)


def _from_definitions(
    values: Values, name: str, reaching: Sequence[Definition], frame: Frame, body: Body
) -> Value:
    functions = values.index.outlines[frame.path].functions
    found = [_definition(values, name, d, frame, body) for d in reaching]
    is_parameter = any(parameter.name == name for parameter in functions[frame.function].parameters)
    at_start = not reaching or all(d.block or d.how == "augmented" for d in reaching)
    if is_parameter and at_start:
        found.insert(0, _from_parameter(values, name, frame, body))
    value = join(found)
    if value.kind == "tensor" and value.confidence is not Confidence.CERTAIN:
        used = _used_as_module(name, frame, body)
        value = used if used is not None else value
    if value.kind == "unknown":
        return _from_uses(values, name, frame, body) if reaching or is_parameter else UNKNOWN
    return value


def _definition(values: Values, name: str, d: Definition, frame: Frame, body: Body) -> Value:
    if d.value is None or d.how == "other":
        return UNKNOWN
    key = (frame.path, frame.function, name, d.at, d.how)
    return values.remembered(key, frame, lambda: _bound(values, name, d, frame, body))


def _bound(values: Values, name: str, d: Definition, frame: Frame, body: Body) -> Value:
    assert d.value is not None
    place = body.at(d.value)
    place = place if d.how != "augmented" else d.at
    value = values.of(d.value, frame.hop(frame.path, frame.function, place))
    if d.how == "assign" and _is_empty_container(value, d.value):
        value = _filled(values, name, frame, body)
    if d.how == "loop":
        value = values.element(value, d.index)
    elif d.how == "item":
        value = unpacked(value, d.index)
    elif d.how == "with" and value.kind not in ("tensor", "batch"):
        return UNKNOWN
    if value.kind in ("tensor", "batch", "module") and value.because:
        return replace(value, because=told(name, value.because, d.at[0]))
    return value


def _is_empty_container(value: Value, node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Dict):
        return not (node.elts if isinstance(node, ast.List) else node.values)
    callee = chain(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return callee in ("dict", "list", "OrderedDict", "defaultdict", "deque") and value.kind in ("sequence", "unknown", "plain", "object")


def _filled(values: Values, name: str, frame: Frame, body: Body) -> Value:
    """A container that starts empty holds what the function puts into it."""
    stored = body.stored_items(frame.function, name)[:8]
    items = [values.of(node, frame._replace(at=body.at(node))) for node in stored]
    return sequence(join(items) if items else UNKNOWN)


def told(name: str, because: str, line: int) -> str:
    """`because` with the name and line it holds for; the innermost telling is kept."""
    return because if because.startswith("`") and " (line " in because else f"`{name}` (line {line}) is {because}"


# -- parameters ------------------------------------------------------------------------------------


def _from_parameter(values: Values, name: str, frame: Frame, body: Body) -> Value:
    key = ("parameter", frame.path, frame.function, name)
    return values.remembered(key, frame, lambda: _parameter(values, name, frame, body))


def _parameter(values: Values, name: str, frame: Frame, body: Body) -> Value:
    function = values.index.outlines[frame.path].functions[frame.function]
    parameter = next(p for p in function.parameters if p.name == name)
    if function.class_index >= 0 and parameter is function.parameters[0] and "staticmethod" not in function.decorators:
        return from_thing(values, Thing("instance", frame.path, function.class_index), name)
    value = from_annotation(values, parameter.annotation, frame, name, function.header_line)
    if value.kind == "tensor" or (value.kind == "unknown" and not parameter.annotation):
        told_by_role = _by_role(values, function, parameter, frame)
        if told_by_role is not None:
            return told_by_role
    if value.kind != "unknown" and value.kind != "tensor":
        return value
    passed = _from_callers(values, function, parameter, frame)
    if passed.kind not in ("unknown", "nothing"):
        return passed
    if value.kind == "tensor":
        return value
    if _plain_default(body, frame.function, name):
        return PLAIN
    return _from_uses(values, name, frame, body)


def _by_role(values: Values, function: Function, parameter: Parameter, frame: Frame) -> Value | None:
    """The batch that Lightning hands to `training_step` is on the device already."""
    hot = values.hotness.functions.get(FunctionKey(frame.path, frame.function))
    if hot is None or hot.depth or function.class_index < 0 or parameter.name != "batch":
        return None
    if function.name in ("training_step", "validation_step", "test_step", "predict_step"):
        return Value("batch", DEVICE, "the batch, which the framework has moved to the device")
    return None


def from_annotation(values: Values, annotation: str, frame: Frame, name: str, line: int) -> Value:
    """The value that an annotation promises."""
    if not annotation:
        return UNKNOWN
    if _SEQUENCE_OF_TENSORS.search(annotation):
        return sequence(tensor(ANYWHERE, f"`{name}` is annotated `{annotation}` (line {line})"))
    things = values.types.things(frame.path, 0, annotation)
    thing = things[0] if things else None
    if thing is None:
        return PLAIN if annotation in ("int", "float", "bool", "str") else UNKNOWN
    if thing.kind == "external":
        if thing.dotted in _TENSOR_CLASSES:
            return tensor(ANYWHERE, f"`{name}` is annotated `{annotation}` (line {line})")
        if _ARRAY_CLASSES.search(thing.dotted):
            return Value("array", HOST)
        if _PLAIN_CLASSES.search(thing.dotted):
            return PLAIN if "list" not in thing.dotted and "dict" not in thing.dotted else UNKNOWN
        if thing.dotted == "torch.device":
            return Value("torch_device", DEVICE)
        promised = from_thing(values, thing._replace(dotted=thing.dotted + "()"), name)
    elif thing.kind == "class":
        promised = from_thing(values, Thing("instance", thing.path, thing.index), name)
    else:
        return UNKNOWN
    return replace(promised, because=f"`{name}` is annotated `{annotation}` (line {line})") if promised.because else promised


def _from_callers(values: Values, function: Function, parameter: Parameter, frame: Frame) -> Value:
    key = FunctionKey(frame.path, frame.function)
    sites = values.hotness.callers.get(key, ())
    if not sites:
        return UNKNOWN
    position = [p.name for p in function.parameters].index(parameter.name)
    if function.class_index >= 0 and "staticmethod" not in function.decorators:
        position -= 1
    found = []
    for site in sites[:MAX_CALLERS]:
        value = _passed(values, site.path, site.call, position, parameter, frame)
        if value is not None:
            found.append(value)
    if not found or len(sites) > MAX_CALLERS:
        return join(found).weaker(Confidence.LIKELY) if found else UNKNOWN
    return join(found)


def _passed(values, path, call, position, parameter, frame):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    body = values.body(path)
    node = body.call(call.function, call.line, call.column, call.callee) if body is not None else None
    if node is None:
        return UNKNOWN
    argument = argument_of(node, position, parameter.name)
    if argument is None:
        return None if parameter.default and not any(k.arg is None for k in node.keywords) else UNKNOWN
    value = values.of(argument, frame.hop(path, call.function, (call.line, call.column)))
    if value.kind in ("tensor", "batch") and value.because:
        return replace(value, because=f"passed by the call at {path}:{call.line}: {value.because}")
    return value


def argument_of(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """The argument that a call passes for a parameter, or None when it cannot be told."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    if any(isinstance(a, ast.Starred) for a in node.args[: position + 1]):
        return None
    return node.args[position] if 0 <= position < len(node.args) else None


def _plain_default(body: Body, function: int, name: str) -> bool:
    node = body.functions.get(function)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = [*zip(reversed(plain), reversed(node.args.defaults), strict=False),
             *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    for argument, default in pairs:
        if argument.arg == name:
            return isinstance(default, ast.Constant) and default.value is not None
    return False


# -- uses ------------------------------------------------------------------------------------------


def _used_as_module(name: str, frame: Frame, body: Body) -> Value | None:
    for attribute, line in body.uses(frame.function, name):
        if attribute in api.MODULE_USES:
            because = f"`{name}` is used as a module: `{name}.{attribute}` (line {line})"
            return Value("module", ANYWHERE, because, Confidence.LIKELY)
    return None


def _from_uses(values: Values, name: str, frame: Frame, body: Body) -> Value:
    """What a name must be, from the attributes that the function asks of it."""
    used = _used_as_module(name, frame, body)
    if used is not None:
        return used
    uses = body.uses(frame.function, name)
    for attribute, line in uses:
        if attribute == "backward":
            return tensor(ANYWHERE, f"`{name}` has gradients: `{name}.backward()` (line {line})")
    line = body.backward_operands(frame.function).get(name)
    if line is not None:
        return tensor(ANYWHERE, f"`{name}` is part of what `backward` runs on (line {line})")
    for attribute, line in uses:
        if attribute in api.TENSOR_ONLY_METHODS:
            because = f"`{name}` is used as a tensor: `{name}.{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    for attribute, line in body.uses(frame.function, f"{name}.cpu()"):
        if attribute in ("numpy", *api.TENSOR_MARKS):
            because = f"`{name}` is used as a tensor: `{name}.cpu().{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    for callee, line in body.passed_to(frame.function, name):
        thing = values.types.thing(frame.path, frame.function, callee) if callee.startswith("self.") else None
        if thing is not None and from_thing(values, thing, callee).kind == "module":
            because = f"`{name}` is handed to the module `{callee}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    iterated = any(r.iterable == name for r in values.index.outlines[frame.path].regions if r.kind == "loop")
    if LOADER_NAME.search(name) and (iterated or name in body.iterators(frame.function)):
        return Value("loader", HOST, "a DataLoader, by its name and use", Confidence.LIKELY)
    return UNKNOWN


# -- attributes ------------------------------------------------------------------------------------


def value_of_attribute(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """`base.name`: of tensors and modules by torch's own tables, of objects by their class."""
    base = values.of(node.value, frame)
    name = node.attr
    if base.kind in ("tensor", "batch"):
        return _of_tensor(base, name)
    if base.kind == "module":
        found = _of_object(values, base, name, frame) if base.thing is not None else UNKNOWN
        if found.kind != "unknown":
            return found
        if name in ("weight", "bias") or base.thing is None:
            return _of_unknown_module(base, name)
        return UNKNOWN
    if base.kind == "object" and base.thing is not None:
        found = _of_object(values, base, name, frame)
        return found if found.kind != "unknown" else value_by_uses(values, node, frame)
    if base.kind == "array":
        return PLAIN if name in ("shape", "ndim", "size", "dtype") else base
    if base.kind == "plain":
        return PLAIN
    if base.kind == "unknown":
        found = from_thing(values, values.types.thing(frame.path, frame.function, chain(node)), chain(node))
        return found if found.kind != "unknown" else value_by_uses(values, node, frame)
    return UNKNOWN


def _of_tensor(base: Value, name: str) -> Value:
    if name in api.PLAIN_ATTRIBUTES:
        return PLAIN
    if name == "device":
        return Value("torch_device", base.device if base.kind == "tensor" else HOST)
    if name == "dtype":
        return Value("dtype", HOST)
    # `T`, `data`, `grad`; and `outputs.loss`: what a model returns may be a record of tensors.
    return base


def _of_unknown_module(base: Value, name: str) -> Value:
    if name in ("weight", "bias"):
        return tensor(base.device, f"the `{name}` of a module", base.confidence)
    if name == "module":
        return base
    if name == "device":
        return Value("torch_device", DEVICE)
    return UNKNOWN


def _of_object(values: Values, base: Value, name: str, frame: Frame) -> Value:
    assert base.thing is not None
    key = ("attribute", base.thing, name)
    return values.remembered(key, frame, lambda: _assigned_attribute(values, base, name, frame))


def _assigned_attribute(values: Values, base: Value, name: str, frame: Frame) -> Value:
    thing = base.thing
    assert thing is not None
    if thing.kind == "external":
        return from_thing(values, Thing("external", dotted=f"{thing.dotted}.{name}"), name)
    found: list[Value] = []
    for cls in values.index.ancestry(thing):
        if cls.kind != "class":
            continue
        found += [_self_definition(values, cls, setter, name, frame) for setter in _setters(values, cls, name)]
        if found:
            break
    if not found:
        things = values.types.attribute(thing, name, 0)
        return from_thing(values, things[0] if things else None, name)
    return join(found)


def _setters(values: Values, cls: Thing, name: str) -> list[tuple[int, ast.expr, bool]]:
    """(method, assigned expression, whether it is a buffer) for each `self.name = ...` in one class."""
    body = values.body(cls.path)
    if body is None:
        return []
    found: list[tuple[int, ast.expr, bool]] = []
    record = values.index.record(cls)
    for index in record.methods.values():
        found += [(index, value, buffer) for attr, value, buffer in body.self_assignments(index) if attr == name]
    return found[:6]


def _self_definition(
    values: Values, cls: Thing, setter: tuple[int, ast.expr, bool], name: str, frame: Frame
) -> Value:
    function, expression, buffer = setter
    body = values.body(cls.path)
    assert body is not None
    value = values.of(expression, frame.hop(cls.path, function, body.at(expression)))
    if buffer:
        return tensor(ANYWHERE, f"the buffer `{name}` of a module (line {expression.lineno})")
    if value.kind in ("tensor", "batch", "module") and value.because:
        return replace(value, because=told(f"self.{name}", value.because, expression.lineno))
    return value


def value_by_uses(values: Values, node: ast.expr, frame: Frame) -> Value:
    """What an item or attribute of something unknown must be, from what the function asks of it."""
    body = values.body(frame.path)
    written = chain(node)
    return UNKNOWN if body is None or "?" in written else _from_uses(values, written, frame, body)


# -- things ----------------------------------------------------------------------------------------


def from_thing(values: Values, thing: Thing | None, name: str) -> Value:
    """The value that a nominal type stands for."""
    if thing is None:
        return UNKNOWN
    if thing.kind == "instance":
        if values.hotness.loops.is_loader(thing):
            return Value("loader", HOST, "a DataLoader", thing=thing)
        if values.types.is_module_class(thing):
            cls = values.index.record(thing).name
            return Value("module", ANYWHERE, f"a `{cls}`, an nn.Module", thing=thing)
        return Value("object", HOST, thing=thing)
    if thing.kind != "external":
        return UNKNOWN
    return _from_external(values, thing, name)


def _from_external(values: Values, thing: Thing, name: str) -> Value:
    dotted = thing.dotted
    if dotted.endswith("()"):
        if values.hotness.loops.is_loader(thing):
            return Value("loader", HOST, "a DataLoader")
        if is_module_name(dotted[:-2]):
            return Value("module", ANYWHERE, f"an `{short_name(dotted[:-2])}`", thing=thing)
        if dotted.startswith("torch.optim."):
            return Value("optimizer", HOST, thing=thing)
        if dotted == "torch.device()":
            return Value("torch_device", DEVICE)
    if dotted.endswith(".device") and "()" in dotted:
        return Value("torch_device", DEVICE)
    head = dotted.partition(".")[0]
    if head in api.ARRAY_MODULES and "()" in dotted:
        return Value("array", HOST)
    if head in api.PLAIN_MODULES or head == "builtins":
        return PLAIN if "()" in dotted or head == "math" else UNKNOWN
    # Of what methods of foreign objects return, nothing is known.
    return Value("object", HOST, thing=thing) if dotted.endswith("()") and dotted.count("()") == 1 else UNKNOWN


def short_name(dotted: str) -> str:
    """`nn.Linear` for `torch.nn.Linear`."""
    return "nn." + dotted.rpartition(".")[2] if dotted.startswith("torch.nn.") else dotted


def nothing_known() -> Value:
    """The bottom of the lattice."""
    return NOTHING
