"""Tensors that an object sets up before its steps, and whose numbers each step reads back: the schedule of a sampler.

    def set_timesteps(self, n, device):                    def step(self, noise, i, sample):
        self.sigmas = make_sigmas(n).to(device)                if self.sigmas[i + 1].item() < 1e-8:
                                                                   return noise

Whatever such a number decides, no step has computed it: one `.tolist()` where the tensor is set up fetches all of them.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.held import changed_in, set_from_outside
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_SETS_UP = pattern(r"^__init__$|^_?(?:set|setup|init|initiali[sz]e|prepare|configure|make|register)(?:_|$)")
_LOOKS = frozenset(
    "item tolist abs to float int long bool double half cpu detach view reshape squeeze flatten sum min max any "
    "all".split()
)
_NUMBERS = frozenset({"int", "float", "bool", "abs"})
_HOPS = 3


def set_up_before(place: Place, node: ast.expr) -> bool:
    """Whether an expression reads an entry of an attribute that only set-up code of the object's class has set."""
    entry = _entry(place, node, _HOPS)
    if entry is None or not isinstance(entry.value, ast.Attribute):
        return False
    values, attribute = place.file.project.values, entry.value
    own = values.index.class_of(place.file.path, place.function)
    if own is None or values.types.is_module_class(own) or values.thing(attribute.value, place.frame) != own:
        return False  # what a module registers is trained, or loaded later
    setters = [key for cls in values.index.ancestry(own) for key in changed_in(values, cls, attribute.attr)]
    steady = bool(setters) and all(_sets_up(place, key) for key in setters)
    return steady and not set_from_outside(values, own, attribute)


def _sets_up(place: Place, key: FunctionKey) -> bool:
    project = place.file.project
    return key not in project.hotness.functions and _SETS_UP.search(project.index.function(key).name) is not None


def _entry(place: Place, node: ast.expr, hops: int) -> ast.Subscript | None:
    """`self.sigmas[i]` of `self.sigmas[i].abs().item() < 1e-8`, through names."""
    while True:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_number(node.comparators[0]):
            node = node.left
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NUMBERS and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS:
            node = node.func.value
        else:
            break
    if isinstance(node, ast.Subscript):
        return node if chain(node.value).startswith("self.") and _is_position(place, node.slice) else None
    body = place.file.project.body(place.file.path)
    if not isinstance(node, ast.Name) or not hops or body is None:
        return None
    made = body.assigned_once(place.function, node.id, body.at(node))
    return _entry(place, made, hops - 1) if made is not None else None


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, int | float)


def _is_position(place: Place, index: ast.expr) -> bool:
    """A number of the host: what is looked up by a tensor is for the device to look up."""
    if isinstance(index, ast.Slice | ast.Tuple):
        return False
    return place.file.value(index, place).kind in ("plain", "unknown") and last_part(chain(index)) not in (
        "t",
        "timestep",
    )
