"""Whether an expression gives the same in every turn of a loop: nothing that goes into it is set or changed there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import names_in
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import children_of
from torchperf_lint.patterns import pattern

_WITHOUT_CHOICE = pattern(
    r"^torch\.utils\.data\.(?:\w+Sampler|Subset|TensorDataset|ConcatDataset|DataLoader|distributed\.DistributedSampler)$"
    r"|^torchvision\.(?:transforms|datasets)\.|^builtins\.(?:len|range|list|tuple|int|min|max)$"
)
"""What gives the same in every turn when its arguments are the same."""
_DRAWS = pattern(r"^_?(?![A-Z])\w*(?:rand|shuffle|sample$|split|choice|perm|epoch|augment)")
"""Functions that choose anew each time they are called; classes (`RandomSampler`) do when they are walked."""
_SETTINGS = pattern(
    r"^(?:self|args?|cfg|config|conf|opts?|hparams|params|settings|flags|options|kwargs|bs|"
    r"\w*(?:size|workers|shuffle|seed|device|_fn|path|dir|root|transforms?|memory|last|factor))$",
    re.IGNORECASE,
)
"""What is read but not changed by those it is handed to."""
_LOOKS_ONLY = pattern(r"^(?:len|print|isinstance|str|repr|type|id)$|(?:Sampler|Subset|Dataset|DataLoader)$")


def same_in_each_turn(site: Site, loop: Region) -> bool:
    """Whether a call would make the same in every turn of a loop around it."""
    file = site.file
    body = file.project.body(file.path)
    if body is None or not _makes_the_same(site):
        return False
    pending: list[ast.expr] = arguments(site.call)
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if not _is_free_of_choice(file, site, node):
            return False
        for name in sorted(names_in(node) - seen):
            seen.add(name)
            if _is_changed(site, name, body, loop):
                return False
            for value in _set_in(body, site.function, name, loop):
                if value is None:
                    return False
                pending.append(value)
    return True


def _set_in(body: Body, function: int, name: str, loop: Region) -> Iterator[ast.expr | None]:
    """What a loop assigns to a name, or None for a binding that says nothing (its own variable, `+=`, a part)."""
    for definition in body.definitions(function).get(name, ()):
        if definition.within is None and (loop.head, "loop") in definition.block:
            yield definition.value if definition.how == "assign" else None


def _is_free_of_choice(file: SourceFile, site: Site, node: ast.expr) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and not _WITHOUT_CHOICE.search(file.denotes(part.func, site) or ""):
            return False
        if isinstance(part, ast.Lambda | ast.Await | ast.NamedExpr):
            return False
    return True


def _makes_the_same(site: Site) -> bool:
    """Whether the function that a call runs draws nothing; a class of torch's does not."""
    types, index = site.file.project.types, site.file.project.index
    for target in types.targets(site.file.path, site.function, site.record.callee):
        if any(_DRAWS.search(last_part(call.callee)) for call in index.calls_in(target)):
            return False
    return True


# -- changes in place ----------------------------------------------------------------------------------


def _is_changed(site: Site, name: str, body: Body, loop: Region) -> bool:
    """Whether the loop assigns to a part of `name`, calls its methods, or hands it to somebody who may change it."""
    own = {id(part) for part in ast.walk(site.call)}
    stack: list[ast.AST] = [*body.functions[site.function].body]
    while stack:
        node = stack.pop()
        line, end = getattr(node, "lineno", loop.start[0]), getattr(node, "end_lineno", None) or loop.start[0]
        if id(node) in own or end < loop.start[0] or line > loop.end[0]:
            continue
        if line >= loop.start[0] and _may_change(node, name):
            return True
        stack.extend(children_of(node))
    return name.startswith("self.") and _is_changed_by_methods(site, name.split(".")[1])


def _may_change(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [chain(t) for t in targets if isinstance(t, ast.Attribute | ast.Subscript)]
        return any(part == name or (not _SETTINGS.match(name) and part.startswith(f"{name}.")) for part in parts)
    if not isinstance(node, ast.Call) or _SETTINGS.match(last_part(name)):
        return False
    if isinstance(node.func, ast.Attribute) and chain(node.func.value) == name:
        return node.func.attr[:1].islower()
    given = arguments(node)
    return not _LOOKS_ONLY.search(last_part(chain(node.func))) and any(chain(a) == name for a in given)


def _is_changed_by_methods(site: Site, attribute: str) -> bool:
    """Whether a method other than the constructor sets `self.x`, or calls a method of `self.x`."""
    index = site.file.project.index
    own = index.class_of(site.file.path, site.function)
    if own is None:
        return True
    for cls in index.ancestry(own):
        if cls.kind != "class":
            continue
        methods = [number for name, number in index.record(cls).methods.items() if name not in _CONSTRUCTORS]
        if any(_method_changes(site, FunctionKey(cls.path, number), attribute) for number in methods):
            return True
    return False


_CONSTRUCTORS = ("__init__", "__post_init__")


def _method_changes(site: Site, key: FunctionKey, attribute: str) -> bool:
    body = site.file.project.body(key.path)
    if body is None or any(name == attribute for name, _, _ in body.self_assignments(key.index)):
        return True
    calls = site.file.project.index.calls_in(key)
    return any(call.callee.startswith(f"self.{attribute}.") for call in calls)
