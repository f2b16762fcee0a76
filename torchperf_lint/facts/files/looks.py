"""A quick look at an expression: can it be a tensor at all, as far as its function shows? Asked before values are.

Working a value out follows callers and attributes through the project; most tests, bounds and sizes are seen to be
numbers of the host by what stands a line or two above them.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_HOPS = 3
_HOST_METHODS = api.PLAIN_METHODS | frozenset({"item", "tolist", "numpy", "keys", "index", "count", "split", "strip"})
_HOST_MODULES = frozenset(api.ARRAY_MODULES + api.PLAIN_MODULES)
_OF_ARGUMENTS = frozenset({"max", "min", "sum", "abs", "round", "list", "tuple", "sorted", "reversed", "zip", "next"})
_RESULT_FIELDS = frozenset("loss losses data grad logits values indices T".split())
_TENSOR = pattern(r"Tensor\b|^(?:(?:torch\.)?autograd\.)?Variable$")


def may_be_tensor(place: Place, node: ast.expr) -> bool:
    """Whether a tensor may be in an expression of a place. Parameters without an annotation do not count."""
    return _may_be(place, node, 0)


def _may_be(place: Place, node: ast.expr, hops: int) -> bool:
    if isinstance(node, ast.Name):
        return hops <= _HOPS and _name(place, node, hops)
    if isinstance(node, ast.Attribute):
        return node.attr in _RESULT_FIELDS
    if isinstance(node, ast.Call):
        return _call(place, node, hops)
    if isinstance(node, ast.Subscript):
        return _may_be(place, node.value, hops) or _is_given(place, node.value)
    return any(_may_be(place, part, hops) for part in _terms(node))


def _terms(node: ast.expr) -> list[ast.expr]:
    """What an expression is put together of; long sums nest to the left, which Python's stack has no room for."""
    terms = []
    while isinstance(node, ast.BinOp):
        terms.append(node.right)
        node = node.left
    return [*terms, node] if terms else _operands(node)


def _is_given(place: Place, node: ast.expr) -> bool:
    """Whether elements are taken of a parameter of which nothing says what it is: `x[i, lengths[i] :] = 0`.

    Or of a part of one: `points, features, offsets = inputs`.
    """
    if not isinstance(node, ast.Name):
        return False
    given = {p.name for p in place.file.outline.functions[place.function].parameters if not p.annotation}
    if node.id in given:
        return True
    body = place.file.project.body(place.file.path)
    bound = body.definitions(place.function).get(node.id, ()) if body is not None and given else ()
    return any(d.how == "item" and isinstance(d.value, ast.Name) and d.value.id in given for d in bound)


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.NamedExpr | ast.Starred | ast.Await):
        return [node.value]
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return [node.elt]
    if isinstance(node, ast.DictComp):
        return [node.value]
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []


def _call(place: Place, node: ast.Call, hops: int) -> bool:
    written = chain(node.func)
    if isinstance(node.func, ast.Name) and written in _OF_ARGUMENTS:
        return any(_may_be(place, argument, hops) for argument in node.args)
    if isinstance(node.func, ast.Name):
        return written not in api.PLAIN_BUILTINS
    imported = place.file.outline.imports.get(written.partition(".")[0], "")
    return last_part(written) not in _HOST_METHODS and imported.partition(".")[0] not in _HOST_MODULES


def _name(place: Place, node: ast.Name, hops: int) -> bool:
    file, function = place.file, place.function
    body = file.project.body(file.path)
    if body is None:
        return False
    at = body.at(node)
    reaching = body.reaching(function, node.id, max(at, place.frame.at) if hops == 0 else at)
    if reaching is None or all(d.block for d in reaching):
        record = next((p for p in file.outline.functions[function].parameters if p.name == node.id), None)
        if record is not None and _TENSOR.search(record.annotation):
            return True
        if record is not None and any(use == "device" for use, _ in body.uses(function, node.id)):
            return True
    return any(_definition(place, definition, hops + 1) for definition in reaching or ())


def _definition(place: Place, definition: Definition, hops: int) -> bool:
    value = definition.value
    if value is None or definition.how == "with":
        return False
    if definition.how == "augmented" and isinstance(value, ast.BinOp):
        return _may_be(place, value.right, hops)
    if definition.how == "loop":
        return _iterated(place, value, definition.index, hops)
    return _may_be(place, value, hops)


def _iterated(place: Place, node: ast.expr, index: tuple[int, ...], hops: int) -> bool:
    name = last_part(chain(node)) if isinstance(node, ast.Call) else ""
    if name == "range" or (name == "enumerate" and index[:1] == (0,)):
        return False
    if isinstance(node, ast.Call) and name in ("enumerate", "zip", "tqdm"):
        return any(_iterated(place, argument, (), hops) for argument in node.args)
    # What a loader or a container gives is not seen from here.
    return isinstance(node, ast.Name | ast.Attribute) or _may_be(place, node, hops)
