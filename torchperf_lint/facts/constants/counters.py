"""Counters and flags kept in a buffer that only host code writes: the host could keep them itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_SETTING = frozenset({"fill_", "add_", "sub_", "copy_", "zero_"})
_MAKING = frozenset(
    "tensor Tensor LongTensor IntTensor BoolTensor FloatTensor zeros ones full zeros_like ones_like".split()
)
_THROUGH = frozenset("item data detach cpu bool int float long all any to".split())
_LENGTH = pattern(r"^(?:[KQN]|\w*(?:len|length|size|num|queue|n|max)\w*)$")
"""Names of the fixed lengths of queues."""
_MISSING = ast.Constant(None)


def counter_of(place: Place, node: ast.expr) -> str | None:
    """The attribute of `self` that an expression reads, when it is such a buffer: `self.steps.item() > n`.

    It begins as a constant, and nothing in the class and its bases gives it a value that was computed on the device.
    """
    named = next((name for side in _sides(node) if (name := _own_attribute(side)) is not None), None)
    if named is None:
        return None
    owner = place.file.value(ast.copy_location(ast.Name("self", ast.Load()), node), place).thing
    if owner is None or owner.kind not in ("class", "instance"):
        return None
    writes = list(_writes(place, owner, named))
    registered = [value for value, how in writes if how == "registered"]
    later = [value for value, how in writes if how != "registered"]
    if not registered or not all(_is_host_constant(value) for value in registered + later):
        return None
    # What nothing in the class changes, a checkpoint may set; what other code sets may be a result of the device.
    return named if later or not _set_by_others(place, named) else None


def _set_by_others(place: Place, name: str) -> bool:
    """`module.threshold = ...`, `module.threshold.fill_(...)` through another name than `self`, in the project."""
    for outline in place.file.project.index.outlines.values():
        bound = (b.target for b in outline.bindings)
        changed = (call.callee.rpartition(".")[0] for call in outline.calls if call.callee.endswith("_"))
        for written in (*bound, *changed):
            owner, _, attribute = written.removesuffix(".data").rpartition(".")
            if attribute == name and owner not in ("", "self"):
                return True
    return False


def _sides(node: ast.expr) -> list[ast.expr]:
    """What is read: of a comparison with a number or a setting its other side."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    if not isinstance(node, ast.Compare):
        return [node]
    return [node.left, *node.comparators] if len(node.ops) == 1 else []


def _own_attribute(node: ast.expr) -> str | None:
    """`steps` of `self.steps`, `int(self.steps.item())`, `self.steps.data`, `self.steps[0]`."""
    while chain(node).count(".") != 1 or not isinstance(node, ast.Attribute):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _THROUGH and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func
        elif (isinstance(node, ast.Attribute) and node.attr in _THROUGH) or (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        ):
            node = node.value
        else:
            return None
    return node.attr if chain(node.value) == "self" else None


# -- every value that is written -----------------------------------------------------------------------


def _writes(place: Place, owner: Thing, name: str) -> Iterator[tuple[ast.expr, str]]:
    """(value, how) for each write of `self.name` in a class and its bases of this project."""
    project = place.file.project
    for cls in project.index.ancestry(owner):
        body = project.body(cls.path) if cls.kind == "class" else None
        for method in project.index.record(cls).methods.values() if body is not None else ():
            assert body is not None
            for attribute, value, registered in body.self_assignments(method):
                if attribute == name:
                    yield value, "registered" if registered else "assigned"
            for statement in statements(body.functions[method].body if method in body.functions else ()):
                written = _changed(statement, f"self.{name}")
                if written is not None:
                    counted = isinstance(written, ast.Name) and _counts_on(body, method, written, name)
                    counted = counted or _is_truth(body.functions[method], written)
                    yield ast.Constant(0) if counted else written, "changed"


def _is_truth(method: ast.AST, node: ast.expr) -> bool:
    """Whether a number counts a truth of the host: `int(self.training and counts)`, of a flag with a default."""
    if isinstance(node, ast.Call):
        number = isinstance(node.func, ast.Name) and node.func.id in ("int", "float", "bool") and len(node.args) == 1
        return number and _is_truth(method, node.args[0])
    if isinstance(node, ast.BoolOp):
        return all(_is_truth(method, part) for part in node.values)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and _is_truth(method, node.operand)
    if isinstance(node, ast.Name):
        return isinstance(method, ast.FunctionDef) and node.id in _flags(method.args)
    return chain(node) == "self.training"


def _flags(args: ast.arguments) -> set[str]:
    """The parameters that are True or False unless a call says otherwise."""
    return {name for name, d in defaulted(args) if isinstance(d, ast.Constant) and isinstance(d.value, bool)}


def _counts_on(body: Body, method: int, node: ast.expr, name: str, hops: int = 3) -> bool:
    """Whether a number comes of the buffer itself and of sizes: `ptr = (int(self.ptr) + x.shape[0]) % self.size`."""
    if isinstance(node, ast.BinOp):
        return all(_counts_on(body, method, side, name, hops) for side in (node.left, node.right))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if _own_attribute(node) == name:
        return True
    if isinstance(node, ast.Name):
        bound = body.reaching(method, node.id, body.at(node)) or []
        values = [d.value for d in bound if d.how in ("assign", "item") and d.value is not None]
        return (
            hops > 0
            and 0 < len(values) == len(bound)
            and all(_counts_on(body, method, value, name, hops - 1) for value in values)
        )
    return _is_size(node)


def _is_size(node: ast.expr) -> bool:
    """`x.shape[0]`, `x.size(0)`, `len(x)`, and a setting such as `self.queue_size`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Call):
        return chain(node.func) == "len" or last_part(chain(node.func)) in ("size", "numel")
    return isinstance(node, ast.Attribute) and (
        node.attr == "shape" or (chain(node.value) == "self" and _LENGTH.search(node.attr) is not None)
    )


def _changed(statement: ast.stmt, own: str) -> ast.expr | None:
    """What a statement adds to, or puts into, `self.name`: `self.steps += 1`, `self.initted.data.fill_(True)`."""
    if isinstance(statement, ast.AugAssign):
        return statement.value if _base(statement.target) == own else None
    if isinstance(statement, ast.Assign):
        inside = [t for t in statement.targets if isinstance(t, ast.Subscript) and _base(t) == own]
        data = [t for t in statement.targets if isinstance(t, ast.Attribute) and chain(t) == f"{own}.data"]
        return statement.value if inside or data else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or _base(call.func.value) != own:
        return None
    if call.func.attr == "zero_":
        return ast.Constant(0)
    # Any other method that changes the buffer in place may write what the device computed.
    known = call.func.attr in _SETTING and call.args
    return call.args[0] if known else (_MISSING if call.func.attr.endswith("_") else None)


def _base(target: ast.expr) -> str:
    """`self.steps` of `self.steps[0]` and `self.steps.data`."""
    while isinstance(target, ast.Subscript) or (isinstance(target, ast.Attribute) and target.attr == "data"):
        target = target.value
    return chain(target)


def _is_host_constant(node: ast.expr) -> bool:
    """A number, or a tensor made of one: `torch.tensor(0)`, `torch.zeros(1)`, `self.steps + 1`."""
    if isinstance(node, ast.Constant):
        return node is not _MISSING and isinstance(node.value, int | float)
    if isinstance(node, ast.UnaryOp):
        return _is_host_constant(node.operand)
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts) <= 1 and all(map(_is_host_constant, node.elts))
    if isinstance(node, ast.BinOp):
        return isinstance(node.left, ast.Attribute) and _is_host_constant(node.right)
    if isinstance(node, ast.IfExp):
        return _is_host_constant(node.body) and _is_host_constant(node.orelse)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _THROUGH:
        return _is_host_constant(node.func.value)
    return last_part(chain(node.func)) in _MAKING and len(node.args) <= 1 and all(map(_is_host_constant, node.args))
