"""What kind of thing an argument of a call is, as far as its own function's text shows: `loss.item()` is a number.

For branches by the kind of a parameter, which no call with another kind takes: `if isinstance(x, dict):`.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.parameter_tests import ARRAY, LIST, MAPPING, NUMBER, SET, TENSOR, TEXT, TUPLE, Kind
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part

_LITERALS: dict[type[ast.expr], Kind] = {
    ast.List: LIST,
    ast.ListComp: LIST,
    ast.Tuple: TUPLE,
    ast.Dict: MAPPING,
    ast.DictComp: MAPPING,
    ast.Set: SET,
    ast.SetComp: SET,
    ast.JoinedStr: TEXT,
}
_OF_TENSORS = frozenset(
    "unsqueeze detach contiguous permute expand expand_as masked_fill requires_grad_ log_softmax type_as "
    "index_select masked_select clamp clamp_min clamp_max scatter scatter_add new_zeros new_ones new_full sigmoid relu "
    "logsumexp bmm baddbmm".split()
)
"""Methods that tensors have and nothing that is often beside them, and whose result is one tensor."""
_FACTORIES = frozenset(
    "zeros ones full empty rand randn randint randperm arange linspace eye tensor as_tensor from_numpy cat stack where "
    "zeros_like ones_like full_like empty_like rand_like randn_like softmax log_softmax sigmoid tanh relu matmul bmm "
    "einsum exp log sqrt abs clamp gather cross_entropy mse_loss l1_loss nll_loss interpolate one_hot pad".split()
)
_TORCH = frozenset({"torch", "th", "F", "torch.nn.functional", "nn.functional"})
_NUMBERS = frozenset({"float", "int", "len", "time.time", "time.perf_counter", "time.monotonic", "round", "bool"})
_BUILT = {"list": LIST, "sorted": LIST, "tuple": TUPLE, "dict": MAPPING, "set": SET, "str": TEXT, "repr": TEXT}
_HINTS = {"Tensor": TENSOR, "int": NUMBER, "float": NUMBER, "bool": NUMBER, "str": TEXT}
_HOPS = 3


def kind_of(body: Body, function: int, value: ast.expr, at: Position, hops: int = _HOPS) -> Kind | None:
    """The kind of an expression of a function before a place; None where nothing shows it."""
    literal = _LITERALS.get(type(value))
    if literal is not None:
        return literal
    if isinstance(value, ast.Constant):
        number = NUMBER if isinstance(value.value, int | float) else None
        return TEXT if isinstance(value.value, str) else number
    if isinstance(value, ast.Call):
        return _of_call(value)
    if isinstance(value, ast.Subscript):  # `optimizer.param_groups[0]["lr"]`
        return NUMBER if chain(value).endswith("[lr]") and "param_groups" in chain(value) else None
    if isinstance(value, ast.UnaryOp) and not isinstance(value.op, ast.Not):
        return kind_of(body, function, value.operand, at, hops)
    if isinstance(value, ast.BinOp):
        return _of_both(*(kind_of(body, function, side, at, hops) for side in (value.left, value.right)))
    return _of_name(body, function, value.id, at, hops - 1) if isinstance(value, ast.Name) and hops else None


def _of_call(value: ast.Call) -> Kind | None:
    callee = chain(value.func)
    if callee in _NUMBERS or callee in _BUILT:
        return NUMBER if callee in _NUMBERS else _BUILT[callee]
    root, _, name = callee.rpartition(".")
    if root in _TORCH:
        return TENSOR if name in _FACTORIES else None
    if isinstance(value.func, ast.Attribute):
        name = last_part(callee)
        return NUMBER if name == "item" and not value.args else TENSOR if name in _OF_TENSORS else None
    return None


def _of_both(left: Kind | None, right: Kind | None) -> Kind | None:
    """The kind of what an operator makes of two sides."""
    if TENSOR in (left, right):
        return TENSOR
    if ARRAY in (left, right):
        return None
    return NUMBER if left == right == NUMBER else None


def _of_name(body: Body, function: int, name: str, at: Position, hops: int) -> Kind | None:
    """The kind of all that a function binds a name to before a place, or by an annotation of its parameter."""
    bound = [d for d in body.definitions(function).get(name, ()) if d.within is None]
    if not bound:
        return _annotated(body, function, name)
    kinds = {
        kind_of(body, function, d.value, d.at, hops) if d.how == "assign" and d.value is not None else None
        for d in bound
    }
    return kinds.pop() if len(kinds) == 1 and bound[0].at < at else None


def _annotated(body: Body, function: int, name: str) -> Kind | None:
    """The kind of a parameter that is annotated by one and has no default."""
    node = body.functions.get(function)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    places = [*node.args.posonlyargs, *node.args.args]
    needed = places[: len(places) - len(node.args.defaults)]
    needed += [a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is None]
    hints = [last_part(chain(a.annotation)) for a in needed if a.arg == name and a.annotation is not None]
    return _HINTS.get(hints[0]) if len(hints) == 1 else None
