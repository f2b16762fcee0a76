"""Optimizers whose `step` is compiled while a scheduler changes their learning rate, which is a Python number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.processes.compiling import COMPILE, compiled_by
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_SCHEDULER = pattern(r"(?:LR|Restarts|Plateau|Scheduler|_schedule\w*)$")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LR = 1
"""Of `lr` in `Adam(params, lr)`."""


class CompiledStep(NamedTuple):
    """A compilation of an optimizer's step, where the optimizer is made, and the scheduler's line."""

    mark: Mark
    made: Site
    scheduler: int


def compiled_steps(file: SourceFile) -> Iterator[CompiledStep]:
    """The compiled steps of optimizers made in this file with a number for a learning rate, in order."""
    made = {name: site for site in _optimizers(file) for name in _assigned(site)}
    if not made:
        return
    scheduled = {name: line for name in made for line in [_scheduled(file, name)] if line is not None}
    found = [
        CompiledStep(mark, made[name], scheduled[name])
        for mark, name in (*_called(file), *_decorated(file))
        if name in scheduled
    ]
    yield from sorted(found, key=lambda step: step.mark.frame.at)


def _optimizers(file: SourceFile) -> Iterator[Site]:
    """The optimizers of torch whose learning rate is a number, as far as is written."""
    records = [call for call in file.outline.calls if last_part(call.callee)[:1].isupper()]
    for site in file.calls_among(records):
        called = file.denotes(site.call.func, site) or ""
        if called.startswith("torch.optim.") and "lr_scheduler" not in called and _number(site):
            yield site


def _number(site: Site) -> bool:
    if unpacks_keywords(site.call):
        return False
    rate = site.call.args[_LR] if len(site.call.args) > _LR else site.keyword("lr")
    return rate is None or isinstance(rate, ast.Constant | ast.Attribute)


def _assigned(site: Site) -> list[str]:
    statement = site.file.enclosing(site.function).statement(site.call)
    plain = isinstance(statement, ast.Assign) and statement.value is site.call
    return [chain(target) for target in statement.targets] if plain and isinstance(statement, ast.Assign) else []


def _scheduled(file: SourceFile, name: str) -> int | None:
    """The line that makes a scheduler for an optimizer."""
    records = [call for call in file.outline.calls if _SCHEDULER.search(last_part(call.callee))]
    for site in file.calls_among(records):
        given = site.call.args[0] if site.call.args else site.keyword("optimizer")
        if given is not None and chain(given) == name:
            return site.record.line
    return None


def _called(file: SourceFile) -> Iterator[tuple[Mark, str]]:
    """`torch.compile(optimizer.step)`, and of a function or lambda that steps it."""
    for site in file.calls_of(COMPILE):
        what = compiled_by(site.call)
        if isinstance(what, ast.Lambda):
            names = [name for name in [_stepped(what.body)] if name]
        elif isinstance(what, ast.Attribute) and what.attr == "step":
            names = [chain(what.value)]
        elif isinstance(what, ast.Name):
            names = [name for node in _defined(file, what.id) for name in _steps(node)]
        else:
            names = []
        yield from ((Mark(file, site.call, site.function), name) for name in names)


def _decorated(file: SourceFile) -> Iterator[tuple[Mark, str]]:
    for number in range(len(file.outline.functions)):
        for node in file.enclosing(number).of_kinds(_DEFINITIONS):
            assert isinstance(node, _DEFINITIONS)
            for decorator in node.decorator_list:
                named = decorator.func if isinstance(decorator, ast.Call) else decorator
                mark = Mark(file, decorator, number)
                if last_part(chain(named)) == "compile" and file.denotes(named, mark) == COMPILE:
                    yield from ((mark, name) for name in _steps(node))


def _defined(file: SourceFile, name: str) -> Iterator[ast.stmt]:
    for number in range(len(file.outline.functions)):
        for node in file.enclosing(number).of_kinds(_DEFINITIONS):
            if isinstance(node, _DEFINITIONS) and node.name == name:
                yield node


def _steps(function: ast.stmt) -> list[str]:
    """What a function steps."""
    return [name for node in ast.walk(function) if isinstance(node, ast.expr) for name in [_stepped(node)] if name]


def _stepped(node: ast.expr) -> str:
    is_step = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"
    return chain(node.func.value) if is_step else ""  # type: ignore[attr-defined]
