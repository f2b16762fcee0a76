"""Models that are loaded for each input by what a loop calls, itself or in the constructor of a class of the project.

    def measure(path):
        depth = Depth()                 # `Depth.__init__` reads the checkpoint
        return depth(read_image(path))

    for path in paths:
        measure(path)

Each turn loads the same, uses it and throws it away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.files.put_away import is_kept
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.models.model_loads import (
    NAMES,
    ONE_OF_SEVERAL,
    TRAINS,
    is_given,
    is_made_elsewhere,
    loaded,
    loop_around,
    runs_straight,
)
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Confidence

_CHANGES = frozenset("fit train finetune train_model parameters load_state_dict backward".split())
_STORES = frozenset("append add put setattr setdefault extend insert".split())
_READ = frozenset({"torch.load", "safetensors.torch.load_file"})


class LoadInTurns(NamedTuple):
    """A load, or a constructor that loads, in code that a loop runs for each of its inputs."""

    site: Site
    hot: Hot
    inside: tuple[str, int, int] | None
    """Of a constructor: the path and place of the load itself."""


def loads_in_turns(file: SourceFile) -> Iterator[LoadInTurns]:
    """The calls of a file that load, or make an object which loads, the same each time, once a turn of a loop."""
    for site in file.calls_among([c for c in file.outline.calls if _may_load_within(file, c)]):
        loop = _loop(file, site)
        if loop is None or is_kept(file, site.call, site.function) or is_made_elsewhere(file, site):
            continue
        inside = _loads_within(file, site)
        if inside is None or _changes(file, site) or not _is_thrown_away(file, site):
            continue
        yield _in_turns(file, site, loop, inside)
    for site in file.calls_among([c for c in file.outline.calls if last_part(c.callee) in NAMES and c.function > 0]):
        if site.hot is not None or loaded(file, site) != "model" or loop_around(file, site) is not None:
            continue  # what is hot, and what stands in the loop itself, is told as a load
        loop = _loop(file, site)
        if loop is None or is_kept(file, site.call, site.function) or is_made_elsewhere(file, site):
            continue
        if not _changes(file, site) and _is_used_up(file, site):
            yield _in_turns(file, site, loop, None)


def _in_turns(file: SourceFile, site: Site, loop: ast.For, inside: tuple[str, int, int] | None) -> LoadInTurns:
    when = f"in every turn of the loop at line {loop.lineno}"
    because = f"it runs {when}, and loads the same each time"
    return LoadInTurns(site, Hot("eval", because, when, Confidence.LIKELY, file.path, loop.lineno), inside)


def _may_load_within(file: SourceFile, call: Call) -> bool:
    """Whether a call makes an object of a class of the project whose constructor calls what may be a load."""
    if not last_part(call.callee)[:1].isupper():
        return False
    index, thing = file.project.index, file.project.types.thing(file.path, call.function, call.callee)
    key = index.method(thing, "__init__") if thing is not None and thing.kind == "class" else None
    return key is not None and any(_may_load(inner.callee) for inner in index.calls_in(key))


def _loads_within(file: SourceFile, site: Site) -> tuple[str, int, int] | None:
    """Where the constructor of a class of the project loads a model, if it does."""
    project = file.project
    thing = project.values.thing(site.call.func, site.frame)
    key = project.index.method(thing, "__init__") if thing is not None and thing.kind == "class" else None
    if key is None:
        return None
    there = SourceFile(project, key.path, project.text(key.path))
    for inner in there.calls_among([c for c in project.index.calls_in(key) if _may_load(c.callee)]):
        reads = there.denotes(inner.call.func, inner) in _READ
        if reads or loaded(there, inner) == "model":
            return (key.path, *inner.start)
    return None


def _may_load(callee: str) -> bool:
    name = last_part(callee)
    return name in NAMES or name in ("load", "load_file")


def _changes(file: SourceFile, site: Site) -> bool:
    """Whether what is made depends on a parameter, on a loop, or on anything that is not known."""
    names = names_of(*arguments(site.call))
    return any(k.arg is None for k in site.call.keywords) or any(is_given(file, site.function, n) for n in names)


def _is_thrown_away(file: SourceFile, site: Site) -> bool:
    """Whether the function only runs what it makes: `Depth()(image)`, `depth = Depth()` and `depth.predict(image)`."""
    around = file.enclosing(site.function)
    parent = around.parents.get(site.call)
    if isinstance(parent, ast.Call) and parent.func is site.call:
        return True
    body = file.project.body(file.path)
    target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
    if not isinstance(target, ast.Name) or body is None or site.function == 0:
        return False
    reads = body.reads(site.function, target.id)
    return bool(reads) and all(_runs(around.parents.get(read), read, around.parents) for read in reads)


def _is_used_up(file: SourceFile, site: Site) -> bool:
    """Whether a function keeps what it loads under one name, which it only calls, asks and hands to other functions."""
    around = file.enclosing(site.function)
    statement = around.statement(site.call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    body = file.project.body(file.path)
    if not isinstance(target, ast.Name) or body is None or len(body.definitions(site.function).get(target.id, ())) != 1:
        return False
    reads = body.reads(site.function, target.id)
    return bool(reads) and all(_asks(around.parents.get(read), read) for read in reads)


def _asks(parent: ast.AST | None, read: ast.Name) -> bool:
    if isinstance(parent, ast.Call):
        return parent.func is read or last_part(chain(parent.func)) not in _STORES
    return isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load) and parent.attr not in _CHANGES


def _runs(parent: ast.AST | None, read: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    if isinstance(parent, ast.Call):
        return parent.func is read
    outer = parents.get(parent) if isinstance(parent, ast.Attribute) else None
    called = isinstance(outer, ast.Call) and outer.func is parent
    return called and isinstance(parent, ast.Attribute) and parent.attr not in _CHANGES


def _loop(file: SourceFile, site: Site) -> ast.For | None:
    """The loop over inputs that runs a call in each turn: around it, or around a call of its function in this file."""
    if loop_around(file, site) is not None:
        return _over_inputs(file, site)
    if site.function == 0 or not runs_straight(file, site.record) or _trains(file, site.function):
        return None
    for caller in file.project.hotness.callers.get(FunctionKey(file.path, site.function), ()):
        if caller.path == file.path and (loop := _around_caller(file, caller)) is not None:
            return loop
    return None


def _around_caller(file: SourceFile, caller: CallSite) -> ast.For | None:
    return next(filter(None, (_over_inputs(file, site) for site in file.calls_among([caller.call]))), None)


def _over_inputs(file: SourceFile, site: Site) -> ast.For | None:
    """The loop around a call, if it takes as many turns as there are inputs, and no test holds the call back."""
    loop = loop_around(file, site)
    if not isinstance(loop, ast.For) or not file.project.hotness.around.turns(file.path, site.record.region):
        return None
    inside = file.enclosing(site.function).around(site.call)
    held = any(isinstance(a, ast.If) for a in iter(lambda: next(inside), loop))
    head = file.source(loop.iter) + file.source(loop.target)
    few = any(
        r.kind == "loop" and r.head == loop.lineno and r.turns is not None and r.turns <= FEW_TURNS
        for r in file.outline.regions
    )
    several = few or ONE_OF_SEVERAL.search(head) or TRAINS.search(file.source(loop))
    return None if held or several else loop


def _trains(file: SourceFile, function: int) -> bool:
    record = file.outline.functions[function]
    return TRAINS.search("\n".join(file.lines[record.line - 1 : record.end_line])) is not None
