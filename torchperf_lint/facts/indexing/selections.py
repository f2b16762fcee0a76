"""Operations on device tensors whose result is as large as the data say: `x[mask]`, `nonzero`, `unique`.

The size is needed on the host to allocate the result; the host waits for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.bindings.effects import unpacked
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, spot_at
from torchperf_lint.facts.indexing.masks import is_mask, may_be_mask
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence

LOAD, STORE, CHANGE, INDICES, DISTINCT = "load", "store", "change", "indices", "distinct"
"""`x[mask]`; `x[mask] = y`; `x[mask] *= 2`, which loads and stores; `mask.nonzero()`; `torch.unique(y)`."""
_INDICES = frozenset({"nonzero", "argwhere", "where"})
_DISTINCT = frozenset({"unique", "unique_consecutive"})
_OF_TWO = frozenset({"max", "min"})
_CALLS = _INDICES | _DISTINCT | {"masked_select"}


class Selection(NamedTuple):
    """A hot operation that waits for the size of its result."""

    spot: Spot
    """The subscript or call."""
    form: str
    base: ast.expr
    """The tensor that is selected from; of `nonzero` the mask itself."""
    mask: ast.expr
    """What decides the size."""
    key: str
    """The mask as written and where its names are bound: what two selections by the same mask share."""


def selections(file: SourceFile) -> Iterator[Selection]:
    """The hot selections of a file that may be of tensors; where those lie is another question, `base_of`."""
    if file.project.body(file.path) is None:
        return
    for function in hot_functions(file):
        for node in file.enclosing(function).of_kinds((ast.Subscript, ast.Call)):
            parts = _subscript(node) if isinstance(node, ast.Subscript) else []
            spot = spot_at(file, node, function) if parts or _named(node) else None
            if spot is None or spot.hot.kind == "data":
                continue
            found = _by_mask(spot, parts) if isinstance(node, ast.Subscript) else _by_call(spot)
            if found is not None and not _for_the_host(spot):
                yield found


def base_of(selection: Selection) -> Value | None:
    """The value of the tensor that is selected from, where that is on the device and no mask of the host decides."""
    spot, file = selection.spot, selection.spot.file
    mask = file.value(selection.mask, spot)
    if mask.kind == "array" or (mask.kind == "tensor" and mask.device == HOST):
        return None  # a mask of the host is copied to the device: another rule's
    value = on_device(file, spot, selection.base)
    if value is not None and value.kind == "batch" and mask.kind == "tensor":
        value = value._replace(kind="tensor")  # no other container takes a tensor for an index
    if value is None and mask.kind == "tensor" and file.value(selection.base, spot).kind == "unknown":
        masked = on_device(file, spot, selection.mask)  # what is indexed by a tensor that may be there is there, too
        value = masked.weaker(Confidence.LIKELY) if masked is not None else None
    return value if value is not None and value.kind == "tensor" else None


def base_beside(selection: Selection, found: Sequence[Selection]) -> Value | None:
    """What `base_of` gives, or a tensor, where the same mask selects from one that is surer to be on the device: what
    one mask selects from lies together."""
    value, spot = base_of(selection), selection.spot
    unsure = value is not None and value.confidence is Confidence.POSSIBLE
    if not unsure and (value is not None or spot.file.value(selection.base, spot).kind != "unknown"):
        return value
    for other in found:
        alike = other is not selection and (other.spot.function, other.key) == (spot.function, selection.key)
        beside = base_of(other) if alike else None
        if beside is not None and (value is None or beside.confidence is not Confidence.POSSIBLE):
            name = ast.unparse(other.base)
            told = f"the same mask selects from `{name}`, a tensor: {beside.because}"
            return beside.weaker(Confidence.LIKELY).with_reason(told)
    return value


def _subscript(node: ast.Subscript) -> list[ast.expr]:
    """The parts of an index that may be masks, where the others take slices or single places."""
    if isinstance(node.ctx, ast.Del) or isinstance(node.value, ast.Constant | ast.List | ast.Tuple | ast.Dict):
        return []
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [part for part in parts if may_be_mask(part)]


def _by_mask(spot: Spot, parts: list[ast.expr]) -> Selection | None:
    node = spot.expression
    assert isinstance(node, ast.Subscript)
    values, frame = spot.file.project.values, spot.frame
    mask = next((part for part in parts if is_mask(values, part, frame)), None)
    if mask is None:
        return None
    if isinstance(node.ctx, ast.Load):
        return Selection(spot, LOAD, node.value, mask, key_of(spot, mask))
    statement = spot.file.enclosing(spot.function).statement(node)
    if isinstance(statement, ast.AugAssign):
        return Selection(spot, CHANGE, node.value, mask, key_of(spot, mask))
    stored = stored_value(statement, node) if isinstance(statement, ast.Assign) else None
    if stored is None or not _is_tensor(spot, stored):
        return None  # a number is filled in, which needs no size
    return Selection(spot, STORE, node.value, mask, key_of(spot, mask))


def stored_value(statement: ast.Assign, target: ast.expr) -> ast.expr | None:
    """What an assignment puts into a target: `f(x)[1]` into the second of `a[mask], b[mask] = f(x)`."""
    for whole in statement.targets:
        if whole is target:
            return statement.value
        if isinstance(whole, ast.Tuple | ast.List):
            found = next((item for part, item in unpacked(whole, statement.value) if part is target), None)
            if found is not None:
                return found
    return None


def _is_tensor(spot: Spot, node: ast.expr) -> bool:
    value = spot.file.value(node, spot)
    if isinstance(node, ast.Call) and last_part(chain(node.func)) in _OF_TWO and value.item is not None:
        value = value.item  # the larger of two: a pair of values and places nobody can store
    return value.kind == "tensor" and value.device != HOST


def _named(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and (last_part(chain(node.func)) in _CALLS)
    )


def _by_call(spot: Spot) -> Selection | None:
    """`torch.nonzero(m)`, `m.nonzero()`, `torch.where(m)`, `x.masked_select(m)`, `torch.unique(x)`."""
    call = spot.expression
    assert isinstance(call, ast.Call)
    name = last_part(chain(call.func))
    denoted = spot.file.denotes(call.func, spot) or ""
    of_torch = api.is_torchs_own(denoted)
    if of_torch:
        operands = list(call.args)
    elif isinstance(call.func, ast.Attribute) and not denoted.startswith(("numpy.", "pandas.")):
        operands = [call.func.value, *call.args]
    else:
        return None
    wanted = 2 if name == "masked_select" else 1
    if len(operands) < wanted or (name == "where" and (len(operands) != 1 or not of_torch)):
        return None
    mask = operands[wanted - 1]
    form = INDICES if name in _INDICES else DISTINCT if name in _DISTINCT else LOAD
    return Selection(spot, form, operands[0], mask, key_of(spot, mask))


def _for_the_host(spot: Spot) -> bool:
    """`compact = x.device.type == "cpu"`, and then `if compact:`: the selection runs where nothing waits."""
    body = spot.file.project.body(spot.file.path)
    assert body is not None
    inner: ast.AST = spot.expression
    for parent in spot.file.enclosing(spot.function).around(spot.expression):
        if isinstance(parent, ast.If) and isinstance(parent.test, ast.Name) and inner in parent.body:
            reaching = body.reaching(spot.function, parent.test.id, body.at(parent.test)) or ()
            made = [
                d.value for d in reaching if isinstance(d.value, ast.Compare) and isinstance(d.value.ops[0], ast.Eq)
            ]
            if any(is_literal(c, "cpu") for m in made for c in m.comparators):
                return True
        inner = parent
    return False


def key_of(spot: Spot, mask: ast.expr) -> str:
    """A mask as written, with the lines on which its names are bound where a place is."""
    body = spot.file.project.body(spot.file.path)
    assert body is not None
    bound = []
    for part in ast.walk(mask):
        if isinstance(part, ast.Name):
            reaching = body.reaching(spot.function, part.id, max(body.at(part), spot.start)) or ()
            bound += [f"{part.id}:{d.at[0]}" for d in reaching]
    return " ".join([ast.unparse(mask), *sorted(set(bound))])
