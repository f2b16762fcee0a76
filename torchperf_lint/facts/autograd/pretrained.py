"""Networks that are made with trained weights, of a library or loaded from a file: what a loss looks through.

    vgg = torchvision.models.vgg19(weights="DEFAULT").features          self.facenet = Backbone(50)
                                                                        self.facenet.load_state_dict(torch.load(path))
                                                                        self.facenet.eval()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.autograd.trainable import is_of_a_library, makes_a_layer
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none, is_true

_LIBRARIES = ("torchvision", "timm", "torch.hub")


def of_a_library(file: SourceFile) -> Iterator[Site]:
    """The calls that make a network of a library and ask for its weights."""
    if not any(name in file.text for name in _LIBRARIES):
        return
    for site in file.calls_among([c for c in file.outline.calls if "(" not in c.callee]):
        if _asks_for_weights(site.call):
            things = file.project.types.things(file.path, site.function, f"{site.record.callee}()")
            if is_of_a_library(things):
                yield site


def _asks_for_weights(call: ast.Call) -> bool:
    pretrained, weights = keyword(call, "pretrained"), keyword(call, "weights")
    if weights is not None:
        return not is_none(weights) and not isinstance(weights, ast.IfExp | ast.Name)
    return is_true(pretrained) or bool(call.args and is_true(call.args[0]))


def loaded(file: SourceFile, cls: Thing) -> Iterator[Site]:
    """The calls that make a part of a module which its constructor then loads from a file and puts into `eval`."""
    start, body = file.project.index.record(cls).methods.get("__init__"), file.project.body(file.path)
    if start is None or body is None:
        return
    own = [call for call in file.outline.calls if call.function == start]
    callees = {call.callee for call in own}
    for site in file.calls_among([call for call in own if last_part(call.callee) == "load_state_dict"]):
        part = site.record.callee.rpartition(".")[0]
        given = ast.unparse(site.call.args[0]) if site.call.args else ""
        if "load" not in given or f"{part}.eval" not in callees or part.count(".") != 1:
            continue
        made = [value for name, value, _ in body.self_assignments(start) if f"self.{name}" == part]
        if len(made) == 1 and isinstance(made[0], ast.Call):
            at, callee = file.start(made[0]), chain(made[0].func)
            yield from file.calls_among([c for c in own if (c.line, c.column) == at and c.callee == callee])


def has_nothing_else(file: SourceFile, cls: Thing, made: list[Site]) -> bool:
    """Whether all layers with parameters of a module of the file are those of the networks it makes."""
    project, places = file.project, {(file.path, *site.start) for site in made}
    for part in project.index.ancestry(cls):
        if part.kind != "class":
            continue
        methods = set(project.index.record(part).methods.values())
        for call in project.index.outlines[part.path].calls:
            if call.function not in methods or (part.path, call.line, call.column) in places:
                continue
            if project.index.method(cls, call.callee.removeprefix("self.")) is not None:
                continue  # its own calls are looked at
            if last_part(call.callee) in ("Parameter", "register_parameter"):
                return False
            if _is_of_a_part(file, part.path, call):
                continue
            if makes_a_layer(project, part.path, call.function, call.callee):
                return False
    return True


def _is_of_a_part(file: SourceFile, path: str, call: Call) -> bool:
    """Whether a call runs a module that is made already, or is a method of one: `self.net(x)`, `vgg.children()`."""
    owner = call.callee.rpartition(".")[0]
    named = [call.callee, *([owner] if owner not in ("", "self") else [])]
    things = [t for name in named for t in file.project.types.things(path, call.function, name)]
    return any(thing.kind == "instance" or "()" in thing.dotted for thing in things)
