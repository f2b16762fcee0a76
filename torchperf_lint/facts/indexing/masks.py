"""Boolean tensors: what comparisons, their combinations, factories and helper functions make of tensors.

A name alone (`mask`) shows little, as integer indices are called so too: only that of a parameter is taken for what
it says, where all callers are elsewhere or give what is called so, too. Of what samples hold, kept_masks.py tells.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.documented_tensors import is_documented_mask
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.indexing.kept_masks import is_kept_mask
from torchperf_lint.facts.indexing.mask_uses import asked_as_masks
from torchperf_lint.facts.indexing.split_masks import is_split_mask
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none, is_text
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.compared_results import is_result_compared
from torchperf_lint.facts.values.entries_given_back import entries
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_HOPS = 6
_CALLERS = 4
_PREDICATES = frozenset(
    "isnan isinf isfinite isposinf isneginf isin isclose eq ne gt lt ge le greater less greater_equal less_equal "
    "not_equal logical_and logical_or logical_not logical_xor bool signbit".split()
)
_CONVERTING = frozenset({"bool", "byte"})
"""Methods that only tensors have; torch takes bytes for truths where they index."""
_REDUCING = frozenset({"any", "all"})
_KEEPING = frozenset(
    "view reshape flatten ravel squeeze unsqueeze expand expand_as view_as repeat clone detach contiguous cuda permute "
    "repeat_interleave transpose t roll flip triu tril diagonal index_select gather masked_fill masked_fill_ unflatten "
    "logical_not_ logical_and_ logical_or_ scatter scatter_ fill_ fill_diagonal_".split()
)
"""Methods and functions whose result has the type of what they are given."""
_JOINING = frozenset({"cat", "stack", "concat", "hstack", "vstack"})
_ROWS = frozenset({"unbind", "t", "transpose", "permute", "chunk", "split"})
"""What gives several tensors where it is taken apart."""
_BOOL = pattern(r"\bBoolTensor\b|\bBool\[")
_FACTORIES = api.FILL_FACTORIES | api.LIKE_FACTORIES | {"tensor", "as_tensor", "new_ones", "new_zeros", "new_full"}
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
_LIKE_BITS = (ast.Mult, ast.Add)
"""Of two masks `a * b` is `a & b`, and `a + b` is `a | b`."""
_CALLED_MASK = pattern(r"(?:^|_)masks?$")
"""Parameters that say what they are where nothing else does: places are called `mask_indices`, or `masked`."""
_NO_TENSOR = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def may_be_mask(node: ast.expr) -> bool:
    """A quick look at one index: can it be a boolean tensor at all?"""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _BITS + _LIKE_BITS)
    return isinstance(node, ast.Compare | ast.Call | ast.Name | ast.Attribute | ast.Subscript)


def is_mask(values: Values, node: ast.expr, frame: Frame, hops: int = 0) -> bool:
    """Whether an expression is evidently a boolean tensor with dimensions."""
    if hops > _HOPS:
        return False
    if isinstance(node, ast.Compare):
        return not isinstance(node.ops[0], _NO_TENSOR) and _compares_tensors(values, node, frame)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and _inverts(values, node.operand, frame, hops)
    if isinstance(node, ast.BinOp):
        return _combines(values, node, frame, hops)
    if isinstance(node, ast.Call):
        return _call(values, node, frame, hops)
    if isinstance(node, ast.Subscript):
        if _picks_one(node.slice):
            parts = entries(values, node, frame)
            known = bool(parts) and all(is_mask(values, *part, hops + 1) for part in parts)
            return known or is_split_mask(node) or is_kept_mask(values, node, is_mask)
        return is_mask(values, node.value, frame, hops) or _of_filled_list(values, node, frame, hops)
    if isinstance(node, ast.Name):
        return _name(values, node, frame, hops)
    if isinstance(node, ast.Attribute):
        return _attribute(values, node, frame, hops)
    if isinstance(node, ast.ListComp):  # a list of masks, of which one is taken
        body = values.body(frame.path)
        return body is not None and is_mask(values, node.elt, frame._replace(at=body.at(node.elt)), hops)
    if isinstance(node, ast.IfExp):
        return is_mask(values, node.body, frame, hops) and is_mask(values, node.orelse, frame, hops)
    return isinstance(node, ast.NamedExpr) and is_mask(values, node.value, frame, hops)


def _inverts(values: Values, operand: ast.expr, frame: Frame, hops: int) -> bool:
    """`~m`: of a tensor it is a mask wherever something is selected by it, as nobody inverts the bits of places."""
    return is_mask(values, operand, frame, hops) or values.of(operand, frame).kind == "tensor"


def _combines(values: Values, node: ast.BinOp, frame: Frame, hops: int) -> bool:
    """`a & b` of a mask and anything; `a * b` of two masks, or of one and another comparison, whatever that is of:
    a truth times a truth is one."""
    both = (node.left, node.right)
    known = [is_mask(values, side, frame, hops) for side in both]
    if isinstance(node.op, _BITS):
        return any(known)
    truths = (isinstance(side, ast.Compare) and not isinstance(side.ops[0], _NO_TENSOR) for side in both)
    return isinstance(node.op, _LIKE_BITS) and any(known) and all(k or t for k, t in zip(known, truths, strict=True))


def _compares_tensors(values: Values, node: ast.Compare, frame: Frame) -> bool:
    value = values.of(node, frame)
    return value.kind == "tensor" or (value.kind == "unknown" and is_result_compared(values, node, frame))


def _of_filled_list(values: Values, node: ast.Subscript, frame: Frame, hops: int) -> bool:
    """`found[i]` of a list that starts empty, and that a function puts nothing into but masks."""
    body = values.body(frame.path)
    if body is None or not isinstance(node.value, ast.Name) or isinstance(node.slice, ast.Slice):
        return False
    made = body.assigned_once(frame.function, node.value.id, frame.at)
    put = body.stored_items(frame.function, node.value.id) if isinstance(made, ast.List) and not made.elts else []
    return bool(put) and all(is_mask(values, one, frame._replace(at=body.at(one)), hops + 1) for one in put)


def _picks_one(index: ast.expr) -> bool:
    """`sizes["mask"]`: an entry of a dict; of a tuple nobody knows which."""
    return is_text(index)


def _call(values: Values, node: ast.Call, frame: Frame, hops: int) -> bool:
    name = last_part(chain(node.func))
    of_torch = _of_torch(values, node, frame)
    receiver = node.func.value if isinstance(node.func, ast.Attribute) and not of_torch else None
    subject = node.args[0] if of_torch and node.args else receiver
    if name in _FACTORIES or name in ("to", "type"):
        told = [k.value for k in node.keywords if k.arg == "dtype"] + node.args
        if any(chain(part) in ("torch.bool", "bool") for part in told):
            return subject is not None or of_torch
        kept = name in ("to", "type") and not any(chain(part).startswith("torch.") for part in told)
        alike = name.endswith("_like") and not any(k.arg == "dtype" for k in node.keywords)
        return (kept or alike) and subject is not None and is_mask(values, subject, frame, hops)
    shown = _shown_by_lambda(values, node, frame)
    if shown is not None:
        return is_mask(values, shown, frame, hops + 1)
    if subject is None:
        return _helper(values, node, frame, hops, ())
    if name in _CONVERTING and not of_torch and not node.args and not node.keywords:
        # Arrays, and all else, are converted otherwise.
        return values.of(subject, frame).kind in ("tensor", "unknown") or is_mask(values, subject, frame, hops)
    if name in _PREDICATES:
        return of_torch or values.of(subject, frame).kind == "tensor"
    if name in _REDUCING:
        dims = node.args[1:] if of_torch else node.args
        return bool(dims or node.keywords) and values.of(subject, frame).kind == "tensor"
    if name in _KEEPING:
        return is_mask(values, subject, frame, hops)
    if name in _JOINING and isinstance(subject, ast.List | ast.Tuple) and subject.elts:
        return is_mask(values, subject.elts[0], frame, hops)
    return _helper(values, node, frame, hops, ())


def _shown_by_lambda(values: Values, node: ast.Call, frame: Frame) -> ast.expr | None:
    """What a lambda of the function is given that shows it in another shape: `flatten = lambda x: x.reshape(-1)`."""
    body = values.body(frame.path) if isinstance(node.func, ast.Name) and len(node.args) == 1 else None
    made = body.assigned_once(frame.function, chain(node.func), frame.at) if body is not None else None
    below = made.body if isinstance(made, ast.Lambda) and len(made.args.args) == 1 else None
    while isinstance(below, ast.Call) and isinstance(below.func, ast.Attribute) and below.func.attr in _KEEPING:
        below = below.func.value
    own = isinstance(made, ast.Lambda) and isinstance(below, ast.Name) and below.id == made.args.args[0].arg
    return node.args[0] if own else None


def _of_torch(values: Values, node: ast.Call, frame: Frame) -> bool:
    thing = values.thing(node.func, frame)
    return thing is not None and thing.kind == "external" and api.is_torchs_own(thing.dotted)


def _helper(values: Values, node: ast.Call, frame: Frame, hops: int, index: tuple[int, ...]) -> bool:
    """What a function of the project gives back on every way."""
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is None:
        return False
    key = targets[0]
    inside = Frame(key.path, key.index, frame.at)
    returned = [r for r in body.returns(key.index) if not index or _has_parts(values, r, index[0], inside, body)]
    parts = [_part(one, index) for one in returned]
    return bool(parts) and all(
        part is not None and is_mask(values, part, inside._replace(at=body.at(part)), hops + 1) for part in parts
    )


def _has_parts(values: Values, node: ast.expr, last: int, frame: Frame, body: Body) -> bool:
    """Whether what a function returns can be what a call takes apart: not where it asks for less, `return x` and
    `return x, loss` before `return x, loss, mask`."""
    if isinstance(node, ast.Tuple | ast.List):
        return last < len(node.elts) or any(isinstance(part, ast.Starred) for part in node.elts)
    return values.of(node, frame._replace(at=body.at(node))).kind != "tensor"


def _part(node: ast.expr, index: tuple[int, ...]) -> ast.expr | None:
    for position in index:
        if not isinstance(node, ast.Tuple | ast.List) or position >= len(node.elts):
            return None
        node = node.elts[position]
    return node


def _name(values: Values, node: ast.Name, frame: Frame, hops: int) -> bool:
    body = values.body(frame.path)
    if body is None:
        return False
    at = max(frame.at, body.at(node)) if node.lineno >= frame.at[0] else frame.at
    reaching = body.reaching(frame.function, node.id, at)
    if reaching is None:
        return _parameter(values, node.id, frame, hops)
    new = [d for d in reaching if d.how != "augmented"]
    # `if mask is None: mask = torch.ones(...)`: one binding beside what was passed tells of both.
    return bool(new) and all(_bound(values, d, frame, hops) for d in new)


def _bound(values: Values, d: Definition, frame: Frame, hops: int) -> bool:
    body = values.body(frame.path)
    if d.value is None or body is None:
        return False
    there = frame._replace(at=body.at(d.value))
    if d.how == "assign":
        return is_mask(values, d.value, there, hops + 1)
    if d.how == "item":
        if len(d.index) == 1 and (whole := _of_rows(d.value)) is not None and is_mask(values, whole, there, hops + 1):
            return True
        if isinstance(d.value, ast.Call):
            return _helper(values, d.value, there, hops, d.index)
        part = _part(d.value, d.index)
        return part is not None and part is not d.value and is_mask(values, part, there, hops + 1)
    return d.how == "loop" and _row(values, d, there, hops)


def _of_rows(node: ast.expr) -> ast.expr | None:
    """The tensor whose rows are taken apart: `inner, outer = (mask & valid).T`, `left, right = mask.unbind(1)`."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return node.value
    parts = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ROWS
    return node.func.value if parts else None  # type: ignore[attr-defined]


def _row(values: Values, d: Definition, frame: Frame, hops: int) -> bool:
    """`for row, mask in zip(x, masks)`: each row of a mask is one."""
    part: ast.expr | None = d.value
    index = d.index
    while isinstance(part, ast.Call) and index:
        called = chain(part.func)
        if called in ("zip", "zip_longest") and index[0] < len(part.args):
            part, index = part.args[index[0]], index[1:]
        elif called == "enumerate" and index[0] == 1 and part.args:
            part, index = part.args[0], index[1:]
        else:
            return False
    return part is not None and not index and is_mask(values, part, frame, hops + 1)


def _parameter(values: Values, name: str, frame: Frame, hops: int) -> bool:
    """A parameter that is annotated or documented so, that the function uses as one, or to which all give a mask."""
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    own = next((p for p in record.parameters if p.name == name), None)
    if own is None:
        return False
    if _BOOL.search(own.annotation) or name in asked_as_masks(values, key):
        return True
    body = values.body(key.path)
    if body is not None and own.annotation != "bool" and is_documented_mask(body, key.index, name):
        return True
    callers = values.hotness.callers.get(key, ())
    hot = values.hotness.functions.get(key)
    known = hot is not None and hot.kind in ("step", "forward") and hot.confidence is Confidence.CERTAIN
    unsaid = not own.annotation or own.annotation.endswith("Tensor")
    by_name = known and unsaid and _CALLED_MASK.search(name) is not None
    if not 0 < len(callers) <= _CALLERS:
        return by_name
    return all(_given_mask(values, site, record, name, hops, by_name) for site in callers)


def _given_mask(values: Values, site: CallSite, record: Function, name: str, hops: int, by_name: bool) -> bool:
    """Whether a call gives a mask for a parameter, or what is only known by its name to be one."""
    call, body = call_at(values, site), values.body(site.path)
    given = argument_for(call, record, name) if call is not None else None
    if given is None or body is None:
        return False
    there = Frame(site.path, site.call.function, body.at(given))
    if is_mask(values, given, there, hops + 1):
        return True
    return by_name and (is_none(given) or _CALLED_MASK.search(last_part(chain(given))) is not None)


def _attribute(values: Values, node: ast.Attribute, frame: Frame, hops: int) -> bool:
    if node.attr in ("T", "mT", "data"):
        return is_mask(values, node.value, frame, hops)
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not isinstance(node.value, ast.Name) or values.thing(node.value, frame) != own:
        return is_split_mask(node) or is_kept_mask(values, node, is_mask)
    body = values.body(own.path)
    found = [(f, v) for f, v, _ in setters(values, own, node.attr) if not is_none(v)]
    if body is None or not found:
        return False
    return all(is_mask(values, value, Frame(own.path, f, body.at(value)), hops + 1) for f, value in found)
