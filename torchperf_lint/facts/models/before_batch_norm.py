"""Convolutions whose result goes straight into a batch normalisation: neighbours in a list, or nested calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_true

_DIMENSIONS = ("1d", "2d", "3d")
CONVOLUTIONS = tuple(f"torch.nn.{kind}{d}" for kind in ("Conv", "ConvTranspose") for d in _DIMENSIONS)
NORMS = (*(f"torch.nn.BatchNorm{d}" for d in _DIMENSIONS), "torch.nn.SyncBatchNorm")
_BIAS = 7
"""Of `bias` in `Conv2d(in, out, kernel, stride, padding, dilation, groups, bias)`, and in its transpose."""


class Biased(NamedTuple):
    """A convolution with a bias, and the line of the normalisation that takes it away."""

    site: Site
    norm: int


def biased(file: SourceFile) -> Iterator[Biased]:
    """The convolutions with a bias that nothing but a batch normalisation sees, in order."""
    norms = {id(site.call): site for site in file.calls_of(*NORMS)}
    if not norms:
        return
    for site in file.calls_of(*CONVOLUTIONS):
        if not _has_bias(site.call):
            continue
        after = _neighbour(file, site)
        norm = norms.get(id(after)) if after is not None else _applied(file, site, list(norms.values()))
        if norm is not None and _is_plain(norm.call):
            yield Biased(site, norm.record.line)


def _has_bias(call: ast.Call) -> bool:
    """Whether the bias is there for certain: by default, or as a literal."""
    if len(call.args) > _BIAS or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    given = [k.value for k in call.keywords if k.arg in (None, "bias")]
    return all(is_true(value) for value in given)


def _is_plain(call: ast.Call) -> bool:
    """Whether a normalisation takes the mean of the batch, as it does unless told otherwise."""
    return not unpacks_keywords(call)


def _neighbour(file: SourceFile, site: Site) -> ast.expr | None:
    """What follows a layer in the list, or among the arguments, that it stands in; with a name: `("conv", layer)`."""
    parents = file.enclosing(site.function).parents
    node: ast.AST = site.call
    parent = parents.get(node)
    named = isinstance(parent, ast.Tuple) and len(parent.elts) == 2 and isinstance(parent.elts[0], ast.Constant)
    if named and parent is not None:
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.Call) and parent.args and file.denotes(parent.func, site) == "torch.nn.Sequential":
        row = parent.args
    elif isinstance(parent, ast.List):
        row = parent.elts
    else:
        return None
    index = next((i for i, each in enumerate(row) if each is node), len(row))
    after = row[index + 1] if index + 1 < len(row) else None
    if named and isinstance(after, ast.Tuple) and len(after.elts) == 2:
        return after.elts[1]
    return after


def _applied(file: SourceFile, site: Site, norms: list[Site]) -> Site | None:
    """The normalisation of `self.bn(self.conv(x))`, where each is an attribute set once and used once."""
    conv = _attribute(file, site)
    owner = file.outline.functions[site.function].class_index
    if conv is None or owner < 0:
        return None
    named = {_attribute(file, norm): norm for norm in norms if norm.function == site.function}
    uses = list(_uses(file, owner, conv))
    if len(uses) != 2 or len(named) < 1:
        return None  # one is the assignment
    for function, use in uses:
        parents = file.enclosing(function).parents
        call = parents.get(use)
        outer = parents.get(call) if isinstance(call, ast.Call) and call.func is use else None
        if isinstance(outer, ast.Call) and len(outer.args) == 1 and outer.args[0] is call:
            return named.get(chain(outer.func))
    return None


def _attribute(file: SourceFile, site: Site) -> str | None:
    statement = file.enclosing(site.function).statement(site.call)
    if isinstance(statement, ast.Assign) and statement.value is site.call and len(statement.targets) == 1:
        written = chain(statement.targets[0])
        return written if written.startswith("self.") and written.count(".") == 1 else None
    return None


def _uses(file: SourceFile, owner: int, written: str) -> Iterator[tuple[int, ast.Attribute]]:
    """Where the methods of a class name an attribute of `self`."""
    for number, record in enumerate(file.outline.functions):
        if record.class_index != owner or number == 0:
            continue
        for node in file.enclosing(number).of_kinds((ast.Attribute,)):
            if isinstance(node, ast.Attribute) and chain(node) == written:
                yield number, node
