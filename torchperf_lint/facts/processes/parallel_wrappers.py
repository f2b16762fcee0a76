"""Classes and functions of a project that stand in for `nn.DataParallel`: where they are called is what to change.

    def DataParallel(module, device_ids=None, chunk_sizes=None):
        if chunk_sizes is None:
            return torch.nn.DataParallel(module, device_ids)
        return _DataParallel(module, device_ids, chunk_sizes)

A class derives from it or is a copy of it, with the methods in which each pass is replicated, scattered and gathered;
or it comes from elsewhere, is named after it and takes the devices that it takes: `DataParallelWithCallback(net,
device_ids=ids)`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_BASES = frozenset(
    ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel")
)
REPLICATES = ("torch.nn.parallel.replicate", "torch.nn.parallel.replicate.replicate")
_OF_EACH_PASS = frozenset(("forward", "replicate", "scatter", "parallel_apply", "gather"))
_NAMED = pattern(r"(?i:data_?parallel)|Parallel")
_NAMED_AFTER = pattern(r"^DataParallel[A-Z]")
"""Begins with it: neither `DistributedDataParallel` nor what a framework calls its own."""
_NO_WRAPPERS = pattern(
    r"(?:Criterion|Criteria|Loss|Strategy|Strategies|Config|Configuration|Plugin|Accelerator|Context|Table|Embedding|"
    r"Sampler|Loader|Optimizer|Trainer|Engine|Mesh|Group|Args|Options?)$"
)
"""What spreads something else over devices, or says how that is to be done: `DataParallelCriterion(loss, ids)`."""
_MODULE = "module"
"""The name of the first parameter of `nn.DataParallel`."""
_NO_MODEL = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr, ast.Starred)
_DEEP = 2
"""Factories that hand on to each other."""


def wraps(project: Project, path: str, call: Call) -> bool:
    """Whether a call of a class or function of the project wraps a model in `DataParallel`, or runs one so."""
    if not _NAMED.search(last_part(call.callee)):
        return False
    things = project.types.things(path, call.function, call.callee)
    return any(_is_wrapper(project, thing) for thing in things)


def wraps_elsewhere(project: Project, path: str, call: Call) -> bool:
    """Whether a call makes, by its name, a class below `DataParallel` that is not in sight: one copied in later."""
    if not _NAMED_AFTER.search(last_part(call.callee)):
        return False
    things = project.types.things(path, call.function, call.callee)
    if not things:  # imported from a folder of the project that is not there
        return call.callee.partition(".")[0] in project.index.outlines[path].imports
    return all(thing.kind == "external" and _NAMED_AFTER.search(last_part(thing.dotted)) for thing in things)


def is_given_a_model(call: ast.Call) -> bool:
    """Whether a call of what is not in sight, but named after `DataParallel`, wraps a model on given devices.

    A model is given first; a number, a text or a list is none: `DataParallelStrategy(device_ids=[0, 1])`.
    """
    if keyword(call, "device_ids") is None or _NO_WRAPPERS.search(last_part(chain(call.func))):
        return False
    model = call.args[0] if call.args else keyword(call, _MODULE)
    return model is not None and not isinstance(model, _NO_MODEL)


def told_at_its_calls(project: Project, key: FunctionKey) -> bool:
    """Whether what a function wraps is told where it is called: of torch's own by name it is, called or not."""
    if key.index == 0 or not is_factory(project, key):
        return False
    function = project.index.function(key)
    called = any(wraps(project, site.path, site.call) for site in project.hotness.callers.get(key, ()))
    return called or function.name in ("DataParallel", "data_parallel")


def wrappings_inside(project: Project, path: str, call: Call) -> list[CallSite]:
    """Where the factories that a call runs construct torch's own class: a run sees it made there."""
    keys = project.types.targets(path, call.function, call.callee) if wraps(project, path, call) else []
    return [
        CallSite(key.path, inner)
        for key in keys
        if is_factory(project, key)
        for inner in project.index.calls_in(key)
        if _denotes(project, key, inner, _BASES)
    ]


def _is_wrapper(project: Project, thing: Thing, depth: int = 0) -> bool:
    if thing.kind == "external":
        return depth > 0 and thing.dotted in _BASES
    if thing.kind == "class":
        return bool(_BASES & set(project.index.external_bases(thing))) or _is_copy(project, thing)
    return thing.kind == "function" and is_factory(project, FunctionKey(thing.path, thing.index), depth)


def _is_copy(project: Project, cls: Thing) -> bool:
    ancestry = [each for each in project.index.ancestry(cls) if each.kind == "class"]
    has = {name for each in ancestry for name in project.index.record(each).methods}
    distributed = any(base.endswith("DistributedDataParallel") for base in project.index.external_bases(cls))
    return has >= _OF_EACH_PASS and not distributed


def is_factory(project: Project, key: FunctionKey, depth: int = 0) -> bool:
    """Whether a function by such a name gives back nothing but its first parameter wrapped, or runs it replicated."""
    function = project.index.function(key)
    if depth > _DEEP or not _NAMED.search(function.name) or len(function.parameters) <= function.bound:
        return False
    calls = project.index.calls_in(key)
    if function.name == "data_parallel" and any(_denotes(project, key, call, REPLICATES) for call in calls):
        return True
    outline = project.index.outlines[key.path]
    given_back = [value for index, value in outline.returns if index == key.index]
    return bool(given_back) and all(_gives_wrapper(project, key, value, depth) for value in given_back)


def _denotes(project: Project, key: FunctionKey, call: Call, dotted: Collection[str]) -> bool:
    things = project.types.things(key.path, key.index, call.callee)
    return any(thing.kind == "external" and thing.dotted in dotted for thing in things)


def _gives_wrapper(project: Project, key: FunctionKey, value: str, depth: int) -> bool:
    if not value.endswith("()"):
        return False
    things = project.types.things(key.path, key.index, value.removesuffix("()"))
    return any(_is_wrapper(project, thing, depth + 1) for thing in things)
