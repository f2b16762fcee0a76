"""Follows what a softmax is taken of back to the product of queries with keys, through scalings, masks and names."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bindings import BlockPath, Definition
from torchperf_lint.facts.bindings.bound_alike import bound_on_every_way
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.models.attention_layouts import BY_CHANNELS, layout, pays_attention
from torchperf_lint.facts.models.attention_products import Scores, factors, rank_of, scores
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

SAME = frozenset("float half to type type_as contiguous clone".split())
RESHAPED = frozenset("view reshape flatten unflatten squeeze unsqueeze".split())
_SCALED = frozenset("mul div mul_ div_".split())
_MASKED = frozenset("masked_fill masked_fill_ where".split())
_MASK = pattern(r"mask|(?:^|_)(?:pad|causal|tril|triu)", re.IGNORECASE)
_BIAS = pattern(r"bias|alibi|(?:^|_)pos(?:_|$)", re.IGNORECASE)
_STEPS = 32


class ScoresBehind:
    """The product behind an expression, and what was done to it on the way."""

    def __init__(self, site: Site) -> None:
        self.site = site
        body = site.file.project.body(site.file.path)
        assert body is not None
        self.body = body
        self.root: Scores | None = None
        self.products: list[ast.expr] = []
        """Where queries are multiplied with keys: once, or once on each of several ways."""
        self.masked = self.biased = self.reshaped = False
        self._in_branch = False
        self.seen: set[tuple[str, Position]] = set()

    def follow(self, node: ast.expr, at: Position) -> bool:
        """Whether all that a node may be comes from one product."""
        stack, steps = [(node, at, False)], 0
        while stack:
            current, place, self._in_branch = stack.pop()
            steps += 1
            if steps > _STEPS:
                return False
            found = self._product(current, place)
            if found is not None:
                if self.root is not None and not _alike(self.root, found):
                    return False
                self.root = found
                self.products.append(current)
            elif isinstance(current, ast.Name):
                if (current.id, place) in self.seen:
                    continue
                self.seen.add((current.id, place))
                definitions = self.body.reaching(self.site.function, current.id, place) or []
                if self._may_be_given(current.id, definitions, place):
                    return False
                if not definitions or any(d.how not in ("assign", "augmented") or d.value is None for d in definitions):
                    return False
                around = self.body.block_of(self.site.function, self.site.start)
                stack += [(d.value, d.at, _is_optional(d, around)) for d in definitions if d.value is not None]
            elif isinstance(current, ast.IfExp):
                stack += [(current.body, place, True), (current.orelse, place, True)]
            else:
                inner = self._through(current, place)
                if inner is None:
                    return False
                stack.append((inner, place, self._in_branch))
        return self.root is not None

    def _product(self, node: ast.expr, at: Position) -> Scores | None:
        """The product that a node is; rows of channels make another attention, over few of them."""
        function, found = self.site.function, scores(node)
        if found is not None:
            seen = isinstance(node, ast.Call) and last_part(chain(node.func)) == "einsum"
            across = not seen and layout(self.body, function, found.queries, at) == BY_CHANNELS
            return None if across and layout(self.body, function, found.keys, at) == BY_CHANNELS else found
        both = factors(node)
        if both is None or not pays_attention(self.body, function, *both, at):
            return None
        return Scores(*both, rank=rank_of(node), as_they_lie=True)

    def _may_be_given(self, name: str, found: list[Definition], at: Position) -> bool:
        """Whether a caller may hand in the scores that a layer before has computed: those are needed as such."""
        return self._is_parameter(name) and not bound_on_every_way(self.body, found, self.site.function, at)

    def _is_parameter(self, name: str) -> bool:
        return any(p.name == name for p in self.site.file.outline.functions[self.site.function].parameters)

    def _through(self, node: ast.expr, at: Position) -> ast.expr | None:
        """The scores in what only scales, masks, shapes or converts them."""
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, at)
        if not isinstance(node, ast.Call):
            return None
        name = last_part(chain(node.func))
        if name == "where" and len(node.args) == 3:
            self.masked = True
            return next((a for a in node.args[1:] if self._may_be_scores(a, at)), None)
        if name in ("max", "maximum") and len(node.args) == 2 and "finfo" in ast.unparse(node.args[1]):
            return node.args[0]  # what a mask has pushed below the smallest number
        if name in RESHAPED | {"rearrange"}:
            self.reshaped = self.reshaped or name not in ("squeeze", "unsqueeze")
            functional = name == "rearrange" or chain(node.func).startswith("torch.")
            return node.args[0] if functional and node.args else getattr(node.func, "value", None)
        if isinstance(node.func, ast.Attribute) and name in (SAME | _SCALED | _MASKED):
            self.masked = self.masked or name in _MASKED
            return node.func.value
        helps = _MASK.search(name) is not None or _BIAS.search(name) is not None
        if helps and node.args and self._may_be_scores(node.args[0], at):  # `self.mask_attention(scores)`
            self.masked = self.masked or _MASK.search(name) is not None
            self.biased = self.biased or _MASK.search(name) is None
            return node.args[0]
        return None

    def _arithmetic(self, node: ast.BinOp, at: Position) -> ast.expr | None:
        first = self._may_be_scores(node.left, at)
        left, right = (node.left, node.right) if first else (node.right, node.left)
        if not self._may_be_scores(left, at):
            return None
        if isinstance(node.op, ast.Mult) or (first and isinstance(node.op, ast.Div)):
            return left
        if not isinstance(node.op, ast.Add) and not (first and isinstance(node.op, ast.Sub)):
            return None
        if isinstance(node.op, ast.Add) or not _is_own_extreme(left, right):
            self._note_added(right)
        return left

    def _note_added(self, node: ast.expr) -> None:
        """A mask is added, as is a bias of the caller's or one that a branch adds; a learned one needs its gradient."""
        is_mask = self._in_branch or _MASK.search(ast.unparse(node)) is not None or self._is_given(node)
        self.masked, self.biased = self.masked or is_mask, self.biased or not is_mask

    def _is_given(self, node: ast.expr) -> bool:
        """Whether a caller gives what is added, if he does: `attn_bias=None`."""
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id not in ("torch", "self", "F")]
        record = self.site.file.outline.functions[self.site.function]
        optional = {p.name for p in record.parameters if p.default}
        return bool(names) and optional.issuperset(names)

    def _may_be_scores(self, node: ast.expr, at: Position) -> bool:
        """Whether a product stands in a node, or a name that holds one."""
        for part in ast.walk(node):
            if isinstance(part, ast.expr) and self._product(part, at) is not None:
                return True
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                place = self.site.frame.at
                found = self.body.reaching(self.site.function, part.id, place) or []
                inside = ((p, d.at) for d in found if d.value is not None for p in ast.walk(d.value))
                if any(
                    isinstance(p, ast.expr) and (self._product(p, when) is not None or _is_named(p, part.id))
                    for p, when in inside
                ):
                    return True
        return False


def _is_optional(definition: Definition, around: BlockPath) -> bool:
    """Whether a branch that is not around the softmax decides about a definition."""
    return any(part[1] != "loop" and part not in around for part in definition.block)


def _alike(one: Scores, other: Scores) -> bool:
    return [ast.unparse(one.queries), ast.unparse(one.keys)] == [ast.unparse(other.queries), ast.unparse(other.keys)]


def _is_own_extreme(scored: ast.expr, taken: ast.expr) -> bool:
    """Whether scores lose their own maximum, which a softmax does not notice.

    sim - sim.amax(-1, keepdim=True).detach()        sim - torch.max(sim, dim=-1, keepdim=True)[0]
    """
    own, written = re.escape(ast.unparse(scored)), ast.unparse(taken)
    return re.match(rf"{own}\.a?max\(|torch\.a?max\({own}, (?:dim=)?-?\d|torch\.a?max\({own}\)", written) is not None


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
