"""Tensors that evidently hold the places to pick: what `nonzero`, `topk`, `argsort` and their like give.

A name alone (`indices`) shows little, as boolean masks are called so, too: it counts where the function asks how many
there are (`len(pos_inds) > 0`), which of a mask nobody asks.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_HOPS = 5
_FINDS = frozenset({"nonzero", "argwhere", "where"})
"""Give the places where a mask holds; of `where` only if it is asked nothing else."""
_SORTS = frozenset("argsort argmax argmin multinomial randperm arange randint searchsorted bucketize".split())
_BEHIND = frozenset("topk sort max min kthvalue mode median".split())
"""Give places as their second result."""
_REDUCES = frozenset({"argmax", "argmin", "max", "min", "mode", "median"})
_CASTS = frozenset({"long", "int"})
_KEEPS = frozenset(
    "view reshape flatten ravel squeeze unsqueeze expand repeat repeat_interleave clone detach contiguous cuda to "
    "unique gather index_select masked_select t transpose flip clamp clamp_".split()
)
"""Methods whose result holds integers where their receiver does; none makes truths of them."""
_RECKONS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_FLAT = frozenset({"flatten", "ravel", "unique"})
_INTEGERS = pattern(r"\b(?:Long|Int)Tensor\b|\bInt(?:64|32)?\[")
_DTYPES = frozenset({"torch.long", "torch.int64"})
_CALLED = pattern(r"(?:^|_)(?:inds|idxs|indices|idx|ind|indexes)$")


class IntegerIndex(NamedTuple):
    """What shows that an index holds places, and no truths."""

    origin: ast.expr
    """The call that found them, or the name that says so."""
    confidence: Confidence
    flat: bool
    """Whether it evidently has one dimension, as `index_fill_` asks for."""


def integer_index(values: Values, node: ast.expr, frame: Frame, hops: int = 0) -> IntegerIndex | None:
    """An expression that evidently is a tensor of places; None for masks, single numbers, and what nobody knows."""
    if hops > _HOPS:
        return None
    if isinstance(node, ast.Call):
        return _call(values, node, frame, hops)
    if isinstance(node, ast.Subscript):
        return _part(values, node, frame, hops)
    if isinstance(node, ast.BinOp):
        return _moved_on(values, node, frame, hops)
    if isinstance(node, ast.Attribute) and node.attr == "indices":
        return _of_several(values, _bound(values, node.value, frame), 1, frame, hops)
    return _name(values, node, frame, hops) if isinstance(node, ast.Name) else None


def _call(values: Values, node: ast.Call, frame: Frame, hops: int) -> IntegerIndex | None:
    name = last_part(chain(node.func))
    thing = values.thing(node.func, frame)
    of_torch = thing is not None and thing.kind == "external" and api.is_torchs_own(thing.dotted)
    if thing is not None and thing.kind == "function":
        return _given_back(values, node, None, frame, hops)
    if thing is not None and not of_torch and not isinstance(node.func, ast.Attribute):
        return None
    receiver = node.func.value if isinstance(node.func, ast.Attribute) and not of_torch else None
    subject = node.args[0] if of_torch and node.args else receiver
    if subject is None or (receiver is not None and values.of(receiver, frame).kind not in ("tensor", "unknown")):
        return None
    asked = _asks_for_integers(node)
    if name in _CASTS or (asked and name in ("to", "type", "tensor", "as_tensor")):
        return IntegerIndex(node, Confidence.LIKELY, False) if values.of(node, frame).kind == "tensor" else None
    if name in _SORTS or name in ("nonzero", "argwhere"):
        sequence = any(k.arg == "as_tuple" and ast.unparse(k.value) == "True" for k in node.keywords)
        single = name in ("argmax", "argmin") and not (node.args[1 if of_torch else 0 :] or node.keywords)
        known = of_torch or values.of(receiver or node, frame).kind == "tensor" or name in _FINDS
        return IntegerIndex(node, _sureness(node, of_torch), False) if known and not (sequence or single) else None
    if name in _KEEPS and not (name in ("view", "to") and node.args and "torch." in ast.unparse(node.args[0])):
        inner = integer_index(values, subject, frame, hops + 1)
        flat = name in _FLAT or (name in ("view", "reshape") and list(map(ast.unparse, node.args)) == ["-1"])
        flat = flat or (name == "squeeze" and isinstance(subject, ast.Call | ast.Name))
        return inner._replace(flat=inner.flat or flat) if inner is not None else None
    if of_torch and name in ("cat", "concat", "stack") and isinstance(subject, ast.List | ast.Tuple) and subject.elts:
        parts = [integer_index(values, element, frame, hops + 1) for element in subject.elts]
        return parts[0] if all(part is not None for part in parts) else None
    return None


def _asks_for_integers(node: ast.Call) -> bool:
    return any(chain(part) in _DTYPES for part in [*node.args, *(k.value for k in node.keywords)])


def _part(values: Values, node: ast.Subscript, frame: Frame, hops: int) -> IntegerIndex | None:
    """`torch.where(m)[0]`, `m.nonzero()[:, 0]`, `x.topk(k)[1]`, `order[:k]`: one place alone, `order[0]`, is none."""
    made, index = _bound(values, node.value, frame), node.slice
    if isinstance(index, ast.Constant):
        return _of_several(values, made, index.value, frame, hops)
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    inner = integer_index(values, node.value, frame, hops + 1)
    if inner is None or not any(isinstance(part, ast.Slice) for part in parts):
        return None
    return inner._replace(flat=inner.flat or any(not isinstance(part, ast.Slice) for part in parts))


def _bound(values: Values, node: ast.expr, frame: Frame) -> ast.expr:
    """What a name that is bound once stands for: `found = torch.where(m)`, `found[0]`."""
    body = values.body(frame.path)
    if not isinstance(node, ast.Name) or body is None:
        return node
    return body.assigned_once(frame.function, node.id, frame.at) or node


def _moved_on(values: Values, node: ast.BinOp, frame: Frame, hops: int) -> IntegerIndex | None:
    """`rows + offset`, `places % width`: with whatever else places are reckoned, what may index is places again."""
    if not isinstance(node.op, _RECKONS):
        return None
    sides = (integer_index(values, side, frame, hops + 1) for side in (node.left, node.right))
    found = next((side for side in sides if side is not None), None)
    return found._replace(flat=False) if found is not None else None


def _of_grid(values: Values, made: ast.Call, position: object, frame: Frame, hops: int) -> IntegerIndex | None:
    """`torch.meshgrid(rows, columns)[0]`."""
    axes = made.args[0].elts if len(made.args) == 1 and isinstance(made.args[0], ast.List | ast.Tuple) else made.args
    if not isinstance(position, int) or position >= len(axes):
        return None
    found = integer_index(values, axes[position], frame, hops + 1)
    return found._replace(flat=False) if found is not None else None


def _of_several(values: Values, made: ast.expr, position: object, frame: Frame, hops: int) -> IntegerIndex | None:
    """One of the tensors that a call gives: of the places of a mask any, of a sort the second, of a grid each."""
    if not isinstance(made, ast.Call):
        return None
    thing = values.thing(made.func, frame)
    if thing is not None and thing.kind == "function":
        return _given_back(values, made, position, frame, hops)
    if not isinstance(made.func, ast.Attribute):
        return None
    name = made.func.attr
    if chain(made.func) == "torch.meshgrid":
        return _of_grid(values, made, position, frame, hops)
    if name in _FINDS:
        operands = len(made.args) + (not chain(made.func).startswith("torch."))
        told = any(k.arg == "as_tuple" and ast.unparse(k.value) == "True" for k in made.keywords)
        alone = chain(made.func) == "torch.where" and operands == 1
        return IntegerIndex(made, Confidence.CERTAIN, True) if alone or told else None
    if name in _BEHIND and position == 1 and values.of(made, frame).kind in ("tensor", "sequence"):
        of_torch = chain(made.func).startswith("torch.")
        return IntegerIndex(made, _sureness(made, of_torch), False)
    return None


def _given_back(values: Values, call: ast.Call, position: object, frame: Frame, hops: int) -> IntegerIndex | None:
    """What a function of the project gives back as places, whichever way it ends; of several results that one."""
    targets = values.types.targets(frame.path, frame.function, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 and hops < _HOPS else None
    if body is None:
        return None
    results = [_result(result, position) for result in body.returns(targets[0].index)]
    found = [
        integer_index(values, result, frame.hop(targets[0].path, targets[0].index, body.at(result)), hops + 2)
        for result in results
        if result is not None
    ]
    first = found[0] if found and len(found) == len(results) else None
    # The search stands in another function: what fills there and here alike is not told by one of them.
    return first._replace(origin=call) if first is not None and None not in found else None


def _result(result: ast.expr, position: object) -> ast.expr | None:
    """One of the values that are given back, or the only one where no position is asked for."""
    if not isinstance(position, int):
        return result
    return result.elts[position] if isinstance(result, ast.Tuple) and position < len(result.elts) else None


def _sureness(node: ast.Call, of_torch: bool) -> Confidence:
    """A reduction along the first or last dimension may leave one number, which is read, and no places."""
    assert isinstance(node.func, ast.Attribute | ast.Name)
    if last_part(chain(node.func)) not in _REDUCES or any(k.arg == "keepdim" for k in node.keywords):
        return Confidence.CERTAIN
    told = [k.value for k in node.keywords if k.arg in ("dim", "axis")] + node.args[of_torch : of_torch + 1]
    behind = told and isinstance(told[0], ast.Constant) and isinstance(told[0].value, int) and told[0].value > 0
    return Confidence.CERTAIN if behind else Confidence.POSSIBLE


def _name(values: Values, node: ast.Name, frame: Frame, hops: int) -> IntegerIndex | None:
    body = values.body(frame.path)
    if body is None:
        return None
    at = max(frame.at, body.at(node)) if node.lineno >= frame.at[0] else frame.at
    reaching = body.reaching(frame.function, node.id, at)
    if reaching is None:
        return _parameter(values, node, frame)
    if not reaching:
        return None
    found = [_definition(values, d, frame, hops) for d in reaching]
    first = found[0]
    if first is not None and all(one is not None for one in found):
        weakest = max((one.confidence for one in found if one is not None), key=lambda c: c.rank)
        return first._replace(confidence=weakest, flat=all(one is not None and one.flat for one in found))
    return _by_what_is_asked(values, node, reaching, frame)


def _definition(values: Values, d: Definition, frame: Frame, hops: int) -> IntegerIndex | None:
    body = values.body(frame.path)
    if d.value is None or body is None:
        return None
    there = frame._replace(at=body.at(d.value))
    if d.how == "assign":
        return integer_index(values, d.value, there, hops + 1)
    if d.how == "item" and len(d.index) == 1:
        return _of_several(values, d.value, d.index[0], there, hops)
    return None


def _parameter(values: Values, node: ast.Name, frame: Frame) -> IntegerIndex | None:
    """A parameter that is annotated so, or that its name and what is asked of it show to be one."""
    record = values.index.function(FunctionKey(frame.path, frame.function))
    own = next((p for p in record.parameters if p.name == node.id), None)
    if own is not None and _INTEGERS.search(own.annotation):
        return IntegerIndex(node, Confidence.CERTAIN, False)
    return _by_what_is_asked(values, node, (), frame) if own is not None else None


def _by_what_is_asked(
    values: Values, node: ast.Name, reaching: tuple[Definition, ...] | list[Definition], frame: Frame
) -> IntegerIndex | None:
    """`pos_inds = result.pos_inds`, `if len(pos_inds) > 0:`: nobody asks how long a mask is."""
    plain = all(d.how == "item" or (d.how == "assign" and isinstance(d.value, ast.Attribute)) for d in reaching)
    if not _CALLED.search(node.id) or not plain or values.of(node, frame).kind not in ("unknown", "tensor"):
        return None
    body = values.body(frame.path)
    function = body.functions.get(frame.function) if body is not None else None
    if function is None or not any(_asks_how_many(asked, node.id) for asked in nodes_of(function)):
        return None
    return IntegerIndex(node, Confidence.LIKELY, True)


def _asks_how_many(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = chain(node.func)
    if called == "len":
        return len(node.args) == 1 and chain(node.args[0]) == name
    return called in (f"{name}.numel", f"{name}.nelement")
