"""What the modules of a list are made by: `self.layers = nn.ModuleList()`, and `self.layers.append(layer)` in a loop.

    for _ in range(blocks):                                  out, _ = self.layers[i](x, x, x)
        layer = nn.MultiheadAttention(dim, heads)            for norm, layer in zip(self.norms, self.layers):
        self.layers.append(layer)                                out = layer(x, x, x)

Only where one method of the class makes the list, and all that is put in is written there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import chain, last_part

_LISTS = frozenset({"ModuleList", "list"})
_CHANGES = frozenset({"extend", "insert", "pop", "__setitem__", "add_module"})
_SIDE_BY_SIDE = {"zip": 0, "enumerate": 1}
"""Function -> which item of its turns the first argument gives."""


def makers_of_listed(file: SourceFile, call: Call) -> tuple[int, list[ast.Call]] | None:
    """What makes the modules of which a call runs one, and the function where; None where not all is known of them."""
    name = _list_of(file, call)
    body, own = file.project.body(file.path), file.project.index.class_of(file.path, call.function)
    if name is None or body is None or own is None or own.path != file.path:
        return None
    methods = file.project.index.record(own).methods.values()
    made = [(method, value) for method in methods for value, _ in body.self_assigned(method, name)]
    if len(made) != 1 or any(_changes(body, method, name, made[0][0]) for method in methods):
        return None
    method, value = made[0]
    found = [*_written(value), *body.stored_items(method, f"self.{name}")]
    makers = [node if isinstance(node, ast.Call) else _bound(body, method, node) for node in found]
    known = [maker for maker in makers if maker is not None]
    return (method, known) if known and len(known) == len(found) and _is_list(value) else None


def _list_of(file: SourceFile, call: Call) -> str | None:
    """The attribute of `self` that holds the list."""
    owner, bracket, rest = call.callee.partition("[")
    if bracket:
        name = owner.removeprefix("self.")
        return name if rest.endswith("]") and "[" not in rest and owner != name and name.isidentifier() else None
    site = next(iter(file.calls_among([call])), None) if call.callee.isidentifier() else None
    for loop in file.enclosing(call.function).around(site.call) if site is not None else ():
        if isinstance(loop, ast.For) and any(chain(n) == call.callee for n in ast.walk(loop.target)):
            over = _gone_over(loop.target, loop.iter, call.callee)
            return over.removeprefix("self.") if over.startswith("self.") and over.count(".") == 1 else None
    return None


def _gone_over(target: ast.expr, iterated: ast.expr, name: str) -> str:
    """What a loop takes `name` from, as a chain; empty where it takes it apart, or that cannot be told."""
    if chain(target) == name:
        return chain(iterated)
    called = last_part(chain(iterated.func)) if isinstance(iterated, ast.Call) else ""
    if not isinstance(target, ast.Tuple) or not isinstance(iterated, ast.Call) or called not in _SIDE_BY_SIDE:
        return ""
    parts = zip(target.elts[_SIDE_BY_SIDE[called] :], iterated.args, strict=False)
    return next((over for part, of in parts if (over := _gone_over(part, of, name))), "")


def _is_list(value: ast.expr) -> bool:
    return isinstance(value, ast.List) or (isinstance(value, ast.Call) and last_part(chain(value.func)) in _LISTS)


def _written(value: ast.expr) -> Iterator[ast.expr]:
    """What stands in `nn.ModuleList([a(), b()])`, or is made by each turn of `nn.ModuleList(a() for _ in r)`."""
    given = value.args if isinstance(value, ast.Call) else [value]
    for node in given:
        if isinstance(node, ast.List | ast.Tuple):
            yield from node.elts
        else:
            yield node.elt if isinstance(node, ast.ListComp | ast.GeneratorExp) else node


def _changes(body: Body, method: int, name: str, made_in: int) -> bool:
    """Whether a method puts in or takes out what nobody follows: all but single items where the list is made."""
    written = f"self.{name}"
    changed = any(use in _CHANGES for use, _ in body.uses(method, written)) or f"{written}[" in body.augmented(method)
    return changed or (method != made_in and bool(body.stored_items(method, written)))


def _bound(body: Body, method: int, node: ast.expr) -> ast.Call | None:
    """The call that a name is bound to, and nothing else."""
    found = body.assigned_once(method, node.id, body.at(node)) if isinstance(node, ast.Name) else None
    return found if isinstance(found, ast.Call) else None
