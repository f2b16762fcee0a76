"""Optimizers that own a part of a model, while gradients of the rest are computed at every step.

    self.optimizer = Adam(self.model.head.parameters())
    ...
    loss = criterion(self.model(x), y)
    loss.backward()

Told by four things together: the optimizer gets parameters of named parts only, no other gets those of the rest, the
rest has parameters, and a training step calls the whole with gradients recorded. Nothing near says anything about
freezing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.autograd.trainable import class_records, is_of_a_library, speaks_of_freezing, trainable_parts
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_HEAD = pattern(r"^_?(?:fc|head|heads|classifier|cls|last_linear|logits?|\w+_(?:head|classifier|fc))$")
"""What models of libraries call their last layers."""
_OWNS = pattern(r"optim|param_group|adam|sgd|lamb|lion|adafactor|prop$|parameters_to|params", re.IGNORECASE)
"""What takes parameters to update them, by its name."""
_ASKS = ("parameters", "named_parameters")


class Unowned(NamedTuple):
    """An optimizer that owns a part of a model."""

    site: Site
    model: str
    """The whole, as written where the optimizer is made; `self` for a module that makes its own."""
    owned: tuple[str, ...]
    """The parts it owns, by their names in the whole."""
    rest: str
    """What nobody updates, in words."""
    use: Site
    """A call in a training step through which gradients flow."""


class _Owned(NamedTuple):
    root: str
    parts: tuple[str, ...]
    lines: range
    """Where it is written what the optimizer gets."""


def unowned_parameters(file: SourceFile, optimizers: tuple[str, ...]) -> Iterator[Unowned]:
    """The optimizers of a file, made by one of `optimizers` (dotted), that leave the rest of a model to nobody."""
    sites = list(file.calls_of(*optimizers))
    if not sites or speaks_of_freezing(file.text):
        return
    for site in sites:
        owned = _owned_by(file, site)
        if owned is None or _others_own(file, site, owned):
            continue
        rest = _rest(file, site, owned)
        if rest is None:
            continue
        used = next(_uses(file, site, owned, rest[1]), None)
        if used is not None:
            yield Unowned(site, owned.root, owned.parts, rest[0], used)


# -- what the optimizer gets ---------------------------------------------------------------------------


def _owned_by(file: SourceFile, site: Site) -> _Owned | None:
    given = site.keyword("params") or (site.call.args[0] if site.call.args else None)
    if isinstance(given, ast.Name):
        body = file.project.body(file.path)
        given = body.assigned_once(site.function, given.id, site.start) if body is not None else None
    chains = _chains(given)
    if not chains or given is None:
        return None
    (first, _), (last, _) = file.span(given)
    lines = range(first, last + 1)
    own = file.project.index.class_of(file.path, site.function)
    is_module = own is not None and file.project.types.is_module_class(own)
    split = [c.split(".") for c in chains]
    if all(parts[0] == "self" and len(parts) > 1 for parts in split) and is_module:
        return _Owned("self", tuple(sorted({parts[1] for parts in split})), lines)
    depth = 2 if all(parts[0] == "self" for parts in split) else 1
    roots = {".".join(parts[:depth]) for parts in split}
    if len(roots) != 1 or any(len(parts) <= depth for parts in split):
        return None
    return _Owned(roots.pop(), tuple(sorted({parts[depth] for parts in split})), lines)


def _chains(node: ast.expr | None) -> list[str]:
    """The modules whose parameters an argument holds, as chains; empty where that cannot be told."""
    if isinstance(node, ast.Call):
        name = last_part(chain(node.func))
        if name == "parameters" and not node.args and isinstance(node.func, ast.Attribute):
            written = chain(node.func.value)
            return [written] if re.fullmatch(r"[A-Za-z_][\w.]*", written) else []
        return _all(node.args) if name in ("list", "chain", "tuple") and not node.keywords else []
    if isinstance(node, ast.List | ast.Tuple):
        return _all(node.elts)
    if isinstance(node, ast.Starred):
        return _chains(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _all([node.left, node.right])
    if isinstance(node, ast.Dict):
        held = [v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)]
        keys = [k.value for k in node.keys if isinstance(k, ast.Constant)]
        return _chains(held[keys.index("params")]) if "params" in keys else []
    return []


def _all(nodes: list[ast.expr]) -> list[str]:
    each = [_chains(node) for node in nodes]
    return [c for found in each for c in found] if all(each) else []


def _same_scope(file: SourceFile, first: int, second: int, root: str) -> bool:
    """Whether the whole's name means the same in two functions: an attribute in methods of one class."""
    functions = file.outline.functions
    if root == "self" or root.startswith("self."):
        return functions[first].class_index == functions[second].class_index >= 0
    return first == second


def _others_own(file: SourceFile, site: Site, owned: _Owned) -> bool:
    """Whether anything else takes the whole's parameters, or those of a part, to update them."""
    root = owned.root
    for record in file.outline.calls:
        owner, _, name = record.callee.rpartition(".")
        if name not in _ASKS or record.line in owned.lines or not f"{owner}.".startswith(f"{root}."):
            continue
        if not _same_scope(file, site.function, record.function, root):
            continue
        body = file.project.body(file.path)
        node = body.node_of(record) if body is not None else None
        statement = file.enclosing(record.function).statement(node) if node is not None else None
        if statement is None or isinstance(statement, ast.For | ast.Return) or _OWNS.search(ast.unparse(statement)):
            return True
    return False


# -- what is left, and where it is used ----------------------------------------------------------------


def _rest(file: SourceFile, site: Site, owned: _Owned) -> tuple[str, tuple[str, ...]] | None:
    """What else has parameters, in words, and its names where the whole is the module that makes the optimizer."""
    project = file.project
    things = project.types.things(file.path, site.function, owned.root)
    if is_of_a_library(things):
        return ("the rest of it", ()) if all(map(_HEAD.match, owned.parts)) else None
    if len(things) != 1 or things[0].kind != "instance" or not _is_open(file, things[0]):
        return None
    parts = trainable_parts(project, things[0])
    left = tuple(name for name in parts if name not in owned.parts)
    if not left or not set(owned.parts) <= set(parts):
        return None
    told = " and ".join(f"`{owned.root}.{name}`" for name in left[:2])
    return f"{told}{', among others,' if len(left) > 2 else ''}", left


def _is_open(file: SourceFile, cls: Thing) -> bool:
    return file.project.types.is_module_class(cls) and class_records(file.project, cls)


def _uses(file: SourceFile, site: Site, owned: _Owned, left: tuple[str, ...]) -> Iterator[Site]:
    """Calls in training steps that gradients flow through, of the whole or, of a module itself, of what is left."""
    names = {f"self.{name}" for name in left} if owned.root == "self" else {owned.root}
    for record in file.outline.calls:
        if record.callee in names and _same_scope(file, site.function, record.function, owned.root):
            yield from filter(_trains, file.calls_among([record]))
    if not owned.root.startswith("self"):
        yield from _handed_on(file, site, owned.root)


def _handed_on(file: SourceFile, site: Site, root: str) -> Iterator[Site]:
    """Calls in the functions of the file that the function around gives the whole to: `train(model, loader, ...)`."""
    body = file.project.body(file.path)
    lines = {line for _, line, _ in body.passed_to(site.function, root)} if body is not None else set()
    for record in file.outline.calls:
        if record.function != site.function or record.line not in lines:
            continue
        for key in file.project.types.targets(file.path, site.function, record.callee):
            node = body.node_of(record) if body is not None else None
            if key.path != file.path or node is None:
                continue
            called = file.outline.functions[key.index]
            for parameter in called.parameters:
                argument = argument_for(node, called, parameter.name)
                if isinstance(argument, ast.Name) and argument.id == root:
                    inner = [c for c in file.outline.calls if c.function == key.index and c.callee == parameter.name]
                    yield from filter(_trains, file.calls_among(inner))


def _trains(site: Site) -> bool:
    """Whether a call runs in a training step, gradients recorded and used."""
    if site.hot is None or site.hot.kind not in ("step", "forward") or site.hot.evaluates or site.hot.optional:
        return False
    parent = site.file.enclosing(site.function).parents.get(site.call)
    stops = isinstance(parent, ast.Attribute) and parent.attr in ("detach", "data")
    return not stops and site.file.project.hotness.grad_mode.records(site.file.path, site.start)
