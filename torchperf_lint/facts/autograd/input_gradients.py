"""Backward passes that are for the gradient of an input: those of all parameters are computed as well, for nothing.

    for _ in range(steps):                                   optimizer = LBFGS([image])
        loss = criterion(model(x_adv), y)                    loss = (vgg(image) - wanted).square().mean()
        loss.backward()                                      loss.backward()
        x_adv = x_adv + step * x_adv.grad.sign()             optimizer.step()

Told by what the function reads, or gives to the one optimizer it steps: tensors that it asks gradients for itself. It
has nothing to do with parameters otherwise, and nothing near freezes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.autograd.trainable import class_may_record, holds_layers, is_without_parameters, may_freeze
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.flows import reached
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.optimizers.optimizer_owners import stepped
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.patterns import pattern

_GRADIENTS_ELSEWHERE = pattern(r"register_\w*hook|toggle_grad|deepspeed|jit\.load|onnx|higher\.")
_NETWORK = pattern(r"model|net(?:work)?(?:_\w+)?$|classifier|encoder|backbone|generator|critic|discriminator")
_JUDGES = pattern(r"loss|crit|metric", re.IGNORECASE)
_FILES = 6


class ForAnInput(NamedTuple):
    """A backward pass whose gradients of parameters nobody uses."""

    site: Site
    model: str
    wanted: str
    """The input, as written."""
    line: int
    """Where its gradient is used."""
    updated: bool
    """Whether an optimizer uses it."""


def for_an_input(file: SourceFile) -> Iterator[ForAnInput]:
    """The hot backward passes of a file that are for the gradient of an input."""
    if may_freeze(file.text) or _GRADIENTS_ELSEWHERE.search(file.text):
        return
    for site in file.hot_calls("backward"):
        if site.receiver is None or site.call.args or keyword(site.call, "inputs") is not None:
            continue  # who gives a gradient goes through a part of a pass
        if site.hot is None or site.hot.optional:
            continue
        used = _used(file, site)
        model = _model(file, site) if used is not None else ""
        if used is not None and model and not _is_stepped_by_callers(file, site):
            yield ForAnInput(site, model, *used)


def _used(file: SourceFile, site: Site) -> tuple[str, int, bool] | None:
    """(input, line, whether an optimizer updates it), where only gradients of inputs are used in the function."""
    around = file.enclosing(site.function)
    calls = [node for node in around.of_kinds((ast.Call,)) if isinstance(node, ast.Call)]
    if any(last_part(chain(call.func)) in ("parameters", "named_parameters", "register_hook") for call in calls):
        return None
    asked = _asked(calls) | _switched_on(around.of_kinds((ast.Assign,)))
    grads = [n for n in around.of_kinds((ast.Attribute,)) if isinstance(n, ast.Attribute) and n.attr == "grad"]
    grads = [n for n in grads if not chain(n.value).endswith("autograd")]
    if not asked or any(chain(n.value) not in asked for n in grads):
        return None
    steps = {stepped(call) or chain(call.func) for call in calls if last_part(chain(call.func)) == "step"}
    updated = _updated(around.of_kinds((ast.Assign,)), steps)
    if steps and (not updated or not updated <= asked):
        return None
    if updated:
        return (", ".join(sorted(updated)), site.call.lineno, True)
    read = next((n for n in grads if n.lineno >= site.call.lineno and isinstance(n.ctx, ast.Load)), None)
    return (chain(read.value), read.lineno, False) if read is not None else None


def _asked(calls: list[ast.Call]) -> set[str]:
    """The names of what takes gradients because a call says so: `x.requires_grad_()`."""
    found = set[str]()
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("requires_grad_", "retain_grad"):
            found.add(chain(call.func.value))
    return found


def _switched_on(assignments: list[ast.AST]) -> set[str]:
    """The names of what takes gradients by an assignment: `x.requires_grad = True`, `x = Variable(x, True)`."""
    found = set[str]()
    for node in assignments:
        assert isinstance(node, ast.Assign)
        made = [n for n in ast.walk(node.value) if isinstance(n, ast.Call)]
        says = any(is_true(keyword(c, "requires_grad")) or last_part(chain(c.func)) == "requires_grad_" for c in made)
        for target in node.targets:
            written = chain(target)
            if written.endswith(".requires_grad") and is_true(node.value):
                found.add(written.removesuffix(".requires_grad"))
            elif says:
                found.add(written)
    return found


def _updated(assignments: list[ast.AST], steps: set[str]) -> set[str]:
    """What the optimizers that are stepped are made of, where all of them get lists of names: `Adam([image])`."""
    found, made = set[str](), set[str]()
    for node in assignments:
        assert isinstance(node, ast.Assign)
        names = {chain(target) for target in node.targets}
        if names & steps and isinstance(node.value, ast.Call) and node.value.args:
            given = node.value.args[0]
            plain = isinstance(given, ast.List | ast.Tuple) and all(isinstance(e, ast.Name) for e in given.elts)
            if not plain:
                return set()
            made |= names & steps
            found |= {chain(element) for element in given.elts}  # type: ignore[attr-defined]
    return found if steps <= made else set()


def _model(file: SourceFile, site: Site) -> str:
    """The network whose output the backward pass goes back from."""
    for run in file.calls_among([c for c in file.outline.calls if c.function == site.function]):
        if not run.record.callee.removeprefix("self.").isidentifier() or not run.call.args:
            continue
        if (
            _JUDGES.search(run.record.callee)
            or file.value(run.call.func, run).kind != "module"
            or not _trains(file, run)
        ):
            continue
        if any(found.call is site.call for found in reached(file, site.function, run.call)):
            return run.record.callee
    return ""


def _trains(file: SourceFile, run: Site) -> bool:
    """Whether a network may have parameters that take gradients, wherever it is made."""
    project = file.project
    things = project.types.things(file.path, run.function, run.record.callee)
    for thing in things:
        if thing.kind == "external" and (is_without_parameters(thing.dotted) or "Loss()" in thing.dotted):
            return False
        if thing.kind == "instance" and not (class_may_record(project, thing) and holds_layers(project, thing)):
            return False
    return bool(things) or _NETWORK.search(run.record.callee) is not None


def _is_stepped_by_callers(file: SourceFile, site: Site) -> bool:
    """Whether a caller steps an optimizer with what the pass has left, or its file freezes networks."""
    project = file.project
    inside = [c for c in file.outline.calls if c.function == site.function and c.line > site.record.line]
    if any(last_part(c.callee) == "zero_grad" for c in inside):
        return False
    for caller in project.hotness.callers.get(FunctionKey(file.path, site.function), ())[:_FILES]:
        if may_freeze(project.text(caller.path)):
            return True
        outline = project.index.outlines[caller.path]
        own = [c for c in outline.calls if c.function == caller.call.function and c.line > caller.call.line]
        first = min((c.line for c in own if last_part(c.callee) == "step"), default=0)
        zeroed = any(last_part(c.callee) == "zero_grad" and c.line < first for c in own)
        if first and not zeroed:
            return True
    return False
