"""Tensors that an object keeps on the host, as plain attributes: they do not follow it to the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.constants.class_body import assigned_in_class
from torchperf_lint.facts.constants.held import builds
from torchperf_lint.facts.copies.beside_parameters import STAYS, made_beside_parameter
from torchperf_lint.facts.copies.given import converted, given_tensor
from torchperf_lint.facts.copies.host_data import made_on_host
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal, is_none
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_MOVERS = ("_apply", "to", "cuda")
"""What a class overrides that takes its attributes along itself."""


class LeftBehind(NamedTuple):
    """An attribute that holds a tensor in host memory."""

    name: str
    path: str
    line: int
    """Where it is set, 1-based."""
    in_module: bool
    """Whether its object is an nn.Module, which could hold it as a buffer."""
    value: Value
    several: bool = False
    """Whether the attribute holds several of them, in a dict or list."""
    beside: bool = False
    """Whether it was made beside a parameter of the module, which is moved later."""

    def is_there(self, value: Value) -> bool:
        """Whether its value is on the host where it is used; what was made beside a parameter seems to follow it."""
        return value.kind == "tensor" and (value.device == HOST or (self.beside and value.device != DEVICE))


def left_behind(values: Values, node: ast.expr, frame: Frame) -> LeftBehind | None:
    """The attribute at the bottom of what is moved, `self.table` or `self.table[i].view(-1)`; else None."""
    container = _gone_through(values, node, frame)
    attribute = container if container is not None else own_attribute(node)
    if attribute is None or not isinstance(attribute.value, ast.Name):
        return None
    own = values.index.class_of(frame.path, frame.function)
    if own is None or values.thing(attribute.value, frame) != own or moves_its_own(values, own):
        return None
    several = container is not None or _has_subscript(node)
    found: list[LeftBehind] = []
    for cls in values.index.ancestry(own):
        for function, value, buffer in _set_in(values, cls, attribute.attr, several) if cls.kind == "class" else ():
            for part in _alternatives(value):
                if _stays_where_it_was(part, attribute.attr):
                    continue
                if _is_taken_from(part, attribute.attr) and builds(values, FunctionKey(cls.path, function)):
                    continue
                told = None if buffer else set_to(values, cls, function, part, attribute.attr, several)
                if told is None:
                    return None
                found.append(told)
    in_module = _belongs_to_module(values, own)
    # What a constructor is given may be on the device already; where a buffer is at hand, that is no excuse.
    doubted = any(one.value.confidence is not Confidence.CERTAIN for one in found)
    if doubted and (not in_module or _is_looked_up_there(values, node, frame)):
        return None
    if not found or _set_from_outside(values, frame.path, attribute.attr):
        return None
    held = max(found, key=lambda one: one.value.confidence.rank)
    return held._replace(in_module=in_module, several=several and _is_container(values, own, attribute.attr))


def _gone_through(values: Values, node: ast.expr, frame: Frame) -> ast.Attribute | None:
    """The attribute whose elements a loop takes: `for table in self.tables: table.to(device)`."""
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    reaching = body.reaching(frame.function, chain(node), frame.at) if body is not None else None
    only = reaching[0] if reaching and len(reaching) == 1 else None
    over = only.value if only is not None and only.how == "loop" and not only.index else None
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "values":
        over = over.func.value
    return over if isinstance(over, ast.Attribute) and chain(over).startswith("self.") else None


def _has_subscript(node: ast.expr) -> bool:
    """Whether what is moved is an element of its attribute: `self.tables[name].view(-1)`."""
    return any(isinstance(part, ast.Subscript) for part in ast.walk(node))


def _is_looked_up_there(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a tensor that may be on the device picks of what is moved, `self.weight[target].to(x.device)`.

    It picks of no tensor on the host: torch raises.
    """
    for part in ast.walk(node):
        picked = values.of(part.slice, frame) if isinstance(part, ast.Subscript) else None
        if picked is not None and picked.kind == "tensor" and picked.device != HOST:
            return True
    return False


def _set_in(values: Values, cls: Thing, name: str, several: bool) -> Iterator[tuple[int, ast.expr, bool]]:
    """(method, value, is registered) of each `self.name = value`; of a container, of each tensor put into it."""
    body = values.body(cls.path)
    kept = values.index.record(cls).methods.get(name) if body is not None else None
    if kept is not None and body is not None:
        decorators = values.index.outlines[cls.path].functions[kept].decorators
        if any(last_part(decorator) == "cached_property" for decorator in decorators):
            yield from ((kept, value, False) for value in body.returns(kept))
    written = setters(values, cls, name)
    if not written and not several:  # `table = torch.tensor(...)` in the body of the class
        yield from ((0, value, False) for value in assigned_in_class(values, cls, name))
    for function, value, buffer in _last_set(written, name):
        items = _items(value) if several else None
        yield from ((function, item, buffer) for item in ([value] if items is None else items))
    if body is None or not several or not _is_container(values, cls, name):
        return
    for function in values.index.record(cls).methods.values():
        for value in body.stored_items(function, f"self.{name}"):
            if chain(value).startswith(f"self.{name}") or f"self.{name}[" not in ast.unparse(value):
                yield function, value, False  # what is computed from an entry is where that was


def _last_set(found: list[tuple[int, ast.expr, bool]], name: str) -> Iterator[tuple[int, ast.expr, bool]]:
    """What a method leaves in an attribute: all it sets, but for what it brings back to the host in the end."""
    for number, (function, value, buffer) in enumerate(found):
        later = (v for f, v, _ in found[number + 1 :] if f == function)
        if not any(_brought_back(v, name) for v in later):
            yield function, value, buffer


def _brought_back(value: ast.expr, name: str) -> bool:
    """`self.sigmas.to("cpu")`, `self.sigmas.cpu()`."""
    if not isinstance(value, ast.Call) or chain(value.func) not in (f"self.{name}.to", f"self.{name}.cpu"):
        return False
    to_host = bool(value.args) and is_literal(value.args[0], "cpu")
    return chain(value.func).endswith(".cpu") or to_host


def _stays_where_it_was(value: ast.expr, name: str) -> bool:
    """`self.kernel = self.kernel * gain`: one operand on the host keeps the other there, and so does a number.

    `self.mask = self.mask.view(-1)` is where it was, too.
    """
    below = _below_methods(value)
    if below is not value and chain(below) == f"self.{name}":
        return True
    while isinstance(value, ast.BinOp):
        if chain(value.right) == f"self.{name}":
            return True
        value = value.left
        if chain(value) == f"self.{name}":
            return True
    return False


def _below_methods(value: ast.expr) -> ast.expr:
    """What stands below methods that leave a tensor where it is."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in STAYS:
        value = value.func.value
    return value


def _is_taken_from(value: ast.expr, name: str) -> bool:
    """`self.order = self.order[torch.randperm(n)]`: what is taken from a tensor of the host is on the host."""
    return isinstance(value, ast.Subscript) and chain(value.value) == f"self.{name}"


def _is_container(values: Values, own: Thing, name: str) -> bool:
    set_to = (v for c in values.index.ancestry(own) if c.kind == "class" for _, v, _ in setters(values, c, name))
    return any(_items(value) is not None for value in set_to)


def _items(value: ast.expr) -> list[ast.expr] | None:
    """What a dict or list is made of, as written; None for anything else."""
    if isinstance(value, ast.Dict):
        return list(value.values)
    if isinstance(value, ast.List | ast.Tuple):
        return value.elts
    if isinstance(value, ast.ListComp):
        return [value.elt]
    if isinstance(value, ast.DictComp):
        return [value.value]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return _items(value.left)
    empty = isinstance(value, ast.Call) and chain(value.func) in ("dict", "list", "OrderedDict") and not value.args
    return [] if empty else None


def _belongs_to_module(values: Values, own: Thing) -> bool:
    """Whether a class is a module, or a mixin that modules of the project derive from."""
    if values.types.is_module_class(own):
        return True
    below = values.index.subclasses.get((own.path, own.index), ())
    return any(values.types.is_module_class(cls) for cls in below)


def own_attribute(node: ast.expr) -> ast.Attribute | None:
    """The attribute below subscripts and methods that keep a tensor as it is."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
            node = node.func.value
        else:
            return node if isinstance(node, ast.Attribute) else None


def _alternatives(value: ast.expr) -> list[ast.expr]:
    """What an attribute may be set to, None left out."""
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return [part for part in parts if not is_none(part)]


def set_to(values: Values, cls: Thing, function: int, value: ast.expr, name: str, several: bool) -> LeftBehind | None:
    """The attribute `name` as one assignment of a method of a class leaves it; None unless that is on the host."""
    body = values.body(cls.path)
    assert body is not None
    frame = Frame(cls.path, function, body.at(value))
    if _brought_back(value, name):
        because = f"`self.{name}` is brought back to the host where it is set (line {value.lineno})"
        return LeftBehind(name, cls.path, value.lineno, False, Value("tensor", HOST, because))
    held = values.of(value, frame)
    if several and held.kind == "sequence" and held.item is not None:
        held = held.item  # what a method makes a list of: `self.anchors = self.make_anchors()`
    made = made_on_host(values, value, frame) or converted(values, value, frame)
    given = given_tensor(values, value, frame) if made is None else None
    if given is not None:
        because = f"`self.{name}` is a plain attribute, set to the tensor that the constructor is given"
        told = f"{because} (line {value.lineno}): {given.because}"
        return LeftBehind(name, cls.path, value.lineno, False, Value("tensor", HOST, told, Confidence.LIKELY))
    beside = made_beside_parameter(values, value, frame) if made is None else None
    if beside is not None:
        because = f"`self.{name}` is a plain attribute, made beside the parameter `{beside}` (line {value.lineno})"
        there = Value("tensor", HOST, f"{because}, before the module is moved", Confidence.LIKELY)
        return LeftBehind(name, cls.path, value.lineno, False, there, beside=True)
    if made is None and (held.kind != "tensor" or held.device != HOST or held.confidence is not Confidence.CERTAIN):
        return None
    if chain(value).startswith((f"self.{name}.", f"self.{name}[")):
        return None
    told = f"a plain attribute, set to a tensor on the host (line {value.lineno})"
    because = f"`self.{name}` is {told}" + (f", made by `torch.{made.factory}`" if made is not None else "")
    return LeftBehind(name, cls.path, value.lineno, False, Value("tensor", HOST, because))


def moves_its_own(values: Values, own: Thing) -> bool:
    """Whether a class takes its attributes along itself."""
    return any(values.index.method(own, name) is not None for name in _MOVERS)


def _set_from_outside(values: Values, path: str, name: str) -> bool:
    """`model.table = model.table.cuda()`, somewhere in the same file, through another name than `self`.

    What a demonstration sets, below `if __name__ == "__main__"`, is for its own trial.
    """
    if name not in values.index.set_from_outside(path):
        return False
    ends, tries = f".{name}", values.hotness.demonstrations.holds
    bindings = (b for b in values.index.outlines[path].bindings if b.target.endswith(ends))
    return any(b.function or not tries(path, b.line) for b in bindings if not b.target.startswith("self."))
