"""Copies to the host that are no result of a batch: of what is made one number at once, or was copied a line before.

hits += pred.eq(y).cpu().sum()          # the device would have added up
losses.update(loss.detach().cpu().item())
acc = accuracy(out.cpu().numpy(), y)
points = decode(out.clone().cpu().numpy())
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.source import Site, SourceFile
from torchperf_lint.facts.syntax import below

_VIEWS = frozenset(
    "detach data clone contiguous numpy float double half long int squeeze unsqueeze view reshape flatten ravel "
    "astype copy".split()
)
"""What leaves the elements of a tensor, or of the array made of it, as they are."""
_REDUCTIONS = frozenset({"sum", "mean", "prod", "norm", "item", "any", "all", "nansum", "nanmean"})
_OF_ONE = frozenset({"float", "int", "bool"})
_OF_ALL = _REDUCTIONS | {"histc", "bincount", "count_nonzero"}
"""Functions of torch and numpy that leave little of a tensor; without an axis."""


def becomes_a_number(file: SourceFile, site: Site) -> bool:
    """Whether a copy goes straight into what leaves one number, or few, of it."""
    around = file.enclosing(site.function)
    node: ast.AST = site.call
    for parent in around.ancestors(site.call):
        if isinstance(parent, ast.Attribute):
            if parent.attr in _REDUCTIONS:
                called = around.parents.get(parent)
                return isinstance(called, ast.Call) and called.func is parent and not called.args + called.keywords
            if parent.attr not in _VIEWS:
                return False
        elif isinstance(parent, ast.Call) and parent.func is not node:
            return parent.args[:1] == [node] and _leaves_little(parent)
        elif not isinstance(parent, ast.Call):
            return False
        node = parent
    return False


def reads_one_number(file: SourceFile, site: Site) -> bool:
    """Whether a copy is only made to read the one number that it holds: `loss.cpu().item()`, `float(loss.cpu())`."""
    parents = file.enclosing(site.function).parents
    above = parents.get(site.call)
    if isinstance(above, ast.Attribute) and above.attr == "item":
        called = parents.get(above)
        return isinstance(called, ast.Call) and called.func is above
    return isinstance(above, ast.Call) and chain(above.func) in _OF_ONE and above.args == [site.call]


def _leaves_little(call: ast.Call) -> bool:
    name, of = last_part(chain(call.func)), chain(call.func).rpartition(".")[0]
    if not of:
        return name in _OF_ONE and len(call.args) == 1
    one = len(call.args) == 1 and not call.keywords
    return of in ("torch", "np", "numpy") and name in _OF_ALL and (one or name in ("histc", "bincount"))


def copied_before(file: SourceFile, site: Site) -> int | None:
    """The line above that has copied the same tensor, on every way to a copy; None where there is none."""
    body, around = file.project.body(file.path), file.enclosing(site.function)
    name = _copied(site.call)
    if body is None or name is None:
        return None
    held, block = body.reaching(site.function, name, site.start), body.block_of(site.function, site.start)
    for call in around.of_kinds((ast.Call,)):
        at = body.at(call) if isinstance(call, ast.Call) and _copied(call) == name else None
        if at is None or at >= site.start or around.statement(call) is around.statement(site.call):
            continue
        before = body.block_of(site.function, at)
        if block[: len(before)] != before or not around.always_evaluated(call):
            continue
        if held and body.reaching(site.function, name, at) == held:
            return at[0]
    return None


def _copied(call: ast.AST) -> str | None:
    """The name that `name.detach().cpu()` copies to the host."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "cpu":
        return None
    name = below(call.func.value, _VIEWS)
    return name.id if isinstance(name, ast.Name) else None
