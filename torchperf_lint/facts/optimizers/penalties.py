"""Penalties on all parameters of a model that a loss puts together tensor by tensor: kernels for each, and more back.

    for p in model.parameters():                       norms = torch._foreach_norm(list(model.parameters()))
        loss = loss + weight * p.norm()                loss = loss + weight * torch.stack(norms).sum()

Those of gradients are another matter (norms_one_by_one.py): nothing is differentiated there. Parts of a model, a critic
or a layer, have too few tensors to matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.addends import addend
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.optimizers.few_parameters import goes_over_few
from torchperf_lint.facts.optimizers.foreach_forms import NORMS, moves_or_reads, statements_of
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.patterns import pattern

_OVER = pattern(r"param|weights")
_KINDS = frozenset({"step", "forward", "update"})
_COMBINES = frozenset(("stack", "torch.stack", "sum"))
_READS = frozenset("item float int cpu numpy tolist print bool format detach".split())
_APART = pattern(r"\.grad\b|\.data\b")
"""What is no part of a graph: the norm of that is measured, not trained."""
_OF_A_PART = pattern(
    r"critic|actor|policy|value|alpha|head|mlp|conv|emb|layer|fc|linear|gate|proj|attn|attention|rnn|lstm|gru|tower|dnn|"
    r"classifier|predictor|reward|disc|cell|block"
)
"""Names of parts of a model, and of the small networks of agents."""


_SHOWN = pattern(r"norm|magnitude|stat(?:s|istic)?$|metric|log|info", re.IGNORECASE)
"""Names of numbers that are looked at: the norm of all weights is no term of a loss."""


class Penalty(NamedTuple):
    """A loop or comprehension that computes a term of a loss for each parameter."""

    spot: Spot
    """What it goes over."""
    loop: ast.expr | ast.stmt
    squares: bool
    """Whether all that is added are squares, which the weight decay of an optimizer penalises without kernels."""


def penalties(file: SourceFile) -> Iterator[Penalty]:
    """The loops of a file that add a norm of each parameter to a loss, in every step."""
    if "_foreach_" in file.text or not any(_OVER.search(region.detail) for region in file.outline.regions):
        return
    for spot in hot_nodes(file, ast.For, ast.ListComp, ast.GeneratorExp):
        if spot.hot.kind not in _KINDS or file.project.hotness.grad_mode.is_off_at(file.path, spot.start):
            continue
        node = spot.expression
        terms = _terms(node) if isinstance(node, ast.For) else _term(file, spot)
        over = node.iter if isinstance(node, ast.For) else node.generators[0].iter  # type: ignore[union-attr]
        if not terms or any(_APART.search(ast.unparse(term)) for term in terms) or _is_of_few(file, spot, over):
            continue
        if any(_SHOWN.search(name) for name in _bound(file, spot)):
            continue
        inside = spot.at(node.body[0] if isinstance(node, ast.For) else node.elt)  # type: ignore[union-attr]
        if per_parameter(file, inside) is not None:
            squares = all(_are_squares(term) for term in terms)
            yield Penalty(spot._replace(expression=over), node, squares)


def _terms(loop: ast.For) -> list[ast.expr]:
    """What the turns of a loop add to one number, where that is all they do; else nothing."""
    held, added = names_of(loop.target), []
    if moves_or_reads(loop) or _reads(loop):
        return []
    for statement in statements_of(loop):
        value = addend(statement)
        if isinstance(statement, ast.Pass | ast.Continue):
            continue
        if value is not None and names_of(value) & held and _is_norm(value):
            added.append(value)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            held |= names_of(*statement.targets)
        else:
            return []
    return added


def _term(file: SourceFile, spot: Spot) -> list[ast.expr]:
    """The element of `sum(p.pow(2).sum() for p in model.parameters())`."""
    node = spot.expression
    assert isinstance(node, ast.ListComp | ast.GeneratorExp)
    call = file.enclosing(spot.function).parents.get(node)
    combined = isinstance(call, ast.Call) and chain(call.func) in _COMBINES and call.args[:1] == [node]
    if not combined or len(node.generators) > 1 or _reads(node) or not _is_norm(node.elt):
        return []
    return [node.elt] if names_of(node.elt) & names_of(node.generators[0].target) else []


def _bound(file: SourceFile, spot: Spot) -> set[str]:
    """The names of what the terms are added up in: `loss` of `loss += p.norm()`, `decay` of `decay = sum(...)`."""
    node = spot.expression
    if isinstance(node, ast.For):
        statements = list(statements_of(node))
        added = [s for s in statements if addend(s) is not None]
        return names_of(*(t for s in added for t in (s.targets if isinstance(s, ast.Assign) else [s.target])))  # type: ignore[attr-defined]
    around = file.enclosing(spot.function).around(node)
    statement = next((part for part in around if isinstance(part, ast.Assign)), None)
    return names_of(*statement.targets) if statement is not None else set()


def _is_norm(value: ast.expr) -> bool:
    """A norm, or a sum of squares or sizes: what one call for a whole list computes as well."""
    calls = [last_part(chain(part.func)) for part in ast.walk(value) if isinstance(part, ast.Call)]
    if NORMS.intersection(calls):
        return True
    return calls.count("sum") == 1 and ("abs" in calls or _are_squares(value))


def _are_squares(value: ast.expr) -> bool:
    text = ast.unparse(value)
    return ".pow(2" in text or "** 2" in text or "square(" in text


def _reads(node: ast.AST) -> bool:
    calls = (part for part in nodes_of(node) if isinstance(part, ast.Call))
    return any(last_part(chain(call.func)) in _READS for call in calls)


def _is_of_few(file: SourceFile, spot: Spot, over: ast.expr) -> bool:
    """Whether a loop goes over a part of a model, over gradients, or over what is seen to be few."""
    loop = spot.expression
    whole = ".".join(part for part in chain(over).split(".") if part != "self")
    if _OF_A_PART.search(whole.lower()) or "grad" in ast.unparse(over).lower():
        return True
    return isinstance(loop, ast.For) and goes_over_few(file, loop, spot.function)
