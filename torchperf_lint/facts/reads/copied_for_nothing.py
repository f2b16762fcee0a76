"""Copies to the host that are no result of a batch: of what is made one number at once, or was copied a line before;
and those that nobody reads.

hits += pred.eq(y).cpu().sum()          # the device would have added up
losses.update(loss.detach().cpu().item())
acc = accuracy(out.cpu().numpy(), y)
points = decode(out.clone().cpu().numpy())
scores = scores.cpu().numpy()           # and then `del scores`
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.clocks import is_timed
from torchperf_lint.facts.reads.synchronising import is_needed
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import below, nodes_of

_VIEWS = frozenset(
    "detach data clone contiguous numpy float double half long int squeeze unsqueeze view reshape flatten ravel "
    "astype copy".split()
)
"""What leaves the elements of a tensor, or of the array made of it, as they are."""
_REDUCTIONS = frozenset({"sum", "mean", "prod", "norm", "item", "any", "all", "nansum", "nanmean"})
_READ_ALL = frozenset({"locals", "vars", "eval", "exec", "globals"})
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_SAME = frozenset(("data", "detach", "numpy", "double"))
_OF_ONE = frozenset({"float", "int", "bool"})
_OF_ALL = _REDUCTIONS | {"histc", "bincount", "count_nonzero"}
"""Functions of torch and numpy that leave little of a tensor; without an axis."""


UNREAD = "leave the copy out: nothing reads it"
"""What to do about a copy of which `is_never_read` holds."""


def is_for_nothing(file: SourceFile, site: Site) -> bool:
    """Whether a copy is no result: it becomes a number at once, a line above has made it, or nothing reads it."""
    return becomes_a_number(file, site) or copied_before(file, site) is not None or is_never_read(file, site)


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
    """Whether a copy is only made to read the one number that it holds: `loss.cpu().item()`, `float(loss.cpu())`.

    Of `float(loss.cpu().data.numpy())` as well, whatever stands between.
    """
    parents = file.enclosing(site.function).parents
    read: ast.AST = site.call
    above = parents.get(read)
    while isinstance(above, ast.Attribute) and above.attr in _SAME:
        called = parents.get(above)
        read = called if isinstance(called, ast.Call) and called.func is above else above
        above = parents.get(read)
    if isinstance(above, ast.Attribute) and above.attr == "item":
        called = parents.get(above)
        return isinstance(called, ast.Call) and called.func is above
    return isinstance(above, ast.Call) and chain(above.func) in _OF_ONE and above.args == [read]


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


def is_never_read(file: SourceFile, site: Site) -> bool:
    """Whether a copy only gets a name of its function, under which nothing reads it before it is deleted or replaced.

    A name that begins with `_` says that the copy is there to wait for the device, and so may any where time is taken.
    """
    around, body = file.enclosing(site.function), file.project.body(file.path)
    statement = around.statement(site.call)
    if body is None or not site.function or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or target.id.startswith("_") or not _is_all_of(statement.value, site.call):
        return False
    if _is_anothers(around, target.id) or is_timed(file, site) or is_needed(file, site):
        return False
    reads = body.reads(site.function, target.id)
    if any(_is_inner(around, read) for read in reads):
        return False
    return _is_replaced(around, statement, target.id) or not any(_may_read(around, statement, r) for r in reads)


def _is_all_of(node: ast.expr, copy: ast.Call) -> bool:
    """Whether views and conversions are all that is made of a copy: `x.cpu().numpy()`."""
    while node is not copy and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in _VIEWS:
            return False
        node = node.func.value
    return node is copy


def _is_anothers(around: Enclosing, name: str) -> bool:
    """Whether a name is of the module, or of a function around; or any may be read, as by `locals()`."""
    nodes = around.of_kinds((ast.Global, ast.Nonlocal, ast.Call))
    return any(
        chain(node.func) in _READ_ALL if isinstance(node, ast.Call) else name in getattr(node, "names", ())
        for node in nodes
    )


def _is_replaced(around: Enclosing, statement: ast.stmt, name: str) -> bool:
    """Whether a statement that follows, on the same way, deletes a name or binds it anew, and none before reads it."""
    following = around.suite(statement)[around.place_in_suite(statement) + 1 :]
    for after in following:
        nodes = nodes_of(after)
        named = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
        if any(isinstance(node.ctx, ast.Load) for node in named) or any(isinstance(node, _LEAVES) for node in nodes):
            return False
        if named:
            return isinstance(after, ast.Assign | ast.Delete) and any(target in named for target in after.targets)
    return False


def _is_inner(around: Enclosing, read: ast.Name) -> bool:
    """Whether a function inside reads a name, which may run whenever."""
    return read not in around.parents or any(isinstance(node, ast.Lambda) for node in around.ancestors(read))


def _may_read(around: Enclosing, statement: ast.Assign, read: ast.Name) -> bool:
    """Whether a name is read behind a statement, or in another turn of a loop around it."""
    if around.statement(read) is statement:
        return False
    turns = {node for node in around.around(statement) if isinstance(node, ast.For | ast.AsyncFor | ast.While)}
    behind = (read.lineno, read.col_offset) > (statement.lineno, statement.col_offset)
    return behind or any(node in turns for node in around.around(read))


def _copied(call: ast.AST) -> str | None:
    """The name that `name.detach().cpu()` copies to the host."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "cpu":
        return None
    name = below(call.func.value, _VIEWS)
    return name.id if isinstance(name, ast.Name) else None
