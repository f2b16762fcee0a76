"""Where `torch.compile` is called or decorates, in hot code; and which of its calls are kept for later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.put_away import is_kept, runs_once
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_functions
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_false

COMPILE = "torch.compile"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Compiled(NamedTuple):
    """A call of `torch.compile`, or its use as a decorator, and what it compiles."""

    mark: Mark
    what: ast.expr | None
    """None for a decorator."""
    name: str
    """Of a function that is defined in the same function: only such can have new contents each time; else empty."""


def hot_compilations(file: SourceFile) -> Iterator[Compiled]:
    """What hot code compiles anew each time it runs, in order."""
    found = [*_called(file), *_decorating(file)]
    yield from sorted(found, key=lambda compiled: compiled.mark.frame.at)


def _called(file: SourceFile) -> Iterator[Compiled]:
    for site in file.calls_of(COMPILE):
        what = compiled_by(site.call)
        if site.hot is None or what is None or is_kept(file, site.call, site.function):
            continue
        inner = isinstance(what, ast.Name) and what.id in _defined_in(file, site.function)
        name = what.id if inner and isinstance(what, ast.Name) else ""
        yield Compiled(Mark(file, site.call, site.function, site.hot), what, name)


def _decorating(file: SourceFile) -> Iterator[Compiled]:
    """`@torch.compile` on functions that hot functions define."""
    for number in hot_functions(file):
        for node in file.enclosing(number).of_kinds(_DEFINITIONS):
            assert isinstance(node, _DEFINITIONS)
            for decorator in node.decorator_list:
                named = decorator.func if isinstance(decorator, ast.Call) else decorator
                mark = Mark(file, decorator, number, _hot_around(file, node, number))
                if mark.hot is None or last_part(chain(named)) != "compile" or runs_once(file, number):
                    continue
                if file.denotes(named, mark) == COMPILE:
                    yield Compiled(mark, None, node.name)


def _hot_around(file: SourceFile, definition: ast.stmt, function: int) -> Hot | None:
    """Why the code that defines a function is hot; its decorators lie in its own region."""
    hotness, regions = file.project.hotness, file.outline.regions
    region = hotness.innermost(file.path, file.span(definition)[0])
    while region > 0 and regions[region].function != function:
        region = regions[region].parent
    return hotness.of_region(file.path, region)


def compiled_by(call: ast.Call) -> ast.expr | None:
    """What a call of `torch.compile` compiles; None where it makes a decorator, or is switched off."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    off = named.get("disable")
    if off is not None and not is_false(off):
        return None
    return call.args[0] if call.args else named.get("model")


def _defined_in(file: SourceFile, function: int) -> set[str]:
    if function == 0:
        return set()
    nodes = file.enclosing(function).of_kinds(_DEFINITIONS)
    return {node.name for node in nodes if isinstance(node, _DEFINITIONS)}
