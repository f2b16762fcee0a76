"""Attention written out as product, softmax and product, where nothing else needs the weights.

    att = (q @ k.transpose(-2, -1)) * scale
    att = att.masked_fill(mask == 0, float("-inf")).softmax(dim=-1)
    y = self.dropout(att) @ v

From the softmax the scores are followed back to one product, the weights on to the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.attention_products import are_by_channels, is_weighting, scores
from torchperf_lint.facts.bindings import Definition
from torchperf_lint.facts.bound_alike import bound_on_every_way
from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.source import Site, SourceFile
from torchperf_lint.patterns import pattern

_SAME = frozenset("float half to type type_as contiguous clone".split())
_SCALED = frozenset("mul div mul_ div_".split())
_MASKED = frozenset("masked_fill masked_fill_ where".split())
_MASK = pattern(r"mask|(?:^|_)(?:pad|causal|tril|triu)", re.IGNORECASE)
_FUNCTIONS = frozenset({"torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax"})
_STEPS = 16


class Attention(NamedTuple):
    """A softmax between the two products."""

    site: Site
    queries: ast.expr
    keys: ast.expr
    masked: bool
    biased: bool
    """Whether something that is no mask is added to the scores."""
    by_channels: bool
    """Whether queries and keys hold a channel in a row, not a position: `einsum("b d i, b d j -> b i j", q, k)`."""


def written_out(file: SourceFile) -> Iterator[Attention]:
    """The hot softmaxes of a file between the two products of attention, their weights used for nothing else."""
    for site in file.hot_calls("softmax", *_own_softmaxes(file)):
        if site.hot is None or site.hot.kind == "data":
            continue
        scored = _scored(site)
        if scored is None or not _only_weighs(site):
            continue
        back = _Back(site)
        if back.follow(scored, site.frame.at) and back.root is not None:
            yield Attention(site, *back.root, back.masked or _fills(site), back.biased, back.by_channels)


def _fills(site: Site) -> bool:
    """Whether a statement of its own masks: `dots.masked_fill_(~mask, low)`."""
    calls = site.file.enclosing(site.function).of_kinds((ast.Call,))
    return any(last_part(chain(call.func)) == "masked_fill_" for call in calls if isinstance(call, ast.Call))


def _own_softmaxes(file: SourceFile) -> list[str]:
    """Attributes that are set to an `nn.Softmax` over the last dimension."""
    return re.findall(r"self\.(\w+)\s*=\s*(?:torch\.)?(?:nn\.)?Softmax\(\s*(?:dim\s*=\s*)?-1\s*\)", file.text)


def _scored(site: Site) -> ast.expr | None:
    """What a softmax over the last dimension is taken of."""
    call, name = site.call, last_part(site.record.callee)
    if name != "softmax" or site.record.callee.startswith("self."):
        whole = site.record.callee.startswith("self.") and len(call.args) == 1 and not call.keywords
        return call.args[0] if whole and name in _own_softmaxes(site.file) else None
    method = site.file.denotes(call.func, site) not in _FUNCTIONS
    if method and site.receiver is None:
        return None
    arguments = [site.receiver, *call.args] if method else [*call.args]
    dim = site.keyword("dim") or (arguments[1] if len(arguments) > 1 else None)
    if not arguments or dim is None or ast.unparse(dim) not in ("-1", "3"):
        return None
    return arguments[0]


class _Back:
    """Follows scores back to one product, through scalings, masks and names."""

    def __init__(self, site: Site) -> None:
        self.site = site
        body = site.file.project.body(site.file.path)
        assert body is not None
        self.body = body
        self.root: tuple[ast.expr, ast.expr] | None = None
        self.masked = self.biased = self.by_channels = False
        self.seen: set[tuple[str, Position]] = set()

    def follow(self, node: ast.expr, at: Position) -> bool:
        """Whether all that a node may be comes from one product."""
        stack, steps = [(node, at)], 0
        while stack:
            current, place = stack.pop()
            steps += 1
            if steps > _STEPS * 2:
                return False
            found = scores(current)
            if found is not None:
                if self.root is not None and list(map(ast.unparse, self.root)) != list(map(ast.unparse, found)):
                    return False
                self.root, self.by_channels = found, are_by_channels(current)
            elif isinstance(current, ast.Name):
                if (current.id, place) in self.seen:
                    continue
                self.seen.add((current.id, place))
                definitions = self.body.reaching(self.site.function, current.id, place) or []
                if self._may_be_given(current.id, definitions, place):
                    return False
                if not definitions or any(d.how not in ("assign", "augmented") or d.value is None for d in definitions):
                    return False
                stack += [(d.value, d.at) for d in definitions if d.value is not None]
            else:
                inner = self._through(current)
                if inner is None:
                    return False
                stack.append((inner, place))
        return self.root is not None

    def _may_be_given(self, name: str, found: list[Definition], at: Position) -> bool:
        """Whether a caller may hand in the scores that a layer before has computed: those are needed as such."""
        function = self.site.function
        given = any(p.name == name for p in self.site.file.outline.functions[function].parameters)
        return given and not bound_on_every_way(self.body, found, function, at)

    def _through(self, node: ast.expr) -> ast.expr | None:
        """The scores in what only scales, masks or converts them."""
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.Call):
            name = last_part(chain(node.func))
            if name == "where" and len(node.args) == 3:
                self.masked = True
                return next((a for a in node.args[1:] if self._may_be_scores(a)), None)
            if isinstance(node.func, ast.Attribute) and name in (_SAME | _SCALED | _MASKED):
                self.masked = self.masked or name in _MASKED
                return node.func.value
        return None

    def _arithmetic(self, node: ast.BinOp) -> ast.expr | None:
        left, right = (node.left, node.right) if self._may_be_scores(node.left) else (node.right, node.left)
        if not self._may_be_scores(left):
            return None
        if isinstance(node.op, ast.Mult | ast.Div):
            return left
        if not isinstance(node.op, ast.Add | ast.Sub):
            return None
        is_mask = _MASK.search(ast.unparse(right)) is not None
        self.masked, self.biased = self.masked or is_mask, self.biased or not is_mask
        return left

    def _may_be_scores(self, node: ast.expr) -> bool:
        """Whether a product stands in a node, or a name that holds one."""
        for part in ast.walk(node):
            if isinstance(part, ast.expr) and scores(part) is not None:
                return True
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                found = self.body.reaching(self.site.function, part.id, self.site.frame.at) or []
                inside = (p for d in found if d.value is not None for p in ast.walk(d.value))
                if any(isinstance(p, ast.expr) and (scores(p) is not None or _is_named(p, part.id)) for p in inside):
                    return True
        return False


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _only_weighs(site: Site) -> bool:
    """Whether the weights go, through dropout at most, into one product with values and nowhere else."""
    stack: list[ast.expr] = [site.call]
    products = 0
    for _ in range(_STEPS):
        if not stack:
            return products == 1
        then = _next(site, stack.pop())
        if then is None:
            return False
        products += then is _WEIGHED
        stack += then
    return False


_WEIGHED: list[ast.expr] = []
"""What comes after the product with the values is of no matter."""


def _next(site: Site, node: ast.expr) -> list[ast.expr] | None:
    """Where weights are found next; None where something but dropout and the values gets them."""
    around = site.file.enclosing(site.function)
    parent = around.parents.get(node)
    if isinstance(parent, ast.expr) and is_weighting(parent, node):
        return _WEIGHED
    if isinstance(parent, ast.Call) and node in parent.args and "drop" in chain(parent.func).lower():
        return [parent]
    if isinstance(parent, ast.Attribute):
        if parent.attr in ("shape", "dtype", "device"):
            return []
        call = around.parents.get(parent)
        if not isinstance(call, ast.Call) or call.func is not parent:
            return None
        if is_weighting(call, node):
            return _WEIGHED
        return [call] if parent.attr in _SAME else None
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return _uses(site, parent.targets[0].id, parent.value)
    return None


def _uses(site: Site, name: str, value: ast.expr) -> list[ast.expr]:
    """Where a name is read that may hold a value then."""
    body = site.file.project.body(site.file.path)
    assert body is not None
    found: list[ast.expr] = []
    for use in site.file.enclosing(site.function).of_kinds((ast.Name,)):
        assert isinstance(use, ast.Name)
        if use.id == name and isinstance(use.ctx, ast.Load):
            reaching = body.reaching(site.function, name, body.at(use)) or []
            if any(definition.value is value for definition in reaching):
                found.append(use)
    return found
