"""What a module's constructor makes beside a parameter of its own: in host memory, where parameters are made.

`self.mask = self.weight.new_zeros(n)`: the module is moved later, its parameters with it, and plain attributes stay.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.copies.host_data import made_on_host
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_MAKES = frozenset({"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"})
_INHERITED = frozenset({"weight", "bias"})
"""Parameters of torch's own layers."""
STAYS = api.DERIVING - {"to", "type"}
"""Methods that leave a tensor where it is."""
_MAX_DEPTH = 3
"""Parameters may be made beside each other: `self.lora_A = nn.Parameter(self.weight.new_zeros(r, n))`."""


def made_beside_parameter(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """The module's own parameter beside which its constructor makes a tensor, as written; None for all else.

    A constructor that is told a device makes its parameters there.
    """
    record = values.index.outlines[frame.path].functions[frame.function]
    own = values.index.class_of(frame.path, frame.function)
    if own is None or record.name != "__init__" or not values.types.is_module_class(own):
        return None
    if any("device" in parameter.name for parameter in record.parameters):
        return None
    beside = _beside(node)
    return beside if beside is not None and _is_parameter(values, own, beside, _MAX_DEPTH) else None


def _beside(node: ast.expr) -> str | None:
    """`self.weight` of `self.weight.new_zeros(n).view(1, -1)`, `torch.zeros_like(self.weight)`."""
    while isinstance(node, ast.Call):
        name = last_part(chain(node.func))
        own = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in _MAKES and own is not None:
            return chain(own) if keyword(node, "device") is None else None
        if name.endswith("_like") and node.args and chain(node.func).startswith("torch."):
            return chain(node.args[0]) if keyword(node, "device") is None else None
        if name not in STAYS or own is None:
            return None
        node = own
    return None


def _is_parameter(values: Values, own: Thing, written: str, depth: int) -> bool:
    """Whether an attribute is a parameter that the module's constructors make in host memory."""
    holder, _, name = written.rpartition(".")
    if holder != "self" or not depth:
        return False
    classes = values.index.ancestry(own)
    made = [(cls, *one) for cls in classes if cls.kind == "class" for one in setters(values, cls, name)]
    if not made:
        bases = (cls.dotted for cls in classes if cls.kind == "external")
        return name in _INHERITED and any(base.startswith("torch.nn.") and base != "torch.nn.Module" for base in bases)
    return all(_is_made_there(values, cls, function, value, depth) for cls, function, value, _ in made)


def _is_made_there(values: Values, cls: Thing, function: int, value: ast.expr, depth: int) -> bool:
    """`nn.Parameter(torch.empty(n))` in a constructor."""
    body = values.body(cls.path)
    record = values.index.outlines[cls.path].functions[function]
    if body is None or record.name != "__init__" or any("device" in parameter.name for parameter in record.parameters):
        return False
    if not isinstance(value, ast.Call) or last_part(chain(value.func)) != "Parameter" or not value.args:
        return False
    data, frame = value.args[0], Frame(cls.path, function, body.at(value))
    if made_on_host(values, data, frame) is not None:
        return True
    beside = _beside(data)
    return beside is not None and _is_parameter(values, cls, beside, depth - 1)
