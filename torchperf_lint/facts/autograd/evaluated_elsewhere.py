"""Loops that evaluate a model which somebody else has put into evaluation mode: the caller, the module, the object.

def test(model, loader):                     model = load().cuda().eval()
    for x, y in loader:                      def test(loader):
        hits += model(x).argmax(1) == y          for x in loader:
...                                                  model(x)
model.eval()
test(model, test_loader)
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from torchperf_lint.facts.autograd.evaluated_with_grad import Evaluated, evaluated_in, says_more
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.evaluated_by_methods import RunByMethod, runs_by_methods
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

_UP = 2
"""How many calls up a model is followed to where its mode is set."""
_MOVED = pattern(r"(?:\.(?:cuda|to|half|float)\(\))+$")
_SETS_UP = ("__init__", "setup", "initialize", "load_model", "build_model")


def evaluated_elsewhere(file: SourceFile) -> Iterator[Evaluated]:
    """The first call of each such model in each loop of a file that does not train."""
    if "eval" not in file.project.index.called_names:
        return
    for number, region in enumerate(file.outline.regions):
        if region.kind != "loop":
            continue
        function = FunctionKey(file.path, region.function)
        for model in _called_in(file, number, {callee for _, callee in _mode_calls(file.project, function)}):
            place = _put(file.project, function, model, region.start[0])
            if place is None or says_more(file, region):
                continue
            found = evaluated_in(file, number, model)
            if found is not None and (_is_module(file, found[0], model) or _is_run_by_method(file, number, model)):
                yield Evaluated(found[0], model, place, region.head, found[1])


def _called_in(file: SourceFile, number: int, own: set[str]) -> Iterator[str]:
    """What a loop calls, itself or a method of it, where the loop's function sets no mode of it: not in `own`."""
    calls = file.project.hotness.loops.calls.directly_in(file.path, number)
    callees = dict.fromkeys(call.callee for call in calls)
    owners = (callee.rpartition(".")[0] for callee in callees)
    by_methods = (found.model for found in _by_methods(file, number))
    for name in dict.fromkeys((*callees, *owners, *by_methods)):
        if name.removeprefix("self.").isidentifier() and own.isdisjoint((f"{name}.eval", f"{name}.train")):
            yield name


def _by_methods(file: SourceFile, number: int) -> Iterator[RunByMethod]:
    project = file.project
    return runs_by_methods(project.index, project.types, project.hotness.loops.calls, file.path, number)


def _is_run_by_method(file: SourceFile, number: int, model: str) -> bool:
    """Whether a loop runs a model by a method of its object, in which it is a module."""
    for found in _by_methods(file, number):
        body = file.project.body(found.path) if found.model == model else None
        node = body.node_of(found.run) if body is not None else None
        if isinstance(node, ast.Call):
            run = found.run
            value = file.project.values.of(node.func, Frame(found.path, run.function, (run.line, run.column)))
            return value.kind == "module"
    return False


def _is_module(file: SourceFile, site: Site, model: str) -> bool:
    """Whether what a call runs is a module, or a method of one."""
    called = site.call.func
    if isinstance(called, ast.Attribute) and chain(called.value) == model:
        called = called.value
    return file.value(called, site).kind == "module"


def _put(project: Project, key: FunctionKey, model: str, line: int, hops: int = _UP) -> tuple[str, int] | None:
    """The path and line where a model that a function calls below `line` is put into evaluation mode."""
    function = project.index.function(key)
    if model.startswith("self."):
        return put_by_the_object(project, key, model)
    if model in [p.name for p in function.parameters]:
        return _by_a_caller(project, key, model, hops) if hops else None
    found = _said(project, FunctionKey(key.path, 0), model, 0) if key.index and _may_be_put(project, model) else None
    body = project.body(key.path) if found is not None else None
    return found if body is not None and model not in body.definitions(key.index) else None


def _by_a_caller(project: Project, key: FunctionKey, parameter: str, hops: int) -> tuple[str, int] | None:
    if project.hotness.grad_mode.is_left_to_callers(key):
        return None  # those that run most often may do it
    for site in project.hotness.callers.get(key, ()):
        if site.path not in project.once(_evaluating):
            continue
        node = call_at(project.values, site)
        given = argument_for(node, project.index.function(key), parameter) if node is not None else None
        name = _MOVED.sub("", chain(given)) if given is not None else ""
        found = _by_one(project, site, name, hops) if name and "()" not in name else None
        if found is not None:
            return found
    return None


def _by_one(project: Project, site: CallSite, name: str, hops: int) -> tuple[str, int] | None:
    """Where a caller, or what it has the model from, puts it into evaluation mode."""
    caller = FunctionKey(site.path, site.call.function)
    return _said(project, caller, name, site.call.line) or _put(project, caller, name, site.call.line, hops - 1)


def put_by_the_object(project: Project, key: FunctionKey, model: str) -> tuple[str, int] | None:
    """Where another method that runs before puts it into evaluation mode: the constructor, or the caller."""
    cls = project.index.class_of(key.path, key.index) if _may_be_put(project, model) else None
    if cls is None:
        return None
    for name in _SETS_UP:
        method = project.index.method(cls, name)
        found = _said(project, method, model, 0) if method is not None else None
        if found is not None:
            return found
    for site in project.hotness.callers.get(key, ()):
        owner = site.call.callee.rpartition(".")[0]  # `learner.model.eval()` and then `learner.infer(faces)`
        if owner and "()" not in owner:
            called = FunctionKey(site.path, site.call.function)
            found = _said(project, called, f"{owner}.{model.removeprefix('self.')}", site.call.line)
            if found is not None:
                return found
    return None


def _said(project: Project, key: FunctionKey, model: str, before: int) -> tuple[str, int] | None:
    """The last `model.eval()` of a function above a line (0: anywhere), where no `model.train()` follows."""
    said = (f"{model}.train", f"{model}.eval")
    modes = [(line, callee) for line, callee in _mode_calls(project, key) if callee in said]
    modes += [(b.line, b.value) for b in project.types.bindings(key.path).get((key.index, model), ())]
    line, last = max((mode for mode in modes if not before or mode[0] < before), default=(0, ""))
    if last.removesuffix("()").endswith(".eval"):
        return key.path, line
    evaluated = [line for line, callee in modes if callee == f"{model}.eval"]
    trained = any(callee == f"{model}.train" for _, callee in modes)
    return (key.path, evaluated[-1]) if evaluated and not trained else None


def _may_be_put(project: Project, model: str) -> bool:
    """Whether anything by the name of a model is put into evaluation mode anywhere; few names are."""
    return last_part(model) in project.once(_names_evaluated)


def _names_evaluated(project: Project) -> frozenset[str]:
    """The last names of what is put into evaluation mode, or bound to what is."""
    modes = project.once(_all_mode_calls).values()
    called = {callee for found in modes for _, callee in found if callee.endswith(".eval")}
    outlines = project.index.outlines.values()
    bound = {b.target for outline in outlines for b in outline.bindings if b.value.endswith((".eval()", ".eval"))}
    return frozenset({last_part(callee.removesuffix(".eval")) for callee in called} | set(map(last_part, bound)))


def _mode_calls(project: Project, key: FunctionKey) -> list[tuple[int, str]]:
    """The lines and callees of all `model.eval()` and `model.train()` in a function."""
    return project.once(_all_mode_calls).get(key, [])


def _all_mode_calls(project: Project) -> dict[FunctionKey, list[tuple[int, str]]]:
    found: dict[FunctionKey, list[tuple[int, str]]] = defaultdict(list)
    for path, call in (site for name in ("eval", "train") for site in project.index.calls_named.get(name, ())):
        if call.callee.endswith((".eval", ".train")):
            found[FunctionKey(path, call.function)].append((call.line, call.callee))
    return dict(found)


def _evaluating(project: Project) -> frozenset[str]:
    """The paths of the files that put anything into evaluation mode."""
    calls = project.once(_all_mode_calls).items()
    return frozenset(key.path for key, modes in calls if any(callee.endswith(".eval") for _, callee in modes))
