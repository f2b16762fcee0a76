"""Where a tensor on the host comes from, and what uploads the same numbers again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.constants.class_body import assigned_in_class
from torchperf_lint.facts.constants.configured import CONFIGURED
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.drawn_arrays import bound_for_this, drawn_array
from torchperf_lint.facts.constants.filled_arrays import is_filled_array
from torchperf_lint.facts.constants.generated_numbers import is_counted
from torchperf_lint.facts.constants.held import held_since_construction
from torchperf_lint.facts.constants.held_arrays import held_array
from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.constants.multiplied_lists import repeats_one_number, repeats_one_tensor
from torchperf_lint.facts.constants.table_entries import is_entry
from torchperf_lint.facts.constants.tested_numbers import tested_number
from torchperf_lint.facts.constants.triangles import is_triangle
from torchperf_lint.facts.copies.fresh import made_of_sizes
from torchperf_lint.facts.copies.own_factories import torch_name
from torchperf_lint.facts.copies.written_into import is_cut
from torchperf_lint.facts.devices.defaults import TENSOR_TYPE, default_device, device_by_default
from torchperf_lint.facts.devices.devices import destination, is_cuda_type, target_device
from torchperf_lint.facts.devices.given_on_host import given_on_host
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword, unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_MAKERS = api.HOST_DATA | api.FACTORIES | api.LEGACY_TYPES
_LISTS = pattern(r"(?:_ids|_list|_mask|values|weights|_types?_mask|means|stds|sizes|scales|sigmas|anchors|indices)$")
"""Names of what holds several numbers: `torch.Tensor(n)` of one is of that size."""
_MAX_STEPS = 12
REPEATED = "repeated"
"""One number, repeated: a factory makes that on the device."""
COUNTED = "counted"
"""Numbers in a row, or an identity: there is a factory for that, too."""
TRIANGLE = "triangle"
"""A triangle of ones, as causal masks are: factories and `tril` make that on the device."""
DRAWN = "drawn"
"""Random numbers: the device has a generator."""
NUMBER = "number"
"""One number that the host has, whether it changes or not: a factory fills it in on the device."""
ENTRY = "entry"
"""An entry of a table that a module keeps on the host."""
READ_BACK = "read back"
"""A tensor of the device, repeated: read from there once for each element, then uploaded."""


_ONE_NUMBER = frozenset(
    "int float bool len round abs max min sum pow prod sqrt exp log log2 log10 ceil floor cos sin tan numel size item "
    "random uniform gauss randint randrange choice".split()
)
"""Functions of Python, `math` and `random` that give one number."""


_SURELY_NUMBERS = frozenset({"int", "float", "bool", "len", "item", "numel"})
"""Of those, the ones that give no tensor whatever they are given."""


_OF_DATA = frozenset({"tensor", "as_tensor", "asarray", "Tensor"})
"""What makes a tensor of numbers where the default says; `Tensor` where that is a type."""


class Made(NamedTuple):
    """The call that made a tensor in pageable host memory."""

    call: ast.Call
    factory: str
    """Its name in `torch`."""
    function: int
    """The function of the file that the call stands in."""


class Upload(NamedTuple):
    """Numbers that are copied to the device, though they are the same as at the last step."""

    made: ast.Call
    factory: str
    """As written: `torch.tensor`, `x.new_tensor`."""
    kind: str
    """LITERAL, CONFIGURED, SHAPE, GIVEN, REPEATED, TRIANGLE, COUNTED, DRAWN, NUMBER, ENTRY or READ_BACK."""
    scalar: bool
    device: str
    """The device as written; empty for `x.new_tensor`."""
    path: str = ""
    """The file that `made` stands in, where that is another."""


def made_on_host(values: Values, node: ast.expr, frame: Frame) -> Made | None:
    """The factory at the bottom of a chain of methods and names that ends in pageable host memory."""
    for _ in range(_MAX_STEPS):
        if isinstance(node, ast.Name):
            step = _definition(values, node.id, frame)
            if step is None:
                return None
            node, frame = step
        elif isinstance(node, ast.Subscript) or _is_viewed(node):
            node = node.value
        elif isinstance(node, ast.Call):
            factory = _maker(values, node, frame)
            if factory is not None:
                return Made(node, factory, frame.function)
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in api.DERIVING | {"cpu"}:
                return None
            if node.func.attr == "to" and target_device(values, node, frame) is not None:
                return None
            node = node.func.value
        else:
            return None
    return None


def _definition(values: Values, name: str, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """The only value a name can have, with where it was written; enclosing scopes too."""
    body = values.body(frame.path)
    functions = values.index.outlines[frame.path].functions
    scope, at = frame.function, frame.at
    while body is not None and scope >= 0:
        reaching = body.reaching(scope, name, at)
        is_parameter = any(parameter.name == name for parameter in functions[scope].parameters)
        if reaching is not None:
            only = reaching[0] if len(reaching) == 1 else None
            if only is None or only.how != "assign" or only.value is None:
                return None
            if is_parameter and body.block_of(scope, at)[: len(only.block)] != only.block:
                return None
            return only.value, frame.hop(frame.path, scope, body.at(only.value))
        if is_parameter:
            return None
        scope, at = functions[scope].parent, END_OF_FILE
    return None


def _maker(values: Values, node: ast.Call, frame: Frame) -> str | None:
    thing = values.thing(node.func, frame)
    if thing is None or thing.kind != "external" or not thing.dotted.startswith("torch."):
        return None
    name = thing.dotted.removeprefix("torch.")
    if name not in _MAKERS:
        return None
    for passed in node.keywords:
        pinned = passed.arg == "pin_memory" and not (isinstance(passed.value, ast.Constant) and not passed.value.value)
        if passed.arg is None or passed.arg == "out" or pinned:
            return None
    placed = any(k.arg == "device" for k in node.keywords)
    if (target_device(values, node, frame) if placed else _default(values, node, frame)) != HOST:
        return None
    if name in ("as_tensor", "asarray") and node.args and _may_be_a_tensor(values, node.args[0], frame):
        return None
    return name


def _may_be_a_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what `as_tensor` is given may be a tensor, which it gives back: numbers that stay the same are none."""
    kind = values.of(node, frame).kind
    return kind in ("tensor", "unknown") and constancy(values, node, frame) is None


def _default(values: Values, node: ast.Call, frame: Frame) -> str:
    body = values.body(frame.path)
    return default_device(values, frame._replace(at=body.at(node)) if body is not None else frame)


def upload_at(values: Values, node: ast.Call, frame: Frame) -> Upload | None:
    """The upload that a call makes: `torch.tensor([1], device=d)`, `torch.tensor([1]).to(d)`, `x.new_tensor([1])`."""
    if not isinstance(node.func, ast.Attribute | ast.Name):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    if isinstance(node.func, ast.Attribute) and name in ("to", "cuda", "type_as"):
        return _moved(values, node, node.func.value, frame)
    listed = name == "new" and len(node.args) == 1 and _is_list(node.args[0])
    if isinstance(node.func, ast.Attribute) and (name == "new_tensor" or listed):
        return _beside(values, node, node.func.value, frame)
    return _made_there(values, node, frame)


def _is_list(node: ast.expr) -> bool:
    """`[0, 1]`, and `4 * [0.0]`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    return isinstance(node, ast.List)


def _moved(values: Values, node: ast.Call, receiver: ast.expr, frame: Frame) -> Upload | None:
    bottom = _below_views(values, receiver, frame)
    if not isinstance(bottom, ast.Call | ast.Name):
        return None
    made = made_on_host(values, receiver, frame)
    if made is None or made.function != frame.function or made.factory not in api.HOST_DATA | api.LEGACY_TYPES:
        return None
    body = values.body(frame.path)
    assert body is not None
    at = body.at(made.call)
    around, here = body.block_of(frame.function, at), body.block_of(frame.function, frame.at)
    branched = here[: len(around)] == around and all(part[1] != "loop" for part in here[len(around) :])
    if isinstance(bottom, ast.Name) and not branched:  # `if x.is_cuda: k = k.cuda()` is a move in each call
        return None
    device, written = destination(values, node, frame)
    upload = constant_upload(values, made.call, frame._replace(at=at), written) if device == DEVICE else None
    drawn = upload is not None and upload.kind == DRAWN and isinstance(bottom, ast.Name)
    if drawn and isinstance(bottom, ast.Name) and bound_for_this(values, bottom, frame) is None:
        return None  # `t = torch.from_numpy(drawn)`, of which the host wants something too
    return upload


def _below_views(values: Values, node: ast.expr, frame: Frame) -> ast.expr:
    """What stands below methods, added dimensions and pieces: `torch.tensor(c)` of `torch.tensor(c)[None].float()`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
            node = node.func.value
        elif (isinstance(node, ast.Subscript) and is_cut(values, node.slice, frame)) or _is_viewed(node):
            node = node.value
        else:
            return node


def _is_viewed(node: ast.expr) -> TypeGuard[ast.Attribute]:
    """`t.T`, another view of the same numbers."""
    return isinstance(node, ast.Attribute) and node.attr in api.VIEW_ATTRIBUTES


def _beside(values: Values, node: ast.Call, receiver: ast.expr, frame: Frame) -> Upload | None:
    base = values.of(receiver, frame)
    # Nothing but a tensor has a `new_tensor`, whatever the helper did that gave it.
    known = base.kind == "tensor" or (base.kind == "unknown" and node.func.attr == "new_tensor")  # type: ignore[attr-defined]
    here = (
        base.device == HOST and base.confidence is Confidence.CERTAIN
    )  # `if isinstance(x, ndarray): x = from_numpy(x)`
    if not known or here or any(k.arg in (None, "device") for k in node.keywords):
        return None
    return constant_upload(values, node, frame, of_part(receiver, "device"))


def _made_there(values: Values, node: ast.Call, frame: Frame) -> Upload | None:
    if isinstance(node.func, ast.Name) and node.args and _made_by_numpy(values, node.args[0], frame):
        # `Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor`
        return constant_upload(values, node, frame, '"cuda"') if is_cuda_type(values, node.func, frame) else None
    name = torch_name(values, node, frame)
    if name is None:
        return None
    if name.removeprefix("cuda.") in api.LEGACY_TYPES and name.startswith("cuda."):
        return constant_upload(values, node, frame, '"cuda"')
    device = keyword(node, "device")
    if name not in _OF_DATA or unpacks_keywords(node):
        return None
    if device is None:
        set_by = device_by_default(values, frame)
        there = TENSOR_TYPE in set_by if name == "Tensor" else bool(set_by)
        return constant_upload(values, node, frame, '"cuda"') if there else None
    if name == "Tensor":
        return None
    if target_device(values, node, frame) != DEVICE:
        return None
    upload = constant_upload(values, node, frame, ast.unparse(device))
    return upload if upload is None or not given_on_host(values, device, frame) else None


def _made_by_numpy(values: Values, data: ast.expr, frame: Frame) -> str | None:
    """Which kind of array numpy makes of nothing but numbers: REPEATED, TRIANGLE, DRAWN; it is no size of a tensor."""
    if is_filled_array(values, data, frame):
        return REPEATED
    if is_triangle(values, data, frame):
        return TRIANGLE
    return DRAWN if drawn_array(values, data, frame) is not None else None


def constant_upload(values: Values, made: ast.Call, frame: Frame, device: str) -> Upload | None:
    """The upload of what a call makes of data that no step changes, or of one number; `device` as written."""
    data = made.args[0] if made.args else keyword(made, "data")
    if data is None or isinstance(data, ast.Starred):
        return None
    factory = ast.unparse(made.func)
    by_numpy = _made_by_numpy(values, data, frame) if len(made.args) == 1 else None
    if by_numpy is not None:
        return Upload(made, factory, by_numpy, False, device)
    legacy = factory.endswith("Tensor")
    counted = isinstance(data, ast.Call) and chain(data.func) in ("range", "list")
    counted = counted or bool(_LISTS.search(chain(data)) and isinstance(data, ast.Name | ast.Attribute))
    counted = counted or (legacy and (_is_listed(values, data, frame) or is_counted(values, data, frame)))
    if legacy and (
        len(made.args) > 1 or not (counted or isinstance(data, ast.List | ast.Tuple | ast.ListComp | ast.BinOp))
    ):
        return None  # numbers are sizes there
    if legacy and made_of_sizes(values, made, frame) is not None:
        return None
    if repeats_one_number(values, data, frame):
        return Upload(made, factory, REPEATED, False, device)
    if repeats_one_tensor(values, data, frame):
        return Upload(made, factory, READ_BACK, False, device)
    kind = constancy(values, data, frame)
    if kind is None and (held_since_construction(values, data, frame) or held_array(values, made, data, frame)):
        kind = CONFIGURED
    if kind is None and is_counted(values, data, frame):
        kind = COUNTED
    if kind is not None:
        return Upload(made, factory, kind, _is_number(data), device)
    number = data
    while isinstance(number, ast.List | ast.Tuple) and len(number.elts) == 1:
        number = number.elts[0]
    # `as_tensor` takes tensors as well, which is what it is for; but a list is none.
    # What the function worked out as a number is none either; what it was given only says so.
    as_is = factory.endswith("as_tensor") and _may_be_one(values, data, frame)
    makes = number is not data or (factory.endswith("tensor") and not as_is)
    if not makes or not is_host_number(values, number, frame):
        return Upload(made, factory, ENTRY, False, device) if is_entry(values, data, frame) else None
    return Upload(made, factory, NUMBER, number is data, device)


def _may_be_one(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what is said to be a number may be a tensor for all that is seen: a parameter, `max(a, b)`."""
    if isinstance(node, ast.Call):
        return last_part(chain(node.func)) not in _SURELY_NUMBERS
    if not isinstance(node, ast.Name):
        return True
    parameters = values.index.outlines[frame.path].functions[frame.function].parameters
    return any(p.name == node.id for p in parameters) and not tested_number(values, node.id, frame)


def _is_listed(values: Values, data: ast.expr, frame: Frame) -> bool:
    """Whether an expression is known to be a list or an array: of a number, `torch.Tensor(n)` makes that many."""
    if values.of(data, frame).kind in ("sequence", "array"):
        return True
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not isinstance(data, ast.Attribute) or values.thing(data.value, frame) != own:
        return False
    written = [v for cls in values.index.ancestry(own) for v in assigned_in_class(values, cls, data.attr)]
    written += [v for cls in values.index.ancestry(own) for v in _given_by_default(values, cls, data.attr)]
    return bool(written) and all(isinstance(value, ast.List | ast.Tuple) for value in written)


def _given_by_default(values: Values, cls: Thing, name: str) -> Iterator[ast.expr]:
    """The default of the parameter that a constructor puts away: `std=(0.1, 0.2)`, then `self.std = std`."""
    body = values.body(cls.path) if cls.kind == "class" else None
    number = values.index.record(cls).methods.get("__init__") if body is not None else None
    if body is None or number is None:
        return
    for attribute, value, _ in body.self_assignments(number):
        if attribute == name and isinstance(value, ast.Name):
            default = default_of(body.functions.get(number), value.id)
            if default is not None:
                yield default


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is one number, as far as its form tells: of calls, those that give nothing else."""
    if isinstance(node, ast.Call):
        return last_part(chain(node.func)) in _ONE_NUMBER
    return isinstance(node, ast.Constant | ast.UnaryOp)
