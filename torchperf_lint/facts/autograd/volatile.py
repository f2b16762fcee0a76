"""Networks that are fed `Variable(x, volatile=True)`, which has not switched gradients off since torch 0.4.

    images = Variable(images.cuda(), volatile=True)
    output = model(images)

Who wrote it asked for evaluation without gradients; torch warns, and records.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import EVERY_INPUT
from torchperf_lint.facts.roles.cold import COLD_NAME
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.model import Confidence

_MOVES = frozenset("cuda to cpu float half long type view unsqueeze contiguous".split())


class Fed(NamedTuple):
    """A call of a network that is fed a variable which was meant to be volatile."""

    site: Site
    line: int
    """Where it is said."""
    hot: Hot


def fed_volatile(file: SourceFile) -> Iterator[Fed]:
    """The first calls of networks on what a file calls volatile, where gradients are recorded."""
    for made in file.calls_among([c for c in file.outline.calls if last_part(c.callee) == api.VARIABLE]):
        if not is_true(keyword(made.call, "volatile")):
            continue
        site = next(_networks(file, made), None)
        hot = _often(file, site) if site is not None else None
        if site is not None and hot is not None and file.project.hotness.grad_mode.records(file.path, site.start):
            yield Fed(site, made.call.lineno, hot)


def _networks(file: SourceFile, made: Site) -> Iterator[Site]:
    """The calls of networks that are given the variable, directly or by its name."""
    around = file.enclosing(made.function)
    moved = _moved(around, made.call)
    name = _name_of(around.parents.get(moved), around.statement(moved), moved)
    for site in file.calls_among([c for c in file.outline.calls if c.function == made.function]):
        given = [*site.call.args, *(k.value for k in site.call.keywords)]
        takes = moved in given or (name and site.start > made.start and name in map(chain, given))
        called = site.call.func
        if isinstance(called, ast.Attribute) and called.attr == "forward":
            called = called.value
        if takes and file.value(called, site).kind == "module":
            yield site


def _moved(around: Enclosing, made: ast.Call) -> ast.Call:
    """The variable where it has been moved: `Variable(x, volatile=True).cuda()`."""
    while isinstance(method := around.parents.get(made), ast.Attribute) and method.attr in _MOVES:
        call = around.parents.get(method)
        if not isinstance(call, ast.Call):
            break
        made = call
    return made


def _name_of(parent: ast.AST | None, statement: ast.stmt | None, made: ast.Call) -> str:
    """What the variable is bound to: `x = Variable(x)`, and `x, y = Variable(x), Variable(y)`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    if parent is statement:
        return chain(target)
    if parent is not statement.value or not isinstance(parent, ast.Tuple) or not isinstance(target, ast.Tuple):
        return ""
    return chain(target.elts[parent.elts.index(made)]) if len(target.elts) == len(parent.elts) else ""


def _often(file: SourceFile, site: Site) -> Hot | None:
    """Why a call is hot: as any code is, or in a loop, which evaluates then."""
    name = file.outline.functions[site.function].name
    if site.hot is not None or COLD_NAME.search(name):
        return site.hot
    if not file.project.hotness.around.turns(file.path, site.record.region):
        return site.hot
    if any(c.function == site.function and last_part(c.callee) == "synchronize" for c in file.outline.calls):
        return None  # who waits for the device there measures it
    because = f"it runs each turn of a loop of `{name}`"
    return Hot("eval", because, EVERY_INPUT, Confidence.LIKELY, file.path, site.record.line)
