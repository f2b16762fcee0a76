"""Dicts that hand uploads on under names: what is asked for under a text, and what was put there.

    inputs = dict(zip(names, batch))              inputs = {"ids": batch[0], "labels": batch[1]}
    inputs.get("labels").cpu()                    inputs["labels"].cpu()
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.substituted import entry_by_get


def as_entry(node: ast.expr) -> ast.Subscript | None:
    """`inputs["labels"]`, of that itself and of `inputs.get("labels")`, where a name stands for the dict."""
    node = (entry_by_get(node) if isinstance(node, ast.Call) else None) or node
    return node if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else None


def written_entry(file: SourceFile, function: int, made: ast.expr, entry: ast.Subscript) -> ast.expr | None:
    """What a dict that is written out has under the key of an entry, where its function puts nothing else there."""
    if not isinstance(made, ast.Dict) or not isinstance(entry.slice, ast.Constant) or None in made.keys:
        return None
    stores = (s for s in file.enclosing(function).of_kinds((ast.Subscript,)) if _is_store(s))
    if any(ast.unparse(store) == ast.unparse(entry) for store in stores):
        return None
    key = entry.slice.value
    pairs = zip(made.keys, made.values, strict=True)
    return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == key), None)


def entries_given_back(file: SourceFile, body: Body, function: int, entry: ast.Subscript) -> list[ast.expr]:
    """What each dict that a function gives back has under the key of an entry; nothing where one may be anything."""
    found = []
    for result in body.returns(function):
        made = body.assigned_once(function, result.id, body.at(result)) if isinstance(result, ast.Name) else result
        held = result if isinstance(result, ast.Name) else entry.value
        there = ast.copy_location(ast.Subscript(value=held, slice=entry.slice, ctx=ast.Load()), result)
        part = written_entry(file, function, made, there) if made is not None else None
        if part is None:
            return []
        found.append(part)
    return found


def zipped(node: ast.Call) -> ast.expr | None:
    """`batch` of `dict(zip(names, batch))`; None for other calls."""
    inner = node.args[0] if chain(node.func) == "dict" and len(node.args) == 1 and not node.keywords else None
    pairs = isinstance(inner, ast.Call) and chain(inner.func) == "zip" and len(inner.args) == 2
    return inner.args[1] if isinstance(inner, ast.Call) and pairs else None


def made_of_each(node: ast.expr) -> ast.expr | None:
    """`t.to(device)` of `[t.to(device) for t in batch]` and of `map(lambda t: t.to(device), batch)`; else None."""
    if isinstance(node, ast.DictComp):
        return node.value
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return node.elt
    mapped = isinstance(node, ast.Call) and chain(node.func) == "map" and len(node.args) == 2
    by = node.args[0] if isinstance(node, ast.Call) and mapped else None
    return by.body if isinstance(by, ast.Lambda) else None


def _is_store(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
