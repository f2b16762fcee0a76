"""Models that are evaluated inside a training function while autograd records.

    if training:                                     loss.backward()
        model.train()                                optimizer.step()
    else:                                            model.eval()
        model.eval()                                 output = model(features)
    loss = criterion(model(x), y)
    if training:
        loss.backward()

On the left one flag says which it is, on the right the evaluation follows the step in one straight line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.autograd.evaluated_with_grad import model_switches_off, put_into_evaluation
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_MORE = pattern(
    r"no_grad|inference_mode|set_grad_enabled|autograd|requires_grad|attack|adversar|create_graph|enable_grad"
)
_LATER = pattern(r"backward|\.grad\b|\.step\(|\.train\(|return\b|yield\b")
_NUMBER_GIVEN = pattern(r"^[ \t]*return(?: [^\n]*\.item\(\))?[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
"""`return loss.item()`: what is given back has no graph."""


class EvaluatedBeside(NamedTuple):
    """A call of a model that records gradients nobody asks for."""

    site: Site
    model: str
    line: int
    """Where the model is put into evaluation mode."""
    flag: str
    """The test that says whether it is trained; empty where it is evaluated after the step."""


def evaluated_in_training(file: SourceFile) -> Iterator[EvaluatedBeside]:
    """The evaluations of a file that stand in a function of a training loop, with gradients recorded."""
    for call, model in put_into_evaluation(file):
        record, lines = file.outline.functions[call.function], file.lines
        said = "\n".join([*record.decorators, *lines[record.line - 1 : record.end_line]])
        if _MORE.search(said) or "backward" not in said:
            continue
        for site in file.calls_among([call]):
            statement = file.enclosing(site.function).statement(site.call)
            if statement is not None and not site.call.args:
                yield from _by_flag(file, site, statement, model)
                yield from _after_the_step(file, site, statement, model)


def _by_flag(file: SourceFile, ended: Site, statement: ast.stmt, model: str) -> Iterator[EvaluatedBeside]:
    """`if training: model.train() else: model.eval()`, and a backward pass under the same flag alone."""
    around = file.enclosing(ended.function)
    choice = around.parents.get(statement)
    if not isinstance(choice, ast.If) or statement not in choice.orelse or not isinstance(choice.test, ast.Name):
        return
    trains = any(
        isinstance(n, ast.Call) and chain(n.func) == f"{model}.train" for s in choice.body for n in ast.walk(s)
    )
    calls = [node for node in around.of_kinds((ast.Call,)) if isinstance(node, ast.Call)]
    backward = [node for node in calls if last_part(chain(node.func)) == "backward"]
    flag = choice.test.id
    if not trains or not backward or not all(_under(file, ended, node, flag) for node in backward):
        return
    for site in _calls_of(file, ended.function, model):
        if site.call.lineno > choice.lineno and not _under(file, site, site.call, flag) and _records(file, site):
            yield EvaluatedBeside(site, model, ended.call.lineno, flag)
            return


def _after_the_step(file: SourceFile, ended: Site, statement: ast.stmt, model: str) -> Iterator[EvaluatedBeside]:
    """`model.eval()` below the last backward pass, and the model called right after it."""
    around = file.enclosing(ended.function)
    after = around.suite(statement)
    after = after[around.place_in_suite(statement) + 1 :]
    record = file.outline.functions[ended.function]
    rest = _NUMBER_GIVEN.sub("", "\n".join(file.lines[ended.record.line : record.end_line]))
    if _LATER.search(rest) or "backward" not in "\n".join(file.lines[record.line : ended.record.line]):
        return
    for site in _calls_of(file, ended.function, model):
        if any(site.call in ast.walk(following) for following in after) and _records(file, site):
            yield EvaluatedBeside(site, model, ended.call.lineno, "")
            return


def _calls_of(file: SourceFile, function: int, model: str) -> Iterator[Site]:
    """The calls of a model or its `forward` in a function, and those that get it first and whose result is taken."""
    for site in file.calls_among([call for call in file.outline.calls if call.function == function]):
        given = bool(site.call.args) and chain(site.call.args[0]) == model
        helper = given and bool(file.project.types.targets(file.path, function, site.record.callee))
        taken = isinstance(file.enclosing(function).parents.get(site.call), ast.Assign)
        if (site.record.callee in (model, f"{model}.forward") and site.call.args) or (helper and taken):
            yield site


def _records(file: SourceFile, site: Site) -> bool:
    hot = site.hot
    if hot is None or hot.kind != "step" or hot.optional:
        return False
    return file.project.hotness.grad_mode.records(file.path, site.start) and not model_switches_off(file, site)


def _under(file: SourceFile, site: Site, node: ast.AST, flag: str) -> bool:
    """Whether a node stands in the body of `if flag:`."""
    around = file.enclosing(site.function)
    while node in around.parents:
        inner, node = node, around.parents[node]
        if isinstance(node, ast.If) and inner in node.body and flag in _names(node.test):
            return True
    return False


def _names(test: ast.expr) -> set[str]:
    """The flags that all have to hold for a test to."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return {part.id for part in parts if isinstance(part, ast.Name)}
