"""Pretrained networks that a loss looks through, whose parameters take gradients that nobody uses.

    extractor = FeatureExtractor().cuda().eval()            # torchvision's vgg19, pretrained
    optimizer = Adam(generator.parameters())
    ...
    loss = criterion(extractor(generator(x)), extractor(y).detach())
    loss.backward()                                         # gradients of the weights of vgg19, too

Told by where the network is made, by what holds it being given to no optimizer, and by the backward pass that goes back
through a call of it. Where anything near speaks of freezing, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.autograd.pretrained import has_nothing_else, loaded, of_a_library
from torchperf_lint.facts.autograd.trainable import may_freeze
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.files.flows import is_handed_back, reached
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_BACKWARD = frozenset(("backward", "manual_backward"))
_ASKS = frozenset(("parameters", "named_parameters", "param_groups"))
_WRAPS = frozenset(("DataParallel", "DistributedDataParallel", "prepare", "compile", "print", "summary"))
"""What may be given a network, and gives its parameters to nobody."""
_STOPS = pattern(r"no_grad|inference_mode|set_grad_enabled|stop_grad|autograd|\.data\b")
_RUNS = ("forward", "__call__")
_DEPTH = 3


class LookedThrough(NamedTuple):
    """A pretrained network whose gradients are computed for nobody."""

    site: Site
    """Where it is made."""
    use: Site
    """Its call in a training step, perhaps in another file."""
    backward: tuple[str, int]
    """The path and line of the pass that goes back through it."""


class _Held(NamedTuple):
    """What holds the network, or a module that is nothing but such networks: `vgg`, `self.criterion`."""

    file: SourceFile
    function: int
    name: str


def looked_through(file: SourceFile) -> Iterator[LookedThrough]:
    """The pretrained networks that a file makes, whose gradients are computed in training and used by nobody."""
    if may_freeze(file.text):
        return
    told = set[Thing]()
    for site, cls, made in _made(file):
        if cls in told:
            continue
        holders = [_held_as(file, site)] if cls is None else _holders(file, cls, made)
        found = next((used for held in holders if held is not None for used in _uses(held)), None)
        if found is not None:
            told |= {cls} if cls is not None else set()
            yield LookedThrough(site, *found)


def _made(file: SourceFile) -> Iterator[tuple[Site, Thing | None, list[Site]]]:
    """(where a network is made, the module that is made of it, all that this module makes)."""
    index, types = file.project.index, file.project.types
    modules: dict[Thing, list[Site]] = {}
    for site in of_a_library(file):
        cls = index.class_of(file.path, site.function)
        if cls is None or not types.is_module_class(cls):
            yield site, None, [site]
        else:
            modules.setdefault(cls, []).append(site)
    for number in range(len(file.outline.classes)) if file.mentions((".load_state_dict(",)) else ():
        cls = Thing("instance", file.path, number)
        if types.is_module_class(cls):
            modules.setdefault(cls, []).extend(loaded(file, cls))
    for cls, made in modules.items():
        yield from ((site, cls, made) for site in made)


# -- what holds it -------------------------------------------------------------------------------------


def _held_as(file: SourceFile, site: Site) -> _Held | None:
    """The name that a network, or a part of it, gets where it is made: `vgg = vgg19(True).features[:18].cuda()`."""
    statement = file.enclosing(site.function).statement(site.call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    value: ast.expr = statement.value
    while value is not site.call:
        if isinstance(value, ast.Call):
            value = value.func
        elif isinstance(value, ast.Attribute | ast.Subscript):
            value = value.value
        else:
            return None
    name = chain(statement.targets[0])
    return _Held(file, site.function, name) if name.removeprefix("self.").isidentifier() else None


def _holders(file: SourceFile, cls: Thing, made: list[Site], depth: int = _DEPTH) -> Iterator[_Held]:
    """What holds the instances of a module that is nothing but pretrained networks."""
    if depth <= 0 or not has_nothing_else(file, cls, made) or not _lets_through(file, cls, made):
        return
    project, name = file.project, file.project.index.record(cls).name
    for path, outline in project.index.outlines.items():
        calls = [call for call in outline.calls if last_part(call.callee) == name]
        calls = [c for c in calls if cls in project.types.things(path, c.function, f"{c.callee}()")]
        if not calls or may_freeze(project.text(path)):
            continue
        other = file if path == file.path else SourceFile(project, path, project.text(path))
        for site in other.calls_among(calls):
            owner = project.index.class_of(path, site.function)
            if owner is not None and project.types.is_module_class(owner) and not _is_lightning(other, owner):
                yield from _holders(other, owner, [site], depth - 1)
            else:
                held = _held_as(other, site)
                yield from [held] if held is not None else []


def _lets_through(file: SourceFile, cls: Thing, made: list[Site]) -> bool:
    """Whether what a module gives hangs on what its networks compute: it does not detach all of it."""
    project, record = file.project, file.project.index.record(cls)
    body = project.body(file.path)
    if body is None or not any(project.index.method(cls, name) for name in _RUNS):
        return False
    functions = file.outline.functions
    lines = [body.lines[functions[n].line - 1 : functions[n].end_line] for n in record.methods.values()]
    text = "".join(line for method in lines for line in method)
    if _STOPS.search(text):
        return False
    if "detach" not in text:
        return True
    held = [_held_as(file, site) for site in made]
    runs = {one.name for one in held if one is not None and one.name.startswith("self.")}
    for _ in range(_DEPTH):
        for name, number in record.methods.items():
            calls = file.calls_among([c for c in file.outline.calls if c.function == number and c.callee in runs])
            if any(is_handed_back(file, number, site.call) for site in calls):
                if name in _RUNS:
                    return True
                runs.add(f"self.{name}")
    return False


def _is_lightning(file: SourceFile, cls: Thing) -> bool:
    return any("Lightning" in name for name in file.project.index.external_bases(cls))


# -- where it is used ----------------------------------------------------------------------------------


def _uses(held: _Held) -> Iterator[tuple[Site, tuple[str, int]]]:
    """The calls in training steps that a backward pass goes back through, and where it stands."""
    file, names = held.file, (held.name, f"{held.name}.forward")
    calls = [call for call in file.outline.calls if call.callee in names and _sees(held, call.function)]
    if not calls or not _is_left_alone(held):
        return
    for site in file.calls_among(calls):
        if site.hot is None or site.hot.kind not in ("step", "forward") or site.hot.evaluates:
            continue
        if file.project.hotness.grad_mode.records(file.path, site.start):
            line = _gone_back(file, site.function, site.call) or _gone_back_by_a_caller(file, site)
            if line is not None:
                yield site, (file.path, line)


def _gone_back(file: SourceFile, function: int, start: ast.expr) -> int | None:
    """The line of the backward pass that a value of a function gets to."""
    found = (r.call for r in reached(file, function, start) if last_part(chain(r.call.func)) in _BACKWARD)
    return min((call.lineno for call in found), default=None)


def _gone_back_by_a_caller(file: SourceFile, site: Site) -> int | None:
    """The same where the function hands the value back to another one of the file."""
    project = file.project
    if not is_handed_back(file, site.function, site.call):
        return None
    for caller in project.hotness.callers.get(FunctionKey(file.path, site.function), ()):
        node = call_at(project.values, caller) if caller.path == file.path else None
        line = _gone_back(file, caller.call.function, node) if node is not None else None
        if line is not None:
            return line
    return None


def _sees(held: _Held, function: int) -> bool:
    """Whether the holder's name means the same in another function of the file."""
    functions = held.file.outline.functions
    if held.name.startswith("self."):
        return functions[function].class_index == functions[held.function].class_index
    return held.function in (0, function)


def _is_left_alone(held: _Held) -> bool:
    """Whether a file makes optimizers of other networks, and nothing is given this one's parameters, or may be."""
    file, last = held.file, last_part(held.name)
    asked = [c.callee.rpartition(".")[0] for c in file.outline.calls if last_part(c.callee) in _ASKS]
    if not any(owner != "self" for owner in asked):
        return False
    project = file.project
    owner = project.index.class_of(file.path, held.function) if held.name.startswith("self.") else None
    if owner is not None and project.types.is_module_class(owner) and "self" in asked:
        return False
    outlines = project.index.outlines.values() if owner is not None else [file.outline]
    for outline in outlines:
        for call in outline.calls:
            if last_part(call.callee) in _ASKS and last in call.callee.replace("()", "").split("."):
                return False
    return not any(_is_given_away(held, function) for function in range(len(file.outline.functions)))


def _is_given_away(held: _Held, function: int) -> bool:
    """Whether a function puts the holder into a list, or gives it to what may take its parameters."""
    if not _sees(held, function):
        return False
    around = held.file.enclosing(function)
    for node in around.of_kinds((ast.Name, ast.Attribute)):
        if chain(node) != held.name or not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            continue
        parent = around.parents.get(node)
        parent = around.parents.get(parent) if isinstance(parent, ast.keyword | ast.Starred) else parent
        if isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Return):
            return True
        given = isinstance(parent, ast.Call) and parent.func is not node
        if given and last_part(chain(parent.func)) not in _WRAPS:  # type: ignore[union-attr]
            return True
    return False
