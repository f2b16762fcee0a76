"""Arrays of numpy that are evidently of float64, and tensors made of them for the device.

Numpy computes in float64 unless it is told otherwise: what `np.random.rand`, `np.zeros` or `np.linspace` make without
a `dtype` is of that type, and `torch.from_numpy`, `torch.as_tensor` and `torch.tensor` keep it.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

TAKERS = ("torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.asarray")
_MADE = frozenset(
    "random.rand random.randn random.random random.random_sample random.normal random.uniform random.standard_normal "
    "random.gamma random.beta random.exponential random.dirichlet random.laplace "
    "linspace logspace geomspace hanning hamming blackman bartlett kaiser".split()
)
_WITH_DTYPE = {"zeros": 1, "ones": 1, "empty": 1, "eye": 3, "identity": 1}
"""Factory -> the place of `dtype` among its arguments."""
_SIZED = {
    "random.rand": 0,
    "random.randn": 0,
    "random.random": 0,
    "random.random_sample": 0,
    "random.standard_normal": 0,
    "random.normal": 2,
    "random.uniform": 2,
}
"""Draws -> the place of the size: without one it is a single number, which promotes nothing."""
KEEPS = frozenset("reshape copy transpose squeeze ravel flatten clip".split())
_KEEPING = frozenset("T".split())
_CASTS = pattern(r"\.(?:float|half|bfloat16|long|int|bool|type|type_as|short|byte)\(\)")
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_LATER = frozenset("float half bfloat16 long int bool type type_as to dtype double".split())
_TAKEN_OVER = frozenset(("copy_", "Parameter", "set_", "append", "interp"))
"""Who is given the tensor has a type of its own, or leaves it to others."""
_MAX_DEPTH = 6


class Double(NamedTuple):
    """A tensor of float64 on the device."""

    because: str
    """The call that makes the array, as written."""
    written: ast.expr
    """The whole expression, with what moves it."""


DOUBLES_MEANT = ("float64", "double", "complex128")
"""A file that mentions these means it."""


def double_on_device(file: SourceFile, site: Site) -> Double | None:
    """What a call that makes a tensor of an array uploads as float64; None where it is another type, or stays."""
    if not site.call.args or site.keyword("dtype") is not None or len(site.call.args) > 1:
        return None
    made = evident(file, site, site.call.args[0])
    if made is None:
        return None
    whole, moved = _followed(file, site)
    if not moved or _cast_later(file, site, whole):
        return None
    return Double(file.brief(made), whole)


def evident(file: SourceFile, site: Site, node: ast.expr, depth: int = 0) -> ast.expr | None:
    """The call of numpy that makes an expression an array of float64, where that is evident."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Name):
        body = file.project.body(file.path)
        made = body.assigned_once(site.function, node.id, site.start) if body is not None else None
        return evident(file, site, made, depth + 1) if made is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
        left, right = (evident(file, site, side, depth + 1) for side in (node.left, node.right))
        tensors = [side for side in (node.left, node.right) if file.value(side, site).kind == "tensor"]
        return (left or right) if not tensors else None
    if isinstance(node, ast.Attribute) and node.attr in _KEEPING:
        return evident(file, site, node.value, depth + 1)
    if isinstance(node, ast.Subscript):
        sliced = any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))
        return evident(file, site, node.value, depth + 1) if sliced else None
    return _called(file, site, node, depth) if isinstance(node, ast.Call) else None


def _called(file: SourceFile, site: Site, node: ast.Call, depth: int) -> ast.expr | None:
    dotted = file.denotes(node.func, site) or ""
    if not dotted.startswith("numpy.") or "()" in dotted:
        inner = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in KEEPS else None
        return evident(file, site, inner, depth + 1) if inner is not None else None
    return node if makes_doubles(dotted.removeprefix("numpy."), node) else None


def makes_doubles(name: str, node: ast.Call) -> bool:
    """Whether a call of a function of numpy's makes an array of float64, for want of another type."""
    told = {keyword.arg for keyword in node.keywords}
    if "dtype" in told or None in told:
        return False
    if name in _WITH_DTYPE:
        return len(node.args) <= _WITH_DTYPE[name]
    if name in _SIZED:
        return len(node.args) > _SIZED[name] or "size" in told
    return name in _MADE and (not name.startswith("random.") or "size" in told)


def _followed(file: SourceFile, site: Site) -> tuple[ast.expr, bool]:
    """The expression that a call becomes by the methods called on it, and whether one moves it, none casts it."""
    parents = file.enclosing(site.function).parents
    node: ast.expr = site.call
    moved = _names_a_device(file, site, site.keyword("device"))
    while isinstance(parents.get(node), ast.Attribute):
        attribute = parents[node]
        call = parents.get(attribute)
        assert isinstance(attribute, ast.Attribute)
        if not isinstance(call, ast.Call) or call.func is not attribute:
            break
        if attribute.attr in api.MOVES:
            given = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
            if len(call.args) > 1 or any(k.arg == "dtype" for k in call.keywords):
                return node, False
            if attribute.attr == "cuda" or (given and _names_a_device(file, site, given[0])):
                moved = True
            else:
                return node, False
        elif _CASTS.fullmatch(f".{attribute.attr}()"):
            return node, False
        node = call
    return node, moved


def _names_a_device(file: SourceFile, site: Site, node: ast.expr | None) -> bool:
    if node is None:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) or (isinstance(node.value, str) and node.value.startswith("cuda"))
    kind = file.value(node, site).kind
    return kind == "torch_device" or last_part(chain(node)) in ("device", "local_rank", "rank")


def _cast_later(file: SourceFile, site: Site, whole: ast.expr) -> bool:
    """Whether the result is cast where it is used, or goes where its type is told by another tensor."""
    around = file.enclosing(site.function)
    parent = around.parents.get(whole)
    if isinstance(parent, ast.Call):
        return last_part(chain(parent.func)) in _TAKEN_OVER
    if not isinstance(parent, ast.Assign):
        return isinstance(parent, ast.Attribute | ast.Return)
    if not isinstance(parent.targets[0], ast.Name):
        return True
    name = parent.targets[0].id
    for node in around.of_kinds((ast.Attribute, ast.Call, ast.Return)):
        if isinstance(node, ast.Attribute) and _is_name(node.value, name) and node.attr in _LATER:
            return True
        if isinstance(node, ast.Return) and _is_name(node.value, name):
            return True
        taken = isinstance(node, ast.Call) and last_part(chain(node.func)) in _TAKEN_OVER
        if taken and any(_is_name(argument, name) for argument in node.args):  # type: ignore[attr-defined]
            return True
    return False


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
