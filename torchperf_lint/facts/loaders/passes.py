"""Expressions that are loaders, and passes over them that loops start: by value first, by their name second."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchperf_lint.facts.files.source import Place, Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_NAME = pattern(
    r"(?:^|_|[a-z0-9])(?:data_?)?loader(?:_(?!cls|class|fn|func|factory|kwargs|args|iter|cfg|config|conf|type|name|len|"
    r"workers?|params?|opts?|settings|list|dict|map|idx|id)\w+|\d+)?$|(?:^|_)dl$",
    re.IGNORECASE,
)
"""`train_loader`, `dataloader`, `loader_a`, `valid_dl`; not several of them, nor what makes or sets up one."""


class Pass(NamedTuple):
    """A pass over a loader that begins at a place."""

    loader: ast.expr
    value: Value
    begun: ast.expr
    """What begins it: `iter(loader)`."""


def known_loader(place: Place, node: ast.expr) -> Value | None:
    """The loader that an expression is, or None. What only its name shows is at most `likely`."""
    value = place.file.value(node, place)
    if value.kind == "loader" and value.confidence is Confidence.CERTAIN:
        return value
    written = chain(node)
    annotation = _annotation(place, node)
    silent = annotation in ("Iterable", "Any") or (not annotation and value.kind in ("loader", "unknown"))
    if not silent or not _NAME.search(last_part(written)) or not place.file.outline.imports_from("torch"):
        return None
    because = f"`{written}`, a DataLoader by its name"
    return value if value.kind == "loader" else Value("loader", HOST, because, Confidence.LIKELY)


def _annotation(place: Place, node: ast.expr) -> str:
    """How a parameter is annotated; empty where it is not, and for what is no parameter."""
    if not isinstance(node, ast.Name):
        return ""
    parameters = place.file.outline.functions[place.function].parameters
    return next((last_part(p.annotation) for p in parameters if p.name == node.id), "")


def pass_for_one_batch(site: Site) -> Pass | None:
    """The pass that `next(...)` at a site begins for one batch: `next(iter(loader))`, also in two statements."""
    taken = _advanced(site)
    if isinstance(taken, ast.Name):
        taken = _made_in_the_same_turn(site, taken)
    loader = _iterated(taken)
    value = known_loader(site, loader) if loader is not None else None
    return None if taken is None or loader is None or value is None else Pass(loader, value, taken)


def _advanced(site: Site) -> ast.expr | None:
    """The iterator that `next(it)`, `it.__next__()` or `it.next()` advances."""
    call = site.call
    if site.record.callee == "next":
        return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None
    return site.receiver if last_part(site.record.callee) in ("next", "__next__") and not call.args else None


def _iterated(node: ast.expr | None) -> ast.expr | None:
    """What `iter(x)` or `x.__iter__()` makes an iterator of."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "iter" and len(node.args) == 1:
        return node.args[0]
    return node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "__iter__" else None


def _made_in_the_same_turn(site: Site, name: ast.Name) -> ast.expr | None:
    """What made an iterator, where every turn of the loop makes it anew and takes from it outside further loops."""
    body = site.file.project.body(site.file.path)
    assert body is not None
    reaching = body.reaching(site.function, name.id, site.start) or []
    if len(reaching) != 1 or reaching[0].how != "assign":
        return None
    here, there = body.block_of(site.function, site.start), reaching[0].block
    loops = [block for block in here if block[1] == "loop"]
    inside = bool(loops) and there == here[: len(there)] and there[-1:] == (loops[-1],)
    taken = [use for use in body.passed_to(site.function, name.id) if use[0] != "next"]
    return reaching[0].value if inside and not taken else None


def varies(place: Place, node: ast.expr) -> bool:
    """Whether an expression depends on what the hot loop around a place sets anew in each turn."""
    hot = place.hot
    body = place.file.project.body(place.file.path)
    if hot is None or hot.loop is None or hot.loop[0] != place.file.path or body is None:
        return False
    region = place.file.outline.regions[hot.loop[1]]
    return depends_on_loop(place, node, region.function, region.head)


def depends_on_loop(place: Place, node: ast.expr, function: int, head: int) -> bool:
    """Whether an expression reads a name that the loop at line `head` binds, in its header or its body.

    A name that a loop further in binds counts by what that loop iterates.
    """
    body = place.file.project.body(place.file.path)
    if body is None or place.function != function:
        return False
    pending, seen = [node], set[str]()
    while pending:
        for name in {n.id for n in ast.walk(pending.pop()) if isinstance(n, ast.Name)} - seen:
            seen.add(name)
            for definition in body.definitions(function).get(name, ()):
                if definition.within is not None or (head, "loop") not in definition.block:
                    continue
                if definition.how != "loop" or definition.value is None or definition.block[-1] == (head, "loop"):
                    return True
                pending.append(definition.value)
    return False
