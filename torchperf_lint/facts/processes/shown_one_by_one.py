"""Numbers of a step that are exchanged between processes only to be read: a detached copy, `all_reduce`, `.item()`.

    for name, loss_value in log_vars.items():
        loss_value = loss_value.data.clone()
        dist.all_reduce(loss_value.div_(dist.get_world_size()))
        log_vars[name] = loss_value.item()

No gradient comes of a detached copy, and what is read of it goes into a log. So it is with an entry of what a model
gives that nothing else takes, `hits = model(batch)["hits"]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.models.entries_of_outputs import is_own_entry
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.processes.exchanged_numbers import names_before
from torchperf_lint.facts.syntax.chains import chain, last_part

_IN_PLACE = ("all_reduce", "reduce")
_OF_STEPS = frozenset({"step", "forward"})
_READS = frozenset({"item", "tolist", "cpu", "numpy"})
_CONVERTS = frozenset({"float", "int", "round"})
_CHANGES = frozenset({"div_", "mul_", "div", "mul"})


class Shown(NamedTuple):
    """A collective in place on a tensor that is only read afterwards."""

    site: Site
    about: str


def shown_one_by_one(file: SourceFile) -> Iterator[Shown]:
    """The collectives of a file's steps whose results nothing but reads for a log take."""
    for site in file.hot_calls(*_IN_PLACE):
        hot = site.hot
        dotted = file.denotes(site.call.func, site) or ""
        if hot is None or hot.kind not in _OF_STEPS or hot.optional or not dotted.startswith("torch.distributed."):
            continue
        name = _exchanged(site.call)
        if name is not None and _is_for_a_log(file, site, name):
            yield Shown(site, name.id)


def _exchanged(call: ast.Call) -> ast.Name | None:
    """The name of what is exchanged: `x` of `dist.all_reduce(x.div_(n))`."""
    node = call.args[0] if call.args else None
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
        node = node.func.value
    return node if isinstance(node, ast.Name) else None


def _is_for_a_log(file: SourceFile, site: Site, name: ast.Name) -> bool:
    body = file.project.body(file.path)
    if body is None:
        return False
    reaching = body.reaching(site.function, name.id, body.at(name)) or []
    made = [d.value for d in reaching if d.how == "assign" and d.value is not None]
    in_loop = bool(body.backward_operands(site.function))  # elsewhere nobody sees what else becomes of what is read
    apart = (_is_detached(value) or (in_loop and is_own_entry(site, body, value)) for value in made)
    if len(made) != len(reaching) or not made or not all(apart):
        return False
    return _is_only_read(file, site, body, name)


def _is_detached(node: ast.expr) -> bool:
    """`loss.data.clone()`, `loss.detach()`, a share of one: `loss.detach() / n`."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "detach":
                return True
            node = node.func.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            node = node.left
        else:
            return False


def _is_only_read(file: SourceFile, site: Site, body: Body, name: ast.Name) -> bool:
    """Whether each use of a name that comes after the collective, and may have its result, reads a number for a log."""
    after, made = body.at(site.call, end=True), _made(body, site, name)
    later = [use for use in body.reads(site.function, name.id) if body.at(use) > after]
    uses = [use for use in later if made & _made(body, site, use)]
    return bool(uses) and all(_is_for_show(file, site, body, use) for use in uses)


def _made(body: Body, site: Site, use: ast.Name) -> set[Position]:
    """Where a name may have been bound to what it is at one place."""
    return {definition.at for definition in body.reaching(site.function, use.id, body.at(use)) or ()}


def _is_for_show(file: SourceFile, site: Site, body: Body, use: ast.Name) -> bool:
    around = file.enclosing(site.function)
    parent = around.parents.get(use)
    call = around.parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in _READS else parent
    if not isinstance(call, ast.Call) or (call is parent and last_part(chain(call.func)) not in _CONVERTS):
        return False
    statement = around.statement(use)
    if isinstance(statement, ast.If | ast.While | ast.Return | ast.Assert):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AugAssign) else targets
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    trained = _trained_on(site, body)
    return use.id not in trained and not names & (body.decisive(site.function) | trained)


def _trained_on(site: Site, body: Body) -> set[str]:
    """The names of a function that what it runs backward is computed of: `loss = out["loss"] / tokens.item()`."""
    operands = {operand.partition(".")[0].partition("[")[0] for operand in body.backward_operands(site.function)}
    return names_before(body.functions[site.function], operands)
