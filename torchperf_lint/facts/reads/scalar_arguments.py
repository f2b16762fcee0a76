"""Arguments that torch takes as Python numbers: a tensor that is given there is read on the host.

What is listed reads on torch 2.13 (counted by a dispatch mode, on the CPU and on fake CUDA tensors); `masked_fill`
reads in its CUDA kernel. What takes tensors as they are (`lerp`, `where`, `pow`, `fill_`, one bound of `clamp`, both
bounds if both are tensors) is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.looks import may_be_tensor
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import Value

SCALED, WEIGHED, FILLED, MASKED, BOUNDED, OTHER = "scaled", "weighed", "filled", "masked", "bounded", "other"
"""What an argument does: scales what is added, weighs a product, fills, fills by a mask, bounds, or something else."""


class Scalar(NamedTuple):
    """A tensor on the device that is given for a Python number."""

    site: Site
    operand: ast.expr
    parameter: str
    form: str
    value: Value


_Parameters = tuple[tuple[str, int | None], ...]
"""Names, and positions behind the tensor that the operation is of; None where only the keyword takes a number."""
_PRODUCTS = "addmm addbmm baddbmm addmv addr".split()
_OF_TENSORS: dict[str, tuple[str, _Parameters]] = {
    **dict.fromkeys("add sub subtract rsub index_add".split(), (SCALED, (("alpha", None),))),
    **dict.fromkeys(_PRODUCTS, (SCALED, (("alpha", None), ("beta", None)))),
    **dict.fromkeys(("addcmul", "addcdiv"), (WEIGHED, (("value", None),))),
    "full_like": (FILLED, (("fill_value", 0),)),
    "masked_fill": (MASKED, (("value", 1),)),
    "nan_to_num": (OTHER, (("nan", 0), ("posinf", 1), ("neginf", 2))),
    "scatter": (OTHER, (("value", None),)),
    **dict.fromkeys(("clamp", "clip"), (BOUNDED, (("min", 0), ("max", 1)))),
}
"""Functions of `torch` and methods; also with `_` behind them."""
_METHODS: dict[str, tuple[str, _Parameters]] = {
    "new_full": (FILLED, (("fill_value", 1),)),
    "normal_": (OTHER, (("mean", 0), ("std", 1))),
    "uniform_": (OTHER, (("from", 0), ("to", 1))),
}
_FUNCTIONAL: dict[str, tuple[str, _Parameters]] = {
    "leaky_relu": (OTHER, (("negative_slope", 0),)),
    "elu": (OTHER, (("alpha", 0),)),
    "celu": (OTHER, (("alpha", 0),)),
    "softplus": (OTHER, (("beta", 0), ("threshold", 1))),
    "hardtanh": (OTHER, (("min_val", 0), ("max_val", 1))),
    "threshold": (OTHER, (("threshold", 0), ("value", 1))),
    "softshrink": (OTHER, (("lambd", 0),)),
    "hardshrink": (OTHER, (("lambd", 0),)),
    "dropout": (OTHER, (("p", 0),)),
    "pad": (OTHER, (("value", 2),)),
    "smooth_l1_loss": (OTHER, (("beta", None),)),
    "huber_loss": (OTHER, (("delta", None),)),
    "scaled_dot_product_attention": (OTHER, (("scale", None),)),
    "cosine_similarity": (OTHER, (("eps", 2),)),
}
_MAKERS: dict[str, tuple[str, _Parameters]] = {
    "full": (FILLED, (("fill_value", 0),)),
    "normal": (OTHER, (("mean", -1), ("std", 0))),
}
"""Functions that are given a size first, or for `normal` a size last: without one it takes tensors as they are."""
_NAMES = (*_OF_TENSORS, *(f"{name}_" for name in _OF_TENSORS), *_METHODS, *_FUNCTIONAL, *_MAKERS)
_SIZED = 3
"""Arguments of `normal` where one of them is the size."""


def scalars(file: SourceFile) -> Iterator[Scalar]:
    """The tensors that hot calls of torch read to have a number."""
    for site in file.hot_calls(*_NAMES):
        if site.hot is None or site.hot.kind == "data":
            continue
        name = last_part(site.record.callee)
        form, parameters = _known(name)
        given = [(n, a) for n, a in _given(site, parameters) if not isinstance(a, ast.Constant)]
        if not any(_may_be_tensor(site, form, argument) for _, argument in given):
            continue
        offset = _offset(file, site, name)
        if offset is not None:
            yield from _read(file, site, form, list(_given(site, parameters, offset)))


def _known(name: str) -> tuple[str, _Parameters]:
    return _MAKERS.get(name) or _METHODS.get(name) or _FUNCTIONAL.get(name) or _OF_TENSORS[name.removesuffix("_")]


def _offset(file: SourceFile, site: Site, name: str) -> int | None:
    """How many positional arguments stand before those behind the tensor; None where the call is not torch's."""
    dotted = file.denotes(site.call.func, site) or ""
    if name == "normal" and len(site.call.args) < _SIZED and site.keyword("size") is None:
        return None
    if dotted in (f"torch.{name}", f"torch.nn.functional.{name}"):
        return 1
    if name in _FUNCTIONAL or name in _MAKERS or site.receiver is None:
        return None
    return 0 if file.value(site.receiver, site).kind == "tensor" else None


def _given(site: Site, parameters: _Parameters, offset: int | None = None) -> Iterator[tuple[str, ast.expr]]:
    """The arguments for parameters; without an offset, all that may be."""
    if any(isinstance(argument, ast.Starred) for argument in site.call.args):
        return
    for name, position in parameters:
        keyword = site.keyword(name)
        if keyword is not None:
            yield name, keyword
        elif position is not None:
            for place in (position + offset,) if offset is not None else (position, position + 1):
                if 0 <= place < len(site.call.args):
                    yield name, site.call.args[place]


def _read(file: SourceFile, site: Site, form: str, given: list[tuple[str, ast.expr]]) -> Iterator[Scalar]:
    if form == BOUNDED and not (len(given) == 2 and any(_is_number(bound) for _, bound in given)):
        return
    for name, argument in given:
        value = on_device(file, site, argument) if _may_be_tensor(site, form, argument) else None
        if value is not None and value.kind == "tensor":
            yield Scalar(site, argument, name, form, value)


def _may_be_tensor(site: Site, form: str, argument: ast.expr) -> bool:
    """A quick look; attributes count where they are not settings as a rule: rates, slopes and limits are."""
    inner = argument.operand if isinstance(argument, ast.UnaryOp) else argument
    inner = _looked_up_in(site, inner) if isinstance(inner, ast.Subscript) else inner
    attribute = isinstance(inner, ast.Attribute) and form in (SCALED, WEIGHED, FILLED, MASKED)
    return attribute or may_be_tensor(site, argument)


def _looked_up_in(site: Site, element: ast.Subscript) -> ast.expr:
    """The table that a number is taken from, `self.alphas` of `alphas[step]` behind `alphas = self.alphas`."""
    body, table = site.file.project.body(site.file.path), element.value
    if body is not None and isinstance(table, ast.Name):
        table = body.assigned_once(site.function, table.id, site.start) or table
    return table.orelse if isinstance(table, ast.IfExp) else table


def _is_number(node: ast.expr) -> bool:
    """Whether a bound is surely a Python number, beside which torch takes the other for one as well."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
