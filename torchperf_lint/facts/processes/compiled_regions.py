"""Functions that are surely compiled, in the file that compiles them, and what they call directly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.processes.compiling import COMPILE, compiled_by
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence

TRIGGERS = ("torch.compile", "th.compile", "import compile", ".compile()", ".compile(mode=", ".compile(dynamic=")
"""One of these has every file that compiles something."""
_ASKS = ("is_compiling", "is_dynamo_compiling", "is_tracing", "reorderable_logging", "ignore_logger")
"""In the text of a file that knows that it is compiled."""
_HELD = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.Lambda, ast.ExceptHandler, ast.match_case, ast.While, ast.Assert)
_LEFT_OUT = ("disable", "allow_in_graph", "custom_op", "ignore", "unused", "dont_skip_tracing", "nonstrict_trace")


class Region(NamedTuple):
    """Why a function is compiled."""

    name: str
    """The function that is compiled."""
    line: int
    """Where that is said."""
    through: str
    """The function that the compiled one calls, where it is that; else empty."""

    def told(self) -> str:
        """In words."""
        by = (
            f"`{self.through}` is compiled as a part of `{self.name}`" if self.through else f"`{self.name}` is compiled"
        )
        return f"{by} (line {self.line})"

    def hot(self, path: str) -> Hot:
        """What is compiled is there to run often."""
        because = f"{self.told()}: what is compiled is there to run often"
        return Hot("forward", because, "each time", Confidence.LIKELY, path, self.line)


def compiled_functions(file: SourceFile) -> dict[int, Region]:
    """The compiled functions of a file; none where it asks whether it is being compiled."""
    return file.once(_compiled_functions)


def _compiled_functions(file: SourceFile) -> dict[int, Region]:
    if any(word in file.text for word in _ASKS):
        return {}
    found = {number: Region(name, line, "") for number, name, line in (*_decorated(file), *_handed_over(file))}
    if not found:
        return found
    types = file.project.types
    for site in file.calls_among([c for c in file.outline.calls if c.function in found]):
        targets = types.targets(file.path, site.function, site.record.callee)
        target = targets[0] if len(targets) == 1 and targets[0].path == file.path else None
        if target is None or target.index in found or is_held(file, site) or _is_left_out(file, target.index):
            continue
        name, line, through = found[site.function]
        if not through:
            found[target.index] = Region(name, line, file.outline.functions[target.index].qualname)
    return found


def is_held(file: SourceFile, place: Place) -> bool:
    """Whether a test decides that code runs: it may never be taken, or not while it is compiled."""
    return any(isinstance(around, _HELD) for around in file.enclosing(place.function).around(place.expression))


def _decorated(file: SourceFile) -> Iterator[tuple[int, str, int]]:
    body = file.project.body(file.path)
    names = {"compile", *(bound for bound, full in file.outline.imports.items() if full == COMPILE)}
    for number, record in enumerate(file.outline.functions):
        compiles = any(last_part(decorator.removesuffix("()")) in names for decorator in record.decorators)
        node = body.functions.get(number) if body is not None and compiles else None
        for decorator in getattr(node, "decorator_list", ()):
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            plain = not isinstance(decorator, ast.Call) or _may_break(decorator)
            if plain and file.denotes(named, Mark(file, decorator, record.parent)) == COMPILE:
                yield number, record.name, decorator.lineno


def _handed_over(file: SourceFile) -> Iterator[tuple[int, str, int]]:
    """`step = torch.compile(step)`, `model = torch.compile(Model())`, `model.compile()`."""
    for site, what in (*_compile_calls(file), *_compiled_in_place(file)):
        if not _may_break(site.call):
            continue
        thing = file.value(what, site).thing or file.project.values.thing(what, site.frame)
        key = _run_by(file, thing) if thing is not None and thing.path == file.path else None
        if key is not None and key.path == file.path and not _is_left_out(file, key.index):
            yield key.index, file.outline.functions[key.index].qualname, site.record.line


def _compile_calls(file: SourceFile) -> Iterator[tuple[Site, ast.expr]]:
    for site in file.calls_of(COMPILE):
        what = compiled_by(site.call)
        if what is not None:
            yield site, what


def _compiled_in_place(file: SourceFile) -> Iterator[tuple[Site, ast.expr]]:
    """`nn.Module.compile` changes the module itself."""
    for site in file.calls_among([c for c in file.outline.calls if last_part(c.callee) == "compile"]):
        if site.receiver is not None and not site.call.args and file.value(site.receiver, site).kind == "module":
            yield site, site.receiver


def _run_by(file: SourceFile, thing: Thing) -> FunctionKey | None:
    if thing.kind == "function":
        return FunctionKey(thing.path, thing.index)
    return file.project.index.method(thing, "forward") if thing.kind == "instance" else None


def _may_break(call: ast.Call) -> bool:
    """With `fullgraph=True` a break is an error that nobody misses; a debug backend is there to look at them."""
    named = {k.arg: k.value for k in call.keywords}
    off = [named[name] for name in ("fullgraph", "disable") if name in named]
    known = all(isinstance(value, ast.Constant) and not value.value for value in off)
    return known and None not in named and "backend" not in named


def _is_left_out(file: SourceFile, function: int) -> bool:
    """`@torch.compiler.disable`, `@torch._dynamo.disable`, `allow_in_graph`: the edge was put there on purpose."""
    return any(d.removesuffix("()").endswith(_LEFT_OUT) for d in file.outline.functions[function].decorators)
