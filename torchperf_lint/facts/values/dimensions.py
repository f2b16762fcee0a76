"""How many dimensions a tensor has, as the code shows that makes it, unpacks its shape, or tests it.

None where nothing shows it: a wrong number would call several elements one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.dimensions_told import told
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_SIZED = frozenset({"empty", "zeros", "ones", "new_empty", "new_zeros", "new_ones", "rand", "randn"})
"""Take their sizes one by one, or in one tuple."""
_FILLED = frozenset({"full", "new_full"})
_NESTED = frozenset({"tensor", "new_tensor", "as_tensor"})
_MADE = {"eye": 2, "arange": 1, "linspace": 1, "randperm": 1, "bincount": 1, "masked_select": 1, "mm": 2}
_FLAT = frozenset({"flatten", "ravel", "unique"})
_ALIKE = frozenset(
    "clone to float double half int long bool contiguous cuda cpu detach abs neg exp log log2 sqrt square sigmoid "
    "real imag softmax log_softmax tanh relu clamp clamp_ clamp_min clamp_max round floor ceil sign cumsum cumprod "
    "argsort masked_fill_ nan_to_num type requires_grad_ conj t transpose permute flip roll index_select multinomial "
    "zeros_like ones_like full_like empty_like rand_like randn_like logical_not isnan isfinite type_as mul_ add_ sub_ "
    "div_ fill_ zero_ normal_ uniform_ Variable".split()
)
"""Functions and methods whose result has as many dimensions as their tensor, whatever else they are given."""
_REDUCES = frozenset(
    "sum mean max min amax amin argmax argmin prod any all median mode std var logsumexp count_nonzero nansum "
    "nanmean".split()
)
_LENGTHS = pattern(r"(?:^|_)(?:lengths|lens|seqlens|olens|ilens)$")
_PAIRS = api.PAIR_METHODS
_KEPT_PAIRS = frozenset({"sort", "topk", "cummax", "cummin"})
"""Give as many dimensions as they take."""
_MAX_STEPS = 10
_A_CALL = 3
"""Steps that it takes to ask the callers of a function."""
_CALLERS = 4


def dimensions(values: Values, node: ast.expr, frame: Frame, steps: int = _MAX_STEPS) -> int | None:
    """How many dimensions a tensor has; 0 of one number. None where that is not seen."""
    if steps <= 0 or values.body(frame.path) is None:
        return None
    if isinstance(node, ast.Name):
        return _of_name(values, node, frame, steps)
    if isinstance(node, ast.Attribute):
        return _of_attribute(values, node, frame, steps - 1)
    if isinstance(node, ast.Subscript):
        return _of_part(values, node, frame, steps - 1)
    if isinstance(node, ast.BinOp):
        return _of_sides(values, [node.left, node.right], frame, steps - 1, product=isinstance(node.op, ast.MatMult))
    if isinstance(node, ast.Compare):
        return _of_sides(values, [node.left, *node.comparators], frame, steps - 1)
    if isinstance(node, ast.UnaryOp):
        return dimensions(values, node.operand, frame, steps - 1)
    return _of_call(values, node, frame, steps - 1) if isinstance(node, ast.Call) else None


def _of_sides(values: Values, sides: list[ast.expr], frame: Frame, steps: int, product: bool = False) -> int | None:
    """Of arithmetic, in which numbers of the host have none."""
    known = [0 if _is_number(values, side, frame) else dimensions(values, side, frame, steps) for side in sides]
    if any(one is None for one in known):
        return None
    found = [one for one in known if one is not None]
    if product:
        return {(2, 2): 2, (2, 1): 1, (1, 2): 1, (1, 1): 0}.get((found[0], found[-1]))
    return max(found)


def _is_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    return values.of(node, frame).kind == "plain"


# -- names and attributes --------------------------------------------------------------------------------------------


def _of_name(values: Values, node: ast.Name, frame: Frame, steps: int) -> int | None:
    body = values.body(frame.path)
    assert body is not None
    shown = told(body, node.id, frame)
    if shown is not None:
        return shown
    reaching = body.reaching(frame.function, node.id, frame.at)
    if reaching is None:
        found = _given(values, node.id, frame, steps - _A_CALL)
    else:
        each = {_of_definition(values, d, frame, steps - 1) for d in reaching}
        found = each.pop() if len(each) == 1 else None
    # One length for each sample: nobody calls a table so.
    return 1 if found is None and _LENGTHS.search(node.id) else found


def _given(values: Values, name: str, frame: Frame, steps: int) -> int | None:
    """What all calls that are seen of a function pass for a parameter."""
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    callers = values.hotness.callers.get(key, ())
    if steps <= 0 or len(callers) > _CALLERS or name not in {p.name for p in record.parameters}:
        return None
    each = set()
    for caller in callers:
        call = call_at(values, caller)
        given, body = argument_for(call, record, name) if call is not None else None, values.body(caller.path)
        if given is None or body is None:
            return None
        each.add(dimensions(values, given, Frame(caller.path, caller.call.function, body.at(given)), steps))
    return each.pop() if len(each) == 1 else None


def _of_definition(values: Values, d: Definition, frame: Frame, steps: int) -> int | None:
    body = values.body(frame.path)
    if d.value is None or body is None:
        return None
    there = frame._replace(at=d.at if d.how == "augmented" else body.at(d.value))
    if d.how in ("assign", "augmented"):
        return dimensions(values, d.value, there, steps)
    if d.how == "loop":
        whole = walked(d.value, d.index)
        known = dimensions(values, whole, there, steps) if whole is not None else None
        return known - 1 if known else None
    if d.how != "item" or len(d.index) != 1:
        return None
    if isinstance(d.value, ast.Tuple):
        part = d.value.elts[d.index[0]] if d.index[0] < len(d.value.elts) else None
        return dimensions(values, part, there, steps) if part is not None else None
    found = _of_several(values, d.value, d.index[0], there, steps)
    return _of_helper(values, d.value, d.index, there, steps) if found is None else found


def _of_helper(values: Values, node: ast.expr, index: tuple[int, ...], frame: Frame, steps: int) -> int | None:
    """What a function of the project gives back on every way, or the `index`-th of what it gives."""
    if not isinstance(node, ast.Call):
        return None
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is None or steps <= _A_CALL:
        return None
    path, function = targets[0].path, targets[0].index
    each = set()
    for part in body.returns(function):
        given: ast.expr | None = part
        for position in index:
            inside = given.elts if isinstance(given, ast.Tuple) else []
            given = inside[position] if position < len(inside) else None
        there = Frame(path, function, body.at(part))
        each.add(dimensions(values, given, there, steps - _A_CALL) if given is not None else None)
    return each.pop() if len(each) == 1 else None


def walked(iterated: ast.expr, index: tuple[int, ...]) -> ast.expr | None:
    """What a loop takes the elements of: `x` of `for i, row in enumerate(x)`, of `for row, y in zip(x, ys)`."""
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
        name = iterated.func.id
        if name == "enumerate":
            return walked(iterated.args[0], index[1:]) if index[:1] == (1,) else None
        if name == "zip" and index and index[0] < len(iterated.args):
            return walked(iterated.args[index[0]], index[1:])
        if name in ("tqdm", "reversed", "iter"):
            return walked(iterated.args[0], index)
    return iterated if not index else None


def _of_attribute(values: Values, node: ast.Attribute, frame: Frame, steps: int) -> int | None:
    if node.attr in api.PAIR_NAMES:
        found = _of_several(values, node.value, api.PAIR_NAMES[node.attr], frame, steps)
        if found is not None:
            return found
    if node.attr in ("data", "real", "grad", "T", "H"):
        return dimensions(values, node.value, frame, steps)
    return _of_buffer(values, node, frame, steps)


def _of_buffer(values: Values, node: ast.Attribute, frame: Frame, steps: int) -> int | None:
    """A buffer of the module, by what it was registered with."""
    own = values.index.class_of(frame.path, frame.function)
    if own is None or chain(node.value) != "self":
        return None
    found = [(f, value) for f, value, buffer in setters(values, own, node.attr) if buffer]
    body = values.body(own.path)
    if len(found) != 1 or body is None:
        return None
    function, value = found[0]
    return dimensions(values, value, Frame(own.path, function, body.at(value)), steps)


# -- parts -----------------------------------------------------------------------------------------------------------


def _of_part(values: Values, node: ast.Subscript, frame: Frame, steps: int) -> int | None:
    """`x[i]` of a number has one less, `x[:, 0]` too; `x[None]` one more."""
    several = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
    if several and isinstance(node.value, ast.Call | ast.Name) and isinstance(node.slice, ast.Constant):
        found = _of_several(values, _bound(values, node.value, frame), node.slice.value, frame, steps)
        if found is not None:
            return found
    known = dimensions(values, node.value, frame, steps)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if known is None or any(isinstance(part, ast.Starred) for part in parts):
        return None
    for part in parts:
        change = _changed_by(values, part, frame, steps)
        if change is None:
            return None
        known += change
    return known if known >= 0 else None


def _bound(values: Values, node: ast.expr, frame: Frame) -> ast.expr:
    body = values.body(frame.path)
    made = body.assigned_once(frame.function, node.id, frame.at) if isinstance(node, ast.Name) and body else None
    return made if made is not None else node


def _changed_by(values: Values, part: ast.expr, frame: Frame, steps: int) -> int | None:
    """By how much one part of an index changes the number of dimensions."""
    if isinstance(part, ast.Slice):
        return 0
    if isinstance(part, ast.Constant):
        return 1 if part.value is None else 0 if part.value is ... else -1 if type(part.value) is int else None
    if values.of(part, frame).kind == "plain" or dimensions(values, part, frame, steps) == 0:
        return -1
    return None


# -- calls -----------------------------------------------------------------------------------------------------------


def _of_call(values: Values, node: ast.Call, frame: Frame, steps: int) -> int | None:
    name = last_part(chain(node.func)) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
    thing = values.thing(node.func, frame)
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if (thing is not None and thing.kind != "external") or not isinstance(node.func, ast.Attribute):
        return _of_helper(values, node, (), frame, steps)
    if thing is not None and not thing.dotted.startswith("torch."):
        return None
    free = thing is not None and api.is_torchs_own(thing.dotted)  # else a method, of `torch.eye(3)` too
    subject = (node.args[0] if node.args else None) if free else node.func.value
    given = node.args[1:] if free else node.args
    if free or name.startswith("new_"):
        found = _of_factory(node, name)
        if found is not None:
            return found
    if subject is None:
        return None
    if name in _REDUCES:
        return _of_reduction(values, node, name, subject, given, frame, steps)
    return _of_shaping(values, node, name, subject, given, frame, steps)


def _of_factory(node: ast.Call, name: str) -> int | None:
    if name in ("eye", "arange", "linspace", "randperm"):
        return _MADE[name]
    if name in _FILLED:
        return _listed(node.args[0]) if node.args else None
    if name in _NESTED:
        return _nested(node.args[0]) if node.args else None
    if name == "randint":
        sizes = next((k.value for k in node.keywords if k.arg == "size"), node.args[-1] if node.args else None)
        return len(sizes.elts) if isinstance(sizes, ast.Tuple | ast.List) else None
    if name not in _SIZED or not node.args:
        return None
    return len(node.args) if len(node.args) > 1 else _listed(node.args[0])


def _listed(sizes: ast.expr) -> int | None:
    """The dimensions that `(3, 3)` or `2` asks for; a name may stand for either."""
    if isinstance(sizes, ast.Tuple | ast.List):
        return len(sizes.elts) if not any(isinstance(e, ast.Starred) for e in sizes.elts) else None
    return 1 if isinstance(sizes, ast.Constant) and isinstance(sizes.value, int) else None


def _nested(data: ast.expr) -> int | None:
    """How deep lists of numbers lie in each other; a name may stand for a list."""
    depth = 0
    while isinstance(data, ast.List | ast.Tuple) and data.elts:
        data, depth = data.elts[0], depth + 1
    bare = data.operand if isinstance(data, ast.UnaryOp) else data
    return depth if isinstance(bare, ast.Constant) or depth else None


def _of_reduction(
    values: Values, node: ast.Call, name: str, subject: ast.expr, given: list[ast.expr], frame: Frame, steps: int
) -> int | None:
    """A reduction without a dimension gives one number; along one, a tensor with one dimension less, or a pair."""
    known = {k.arg: k.value for k in node.keywords}
    along = known.get("dim", known.get("axis", given[0] if given else None))
    if along is None:
        return 0 if set(known) <= {"dtype"} and _is_tensor(values, subject, frame) else None
    if name in _PAIRS:
        return None
    return _along(values, subject, along, _keeps(known, given), frame, steps)


def _keeps(known: dict[str | None, ast.expr], given: list[ast.expr]) -> bool | None:
    """Whether a reduction keeps the dimension; None where that is not written as a constant."""
    kept = known.get("keepdim", known.get("keepdims", given[1] if len(given) > 1 else None))
    if kept is None:
        return False
    return is_true(kept) if isinstance(kept, ast.Constant) else None


def _along(
    values: Values, subject: ast.expr, along: ast.expr, keeps: bool | None, frame: Frame, steps: int
) -> int | None:
    whole = dimensions(values, subject, frame, steps)
    bare = along.operand if isinstance(along, ast.UnaryOp) else along
    if whole is None or keeps is None:
        return None
    if not isinstance(along, ast.Tuple | ast.List) and not isinstance(bare, ast.Constant):
        return None
    count = len(along.elts) if isinstance(along, ast.Tuple | ast.List) else 1
    return None if count > whole else whole if keeps else whole - count


def _of_shaping(
    values: Values, node: ast.Call, name: str, subject: ast.expr, given: list[ast.expr], frame: Frame, steps: int
) -> int | None:
    if name in _FLAT and not given and not any(k.arg not in ("sorted",) for k in node.keywords):
        return 1 if _is_tensor(values, subject, frame) else None
    if name in ("view", "reshape"):
        if len(given) > 1:
            return len(given)
        return 1 if given and ast.unparse(given[0]) == "-1" else _listed(given[0]) if given else None
    if name in ("bincount", "masked_select", "mm"):
        return _MADE[name]
    if name in ("nonzero", "argwhere"):
        return None if node.keywords else 2
    if name == "gather" and len(given) > 1:
        return dimensions(values, given[1], frame, steps)
    if name in ("unsqueeze", "squeeze"):
        known = dimensions(values, subject, frame, steps) if name == "unsqueeze" else None
        return known + 1 if known is not None else None
    if name in ("stack", "cat") and isinstance(subject, ast.List | ast.Tuple) and subject.elts:
        first = dimensions(values, subject.elts[0], frame, steps)
        return first + (name == "stack") if first is not None else None
    return dimensions(values, subject, frame, steps) if name in _ALIKE else None


def _of_several(values: Values, made: ast.expr, position: object, frame: Frame, steps: int) -> int | None:
    """One of the tensors that a call gives: `x.max(1)[1]`, `torch.where(m)[0]`, `x.unique(return_counts=True)[1]`."""
    made = _bound(values, made, frame)
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute) or not isinstance(position, int):
        return None
    name, written = made.func.attr, chain(made.func)
    free = written.startswith("torch.") and "()" not in written  # else a method, of `torch.randn(n)` too
    known = {k.arg: k.value for k in made.keywords}
    if name in ("nonzero", "where"):
        operands = len(made.args) + (not free)
        return 1 if operands == 1 and (name == "where" or "as_tuple" in known) else None
    if name == "unique" and any(arg is not None and arg.startswith("return_") for arg in known) and "dim" not in known:
        return 1 if position == 0 or "return_inverse" not in known else None
    if name not in _PAIRS or not (made.args or not free):
        return None
    subject, given = (made.args[0], made.args[1:]) if free else (made.func.value, made.args)
    if name in _KEPT_PAIRS:
        return dimensions(values, subject, frame, steps)
    along = known.get("dim", known.get("axis", given[0] if given else None))
    return _along(values, subject, along, _keeps(known, given), frame, steps) if along is not None else None


def _is_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    return values.of(node, frame).kind == "tensor"
