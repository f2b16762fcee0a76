"""Numbers that a module keeps in a buffer made of what its constructor got, and reads back in every pass.

    self.register_buffer("params", torch.tensor([K, T, -1, momentum]))
    ...
    T = self.params[1].item()        # a wait for the device, for what the constructor had as a Python number

An entry that a pass writes is one as well where it does so once: behind a test of the number that it has just read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.bindings.hints import default_of, numeric_parameter
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.constants.held import changed_in
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.syntax.syntax import names_of

_MAKING = frozenset({"tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor"})
_THROUGH = frozenset({"item", "tolist", "data", "detach", "cpu", "clone"})
_NUMBERS = (ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp)
_OF_TENSORS = frozenset({"weight", "bias", "data", "grad", "values"})
"""What tensors, layers and tables hold; of other attributes `torch.tensor` makes what the host had."""
_READS = frozenset({"int", "float", "bool"})


def settled_entry(place: Place, node: ast.expr) -> bool:
    """Whether an expression reads an entry of such a buffer: `self.params[1].item()`."""
    entry = _entry(node)
    if entry is None:
        return _settled_whole(place, node)
    name, number = entry
    if _after_writing(place, name):
        return False
    owner = _owner(place, node)
    if owner is None:
        return False
    made = [value for body, method in _methods(place, owner) for value in _registered(body, method, name)]
    if len(made) != 1 or not _of_numbers(made[0]):
        return False
    return all(_only_once(body, method, name, number) for body, method in _methods(place, owner))


def _owner(place: Place, node: ast.expr) -> Thing | None:
    owner = place.file.value(ast.copy_location(ast.Name("self", ast.Load()), node), place).thing
    return owner if owner is not None and owner.kind in ("class", "instance") else None


def _settled_whole(place: Place, node: ast.expr) -> bool:
    """`self.limit > 0`, of a buffer of one number that only the constructor sets: `torch.tensor(limit or 0.0)`."""
    if isinstance(node, ast.Compare) and all(isinstance(part, ast.Constant) for part in node.comparators):
        node = node.left
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _THROUGH:
        node = node.func.value
    if not isinstance(node, ast.Attribute) or chain(node.value) != "self":
        return False
    owner = _owner(place, node)
    if owner is None or not _of_one_number(place, owner, node.attr):
        return False
    project = place.file.project
    changing = (key for cls in project.index.ancestry(owner) for key in changed_in(project.values, cls, node.attr))
    return all(project.index.function(key).name == "__init__" for key in changing)


def _of_one_number(place: Place, owner: Thing, name: str) -> bool:
    """Whether a buffer is made of a number that the constructor got: `torch.tensor(limit)`, or `limit` made one."""
    made = [(v, body, method) for body, method in _methods(place, owner) for v in _registered(body, method, name)]
    value, body, method = made[0] if len(made) == 1 else (None, None, 0)
    if isinstance(value, ast.Name) and body is not None:
        # What need not be given is no buffer then.
        given_at_all = not is_none(default_of(body.functions.get(method), value.id))
        return given_at_all and numeric_parameter(body, method, value.id)
    if not isinstance(value, ast.Call) or len(value.args) != 1 or last_part(chain(value.func)) not in _MAKING:
        return False
    given = any(isinstance(part, ast.Name) for part in ast.walk(value.args[0]))  # else only a checkpoint sets it
    return given and isinstance(value.args[0], (*_NUMBERS, ast.BoolOp))


def _after_writing(place: Place, name: str) -> bool:
    """Whether a read stands in the branch that writes into the buffer: it runs once."""
    branches = (p for p in place.file.enclosing(place.function).around(place.expression) if isinstance(p, ast.If))
    written = (t for branch in branches for s in branch.body if isinstance(s, ast.Assign) for t in s.targets)
    return any(isinstance(t, ast.Subscript) and chain(t.value) == f"self.{name}" for t in written)


def _entry(node: ast.expr) -> tuple[str, int] | None:
    """`params` and 1 of `self.params[1].item()`, also inside `int(...)`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _READS and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _THROUGH:
            node = node.func.value
        else:
            return None
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
        return None
    index = node.slice.value if isinstance(node.slice, ast.Constant) else None
    own = chain(node.value.value) == "self" and type(index) is int
    return (node.value.attr, index) if own and isinstance(index, int) else None


def _methods(place: Place, owner: Thing) -> Iterator[tuple[Body, int]]:
    project = place.file.project
    for cls in project.index.ancestry(owner):
        body = project.body(cls.path) if cls.kind == "class" else None
        if body is not None:
            yield from ((body, method) for method in project.index.record(cls).methods.values())


def _registered(body: Body, method: int, name: str) -> list[ast.expr]:
    return [value for attribute, value, _ in body.self_assignments(method) if attribute == name]


def _of_numbers(made: ast.expr) -> bool:
    """`torch.tensor([K, T, -1])`: numbers that are written out, and names; `torch.tensor(self.config.periods)`."""
    if not isinstance(made, ast.Call) or last_part(chain(made.func)) not in _MAKING or len(made.args) != 1:
        return False
    listed = made.args[0]
    if isinstance(listed, ast.Attribute):
        return listed.attr not in _OF_TENSORS
    if not isinstance(listed, ast.List | ast.Tuple):
        return False
    return all(isinstance(part, _NUMBERS) for part in listed.elts)


def _only_once(body: Body, method: int, name: str, number: int) -> bool:
    """Whether a method writes into an entry at most where it has found it to be unset."""
    node = body.functions.get(method)
    for statement in statements(node.body if node is not None else ()):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AugAssign):
            targets = [statement.target]
        written = [t for t in targets if isinstance(t, ast.Subscript) and chain(t.value) == f"self.{name}"]
        for target in written:
            index = target.slice.value if isinstance(target.slice, ast.Constant) else None
            if index is None or (index == number and not _found_unset(node, statement, name, number)):
                return False
    return True


def _found_unset(node: ast.AST | None, statement: ast.stmt, name: str, number: int) -> bool:
    """`if Z < 0: self.params[2] = ...`, of a `Z` that was read from there."""
    for branch in ast.walk(node) if node is not None else ():
        if isinstance(branch, ast.If) and statement in branch.body:
            tested = names_of(branch.test)
            reads = (n for n in ast.walk(node) if isinstance(n, ast.Assign)) if node is not None else ()
            return any(
                isinstance(t, ast.Name) and t.id in tested and _entry(read.value) == (name, number)
                for read in reads
                for t in read.targets
            )
    return False
