"""Dicts and lists whose entries a statement moves to the device where they are: from there on the batch is there.

    for key, value in batch.items():           move_dict_to_device(batch, device)
        batch[key] = value.to(device)

The second is a function of the project that does the first with what it is given; it may hand that back, too. Either
may stand in `if torch.cuda.is_available():`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.devices.devices import device_of, target_device
from torchperf_lint.facts.outlines.device_tests import is_option, says_cuda
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, Frame, Value
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MOVES = frozenset({"to", "cuda", "cpu"})
_WRAPS = frozenset({"list", "tuple", "sorted", "enumerate", "range", "len"})
"""What a loop may put around the container that it goes through."""
_VIEWS = frozenset({"items", "keys"})
_STAYS = frozenset("float half bfloat16 double long int bool contiguous detach clone unsqueeze squeeze".split())
"""Methods whose result is where the tensor is."""


class InPlace(NamedTuple):
    """A statement that moves the entries of a container and puts them back."""

    name: str
    statement: ast.stmt
    move: ast.Call
    where: FunctionKey
    """The function that the move stands in."""
    chosen: bool
    """Whether a test of their keys picks the entries that are moved."""
    call: ast.Call | None = None
    """The call of that function, where it is another."""


def moved_in_place(values: Values, name: str, frame: Frame, body: Body) -> InPlace | None:
    """What has moved the entries of what a name holds, whichever way leads to a place; None where nothing has."""
    for found in reversed(_in_function(values, FunctionKey(frame.path, frame.function), body)):
        if found.name != name or body.at(found.statement, end=True) > frame.at:
            continue
        if not _goes_to_device(values, found, frame):
            return None
        if _always_before(found.statement, name, frame, body):
            return found if not _put_by_keys_since(found.statement, name, frame, body) else None
    return None


def _put_by_keys_since(statement: ast.stmt, name: str, frame: Frame, body: Body) -> bool:
    """Whether something else is put under keys that nobody can tell, `batch[key] = batch[key].cpu()`, after a move."""
    told = {id(value) for written in body.put_under(frame.function, name).values() for value in written}
    put = (value for value in body.stored_items(frame.function, name) if id(value) not in told)
    since = (value for value in put if body.at(statement, end=True) < body.at(value) < frame.at)
    return any(not _is_part(value, name, frame, body) for value in since)


def after_its_move(values: Values, name: str, value: Value, frame: Frame, body: Body) -> Value:
    """A batch as it is where its entries have been moved in place, as far as the keys do not pick them."""
    moved = moved_in_place(values, name, frame, body) if value.kind == "batch" and value.device == HOST else None
    if moved is None:
        return value
    because = f"`{name}`, a batch that line {moved.statement.lineno} moves in place"
    device = ANYWHERE if moved.chosen else DEVICE
    return value._replace(device=device, because=because, levels=1).weaker(Confidence.LIKELY)


def entry_of_moved(node: ast.Subscript, base: Value) -> Value:
    """A part of a batch on the device; what a dict in a dict holds, `data["info"]["count"]`, a loop has left alone."""
    if base.levels is None or not is_text(node.slice):
        return base
    return base._replace(levels=base.levels - 1) if base.levels else base._replace(device=ANYWHERE)


def _in_function(values: Values, key: FunctionKey, body: Body) -> tuple[InPlace, ...]:
    if key not in values.moved_in_place:
        ordered = sorted(body.statements(key.index), key=body.at)
        values.moved_in_place[key] = tuple(found for s in ordered for found in _of(values, s, key))
    return values.moved_in_place[key]


def _of(values: Values, statement: ast.stmt, key: FunctionKey) -> Iterator[InPlace]:
    if isinstance(statement, ast.For):
        yield from _of_loop(values, statement, key)
    elif isinstance(statement, ast.Expr | ast.Assign):
        for call in _always_made(statement.value):
            yield from _of_call(values, statement, call, key)


def _always_made(node: ast.expr) -> Iterator[ast.Call]:
    """The calls that an expression makes in any case: both of `model(to_device(batch, device))["logits"]`."""
    pending: list[ast.expr] = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
            pending += [node.func, *node.args, *(k.value for k in node.keywords)]
        elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            pending.append(node.value)


def _of_loop(values: Values, loop: ast.For, key: FunctionKey) -> Iterator[InPlace]:
    """`for key, value in batch.items(): batch[key] = value.to(device)`."""
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
    container = _gone_through(loop.iter)
    if container is None or not isinstance(first, ast.Name):
        return
    stored = f"{container}[{first.id}]"
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and ast.unparse(node.targets[0]) == stored:
            move, where = _move_of(node.value), key
            if move is None and isinstance(node.value, ast.Call):
                move, where = _moved_by_helper(values, node.value, key)
            if move is not None:
                yield InPlace(container, loop, move, where, _asks_for(loop, first.id))
                return


def _gone_through(node: ast.expr) -> str | None:
    """The name of the container: `batch` of `batch.items()`, `list(batch.keys())` and `range(len(batch))`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _WRAPS and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS and not node.args:
            node = node.func.value
        else:
            return None
    return node.id if isinstance(node, ast.Name) else None


def _move_of(value: ast.expr) -> ast.Call | None:
    """The move that a tensor comes from as it is put back: `v.to(device)`, `v.to(device).float() if full else v`."""
    if isinstance(value, ast.IfExp):
        moves = [move for move in (_move_of(value.body), _move_of(value.orelse)) if move is not None]
        return next((move for move in moves if last_part(chain(move.func)) == "cpu"), next(iter(moves), None))
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in _MOVES:
            return value
        if value.func.attr not in _STAYS:
            return None
        value = value.func.value
    return None


def _moved_by_helper(values: Values, call: ast.Call, key: FunctionKey) -> tuple[ast.Call | None, FunctionKey]:
    """The move in a function that does nothing else, `return x.to(self.device)`, with that function."""
    targets = values.types.targets(key.path, key.index, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    returned = body.returns(targets[0].index) if body is not None else []
    move = _move_of(returned[0]) if len(returned) == 1 else None
    if move is None or not isinstance(move.func, ast.Attribute) or not isinstance(move.func.value, ast.Name):
        return None, key
    parameters = {parameter.name for parameter in values.index.function(targets[0]).parameters}
    # What a device is that the helper is handed, each of its calls says for itself.
    given = [*move.args, *(keyword.value for keyword in move.keywords)]
    told = any(isinstance(one, ast.Name) and one.id in parameters for one in given)
    return (move, targets[0]) if move.func.value.id in parameters and not told else (None, key)


def _is_part(value: ast.expr, name: str, frame: Frame, body: Body) -> bool:
    """Whether what is put back is what was there, on the same device: `batch[key].float()`, `value.float()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _STAYS:
        value = value.func.value
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and value.value.id == name
    bound = body.reaching(frame.function, value.id, body.at(value)) if isinstance(value, ast.Name) else None
    return bool(bound) and all(d.how == "loop" and d.value and _gone_through(d.value) == name for d in bound or ())


def _asks_for(loop: ast.For, key: str) -> bool:
    """Whether a test in the loop looks at the key itself, `if key in skipped`, and not at what is under it."""
    tests = [node.test for node in ast.walk(loop) if isinstance(node, ast.If | ast.IfExp)]
    entries = {id(node.slice) for test in tests for node in ast.walk(test) if isinstance(node, ast.Subscript)}
    return any(
        isinstance(node, ast.Name) and node.id == key and id(node) not in entries
        for test in tests
        for node in ast.walk(test)
    )


def _of_call(values: Values, statement: ast.stmt, call: ast.Call, key: FunctionKey) -> Iterator[InPlace]:
    """`move_dict_to_device(batch, device)`, where that function always does so."""
    if not any(isinstance(given, ast.Name) for given in (*call.args, *(k.value for k in call.keywords))):
        return
    targets = values.types.targets(key.path, key.index, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is None:
        return
    function = values.index.function(targets[0])
    parameters = {parameter.name for parameter in function.parameters}
    leaves = min((s.lineno for s in body.statements(targets[0].index) if isinstance(s, ast.Return)), default=10**9)
    for loop in body.functions[targets[0].index].body if targets[0].index in body.functions else ():
        if loop.lineno > leaves:
            return
        for found in _of_loop(values, loop, targets[0]) if isinstance(loop, ast.For) else ():
            given = argument_for(call, function, found.name) if found.name in parameters else None
            if isinstance(given, ast.Name) and not body.definitions(targets[0].index).get(found.name):
                for name in _names_after(statement, call, given.id, found.name, body.returns(targets[0].index)):
                    yield found._replace(name=name, statement=statement, call=call)


def _names_after(
    statement: ast.stmt, call: ast.Call, given: str, parameter: str, returned: list[ast.expr]
) -> list[str]:
    """The names that hold what a call has moved: of `batch = moved(batch)` where that hands back what it is given."""
    bound = [t.id for t in statement.targets if isinstance(t, ast.Name)] if isinstance(statement, ast.Assign) else []
    handed = isinstance(statement, ast.Assign) and statement.value is call
    if handed and returned and all(isinstance(one, ast.Name) and one.id == parameter for one in returned):
        return list(dict.fromkeys([given, *bound]))
    return [given] if given not in bound else []


def _always_before(statement: ast.stmt, name: str, frame: Frame, body: Body) -> bool:
    """Whether a statement has ended where all that the name may hold has come by it, with a device."""
    start = (statement.lineno, statement.col_offset + 1)
    if (statement.end_lineno or 0, (statement.end_col_offset or 0) + 1) > frame.at:
        return False
    taken = _with_a_device(frame.function, body)
    around = body.block_of(frame.function, start)
    block = tuple(part for part in around if part[0] != statement.lineno and part not in taken)
    if body.block_of(frame.function, frame.at)[: len(block)] == block:
        bound = body.reaching(frame.function, name, frame.at) or ()
        made = statement.value if isinstance(statement, ast.Assign) else None
        return all(d.end <= start or (made is not None and d.value is made) for d in bound)
    bound = [d for d in body.reaching(frame.function, name, frame.at) or () if not isinstance(d.value, ast.Constant)]
    return bool(bound) and all(d.end <= start and d.block[: len(block)] == block for d in bound)


def _with_a_device(function: int, body: Body) -> frozenset[tuple[int, str]]:
    """The blocks of a function that run with a device: `if torch.cuda.is_available():`, `if args.cuda:`."""
    tests = (s for s in body.statements(function) if isinstance(s, ast.If))
    return frozenset((s.lineno, "body") for s in tests if is_option(s.test) or _asks_the_machine(s.test))


def _asks_the_machine(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and says_cuda(test)


def _goes_to_device(values: Values, found: InPlace, frame: Frame) -> bool:
    move, where = found.move, found.where
    if isinstance(move.func, ast.Attribute) and move.func.attr != "to":
        return move.func.attr == "cuda"
    told = next((k.value for k in move.keywords if k.arg == "device"), next(iter(move.args), None))
    function = values.index.function(where)
    if found.call is not None and isinstance(told, ast.Name) and told.id in {p.name for p in function.parameters}:
        given = argument_for(found.call, function, told.id)
        if given is not None:
            return device_of(values, given, frame) == DEVICE
    body = values.body(where.path)
    at = body.at(move) if body is not None else frame.at
    return target_device(values, move, frame.hop(where.path, where.index, at)) == DEVICE
