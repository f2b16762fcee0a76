"""Evaluation passes through a method that trains as well, told what to do by an argument: they record gradients.

    def run_epoch(self, loader, mode="train"):        self.model.eval()
        for x, y in loader:                           self.run_epoch(self.val_loader, mode="val")
            loss = self.criterion(self.model(x), y)
            if mode == "train":
                loss.backward()
                self.optimizer.step()

The argument of the call decides that no backward pass follows; nothing in the method, and nothing around the call,
switches gradients off.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torchperf_lint.facts.autograd.evaluated_with_grad import is_frozen, model_switches_off
from torchperf_lint.facts.autograd.graph_given import gives_graph, trains_elsewhere
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.hotness.loop import EVERY_EVALUATION
from torchperf_lint.facts.hotness.options_asked_for import Given, ways_around
from torchperf_lint.facts.outlines.records import Call, Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_MORE = pattern(
    r"no_grad|inference_mode|grad_enabled|\bgrad\(|autograd\.grad|requires_grad|attack|adversar|create_graph|grad_off|"
    r"accelerator|fabric|\.train\(\w"
)
_DIFFERENTIATES = frozenset({"backward", "grad"})
_MANY = 12
_CALLS = 2
"""How many functions may lie between the loop and what uses the graph."""


class ByMode(NamedTuple):
    """A call of a model whose graph some calls of its function have no use for."""

    site: Site
    model: str
    ended: tuple[str, int]
    """The path and line where the model is put into evaluation mode."""
    flag: str
    """What holds where the function trains."""


def evaluated_by_mode(file: SourceFile) -> Iterator[ByMode]:
    """The first call of a model in each function of a file that trains or evaluates as its callers say."""
    if "eval" not in file.project.index.called_names or is_frozen(file):
        return
    for function, backward in _decided(file).items():
        record = file.outline.functions[function]
        if _MORE.search("\n".join([*record.decorators, *file.lines[record.line - 1 : record.end_line]])):
            continue
        site = next(_models(file, function, backward), None)
        if site is None or _differentiates_beside(file, function):
            continue
        key = FunctionKey(file.path, function)
        if not _may_switch(file.project, key, site.start) and not gives_graph(file, site):
            found = _without_backward(file, site, backward)
            if found is not None:
                yield found


def _decided(file: SourceFile) -> dict[int, list[Call]]:
    """The backward passes of each function all of whose stand under a test of a parameter."""
    found: dict[int, list[Call]] = {}
    for call in file.outline.calls:
        if last_part(call.callee) == "backward" and call.function:
            found.setdefault(call.function, []).append(call)
    index = file.project.index
    return {n: calls for n, calls in found.items() if all(ways_around(index, file.path, c.region) for c in calls)}


def _models(file: SourceFile, function: int, backward: list[Call]) -> Iterator[Site]:
    """Calls of models in a loop of a function, whatever its parameters are, before the backward pass."""
    index, hotness = file.project.index, file.project.hotness
    calls = [c for c in file.outline.calls if c.function == function and c.line <= min(b.line for b in backward)]
    for site in file.calls_among([c for c in calls if not ways_around(index, file.path, c.region)]):
        in_step = site.hot is not None and site.hot.kind == "step" and not site.hot.optional
        given = site.call.args or site.call.keywords
        if not in_step or not given or not hotness.grad_mode.records(file.path, site.start):
            continue
        model = chain(site.call.func)
        named = model.removeprefix("self.").isidentifier() and file.value(site.call.func, site).kind == "module"
        if named and not model_switches_off(file, site):
            yield site


def _differentiates_beside(file: SourceFile, function: int) -> bool:
    """Whether a function of the project that is called there uses the graph: `self.explain(loss)`, for gradients."""
    project = file.project
    calls = [c for c in file.outline.calls if c.function == function]
    seen = {FunctionKey(file.path, function)}
    around = [(file.path, call) for call in calls if not ways_around(project.index, file.path, call.region)]
    for _ in range(_CALLS):
        keys = {key for path, c in around for key in project.types.targets(path, c.function, c.callee)} - seen
        around = [(key.path, call) for key in keys for call in project.index.calls_in(key)]
        if any(last_part(call.callee) in _DIFFERENTIATES for _, call in around):
            return True
        seen |= keys
    return False


def _without_backward(file: SourceFile, site: Site, backward: list[Call]) -> ByMode | None:
    """The evaluation that a call of the function is: by what it gives, in evaluation mode, with gradients on."""
    project, key = file.project, FunctionKey(file.path, site.function)
    sites = project.hotness.callers.get(key, ())
    for caller in sites if len(sites) <= _MANY else ():
        given = Given(project.index, project.body, {key: (caller,)})
        ways = [ways_around(project.index, file.path, call.region) for call in backward]
        off = [[way for way, line in told if given.never_takes(key, way, line)] for told in ways]
        at = (caller.call.line, caller.call.column)
        if not all(off) or project.hotness.grad_mode.is_off_at(caller.path, at):
            continue
        around = FunctionKey(caller.path, caller.call.function)
        if _may_switch(project, around, at) or trains_elsewhere(project, key, given, backward):
            continue
        ended = _ended(file, site, caller)
        if ended is not None:
            assert site.hot is not None
            called = place(caller.path, caller.call.line, file.path)
            hot = replace(
                site.hot,
                kind="eval",
                when=f"{EVERY_EVALUATION} (called at {called})",
                because=f"{site.hot.because}; the call at {caller.path}:{caller.call.line} evaluates",
            )
            return ByMode(replace(site, hot=hot), chain(site.call.func), ended, sorted(off[0])[0])
    return None


def _may_switch(project: Project, key: FunctionKey, at: Position) -> bool:
    """Whether a `with` around a place may switch gradients off: its context is a name, or a call of the project."""
    body = project.body(key.path)
    for context in body.contexts(key.index, at) if body is not None else ():
        called = chain(context.func) if isinstance(context, ast.Call) else ""
        thing = project.types.thing(key.path, key.index, called) if called else None
        if thing is None or thing.kind != "external":
            return True
    return body is None


def _ended(file: SourceFile, site: Site, caller: CallSite) -> tuple[str, int] | None:
    """Where the caller, or the function itself, puts the model into evaluation mode."""
    project, key = file.project, FunctionKey(file.path, site.function)
    model, record = chain(site.call.func), file.outline.functions[site.function]
    name = model
    if model in [p.name for p in record.parameters]:
        node = call_at(project.values, caller)
        given = argument_for(node, record, model) if node is not None else None
        name = chain(given) if given is not None else ""
    elif not model.startswith("self.") or not caller.call.callee.startswith("self."):
        name = ""
    for where, of in ((FunctionKey(caller.path, caller.call.function), name), (key, model)):
        said = [c for c in project.index.calls_in(where) if of and c.callee in (f"{of}.eval", f"{of}.train")]
        if where != key:
            last = max((c for c in said if c.line < caller.call.line), key=lambda c: (c.line, c.column), default=None)
        else:
            last = next((c for c in said if c.callee.endswith(".eval") and c.line < site.call.lineno), None)
        if last is not None and last.callee.endswith(".eval"):
            return where.path, last.line
    return None
