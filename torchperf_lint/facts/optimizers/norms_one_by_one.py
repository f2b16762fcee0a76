"""The norm of all gradients, put together tensor by tensor on the device: nobody waits, but every tensor has kernels.

    for p in model.parameters():                        norm = torch.norm(torch.stack(
        total += p.grad.data.norm() ** 2                    [torch.norm(p.grad, 2) for p in parameters]))

Loops that read each norm (`.item()`) are another matter, as are loops in which gradients are changed as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.addends import addend
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.optimizers.few_parameters import goes_over_few
from torchperf_lint.facts.optimizers.foreach_forms import NORMS, moves_or_reads, statements_of
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of

_READS = frozenset("item float int cpu numpy tolist print bool format".split())
_COMBINES = frozenset(("stack", "torch.stack", "sum", "torch.cat"))
_KINDS = frozenset(("step", "update"))


class Norms(NamedTuple):
    """A loop or comprehension that computes a norm for each gradient."""

    spot: Spot
    """What it goes over."""
    iterated: ast.expr
    loop: ast.expr | ast.stmt


def norms_one_by_one(file: SourceFile) -> Iterator[Norms]:
    """The loops of a file that put the norm of all gradients together in every step."""
    if "_foreach_norm" in file.text or "get_total_norm" in file.text:
        return  # whoever knows them has another way beside this one
    looping = {region.function for region in file.outline.regions if region.kind in ("loop", "comprehension")}
    for function in sorted(looping):
        for node in file.enclosing(function).of_kinds((ast.For, ast.ListComp, ast.GeneratorExp)):
            assert isinstance(node, ast.expr | ast.stmt)
            over = _goes_over(file, function, node)
            if over is None:
                continue
            spot = _hot(file, function, node, over)
            if spot is not None:
                yield Norms(spot, over, node)


def _goes_over(file: SourceFile, function: int, node: ast.AST) -> ast.expr | None:
    """What a loop that adds up norms goes over; None for all other loops."""
    if isinstance(node, ast.For):
        wanted = not moves_or_reads(node) and not _reads(node) and _adds_up(node)
        return node.iter if wanted and not goes_over_few(file, node, function) else None
    assert isinstance(node, ast.ListComp | ast.GeneratorExp)
    call = file.enclosing(function).parents.get(node)
    combined = isinstance(call, ast.Call) and chain(call.func) in _COMBINES and call.args[:1] == [node]
    (first, *others) = node.generators
    gradients = _named_so(first.target, first.iter)
    if not combined or others or _reads(node) or not _is_of_a_gradient(node.elt, names_of(first.target), gradients):
        return None
    return first.iter


def _hot(file: SourceFile, function: int, node: ast.AST, over: ast.expr) -> Spot | None:
    """The place of the loop's turns, if each step runs it and it goes over parameters."""
    inside = node.body[0] if isinstance(node, ast.For) else node.elt  # type: ignore[attr-defined]
    start = file.span(inside)[0]
    hot = file.project.hotness.at(file.path, start)
    if hot is None or hot.kind not in _KINDS or hot.optional:
        return None
    spot = Spot(file, inside, function, hot, start)
    return spot._replace(expression=over) if per_parameter(file, spot) is not None else None


def _adds_up(loop: ast.For) -> bool:
    """Whether all that the turns of a loop compute is one number, the sum of norms or squares of the gradients."""
    held, gradients, added = names_of(loop.target), _named_so(loop.target, loop.iter), 0
    for statement in statements_of(loop):
        if isinstance(statement, ast.Pass | ast.Continue | ast.Raise):
            continue
        value = addend(statement) or _added_in_place(statement)
        if value is not None and _is_of_a_gradient(value, held, gradients):
            added += 1
        elif isinstance(statement, ast.Assign) and names_of(statement.value) & held:
            held |= names_of(*statement.targets)
            if ".grad" in ast.unparse(statement.value):
                gradients |= names_of(*statement.targets)
        elif not _gathers(statement):
            return False
    return added == 1


def _added_in_place(statement: ast.stmt) -> ast.expr | None:
    """`total.add_(x)`."""
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "add_":
        return value.args[0] if value.args else None
    return None


def _gathers(statement: ast.stmt) -> bool:
    """`grads.append(p.grad)`."""
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Call) and last_part(chain(value.func)) == "append"


def _reads(node: ast.AST) -> bool:
    """Whether the host asks for numbers in a loop, which costs more than the kernels."""
    calls = (part for part in nodes_of(node) if isinstance(part, ast.Call))
    return any(last_part(chain(call.func)) in _READS for call in calls)


def _named_so(target: ast.expr, over: ast.expr) -> set[str]:
    """The variables of a loop that are gradients by their names, or by that of what it goes over."""
    whole = "grad" in last_part(chain(over)).lower()
    return {name for name in names_of(target) if whole or "grad" in name.lower()}


def _is_of_a_gradient(value: ast.expr, held: set[str], gradients: set[str]) -> bool:
    """Whether an expression is a norm, or a sum of squares, of a gradient that a turn has."""
    text, names = ast.unparse(value), names_of(value)
    if not names & gradients and not (names & held and ".grad" in text):
        return False
    calls = [last_part(chain(part.func)) for part in ast.walk(value) if isinstance(part, ast.Call)]
    if NORMS.intersection(calls):
        return True
    squares = "square" in calls or ".pow(2" in text or "** 2" in text
    return squares and calls.count("sum") == 1
