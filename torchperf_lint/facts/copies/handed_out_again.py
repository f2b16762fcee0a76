"""Names of what a function hands out again at each call: it keeps it in a table of its Python module, or a cache.

def get_model(name):                                    model = get_model(name)
    if name not in MODELS:                              model = model.cuda()    # the same one each time
        MODELS[name] = load(name)
    return MODELS[name]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.constant_calls import keeps_what_it_gave
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain

_TABLES = frozenset({"dict", "defaultdict", "collections.defaultdict", "OrderedDict", "collections.OrderedDict"})


def are_handed_out_again(site: Site, name: str) -> bool:
    """Whether all that a name is bound to in the function of a site is handed out again, moves of it aside."""
    body = site.file.project.body(site.file.path)
    found = body.definitions(site.function).get(name, ()) if body is not None else ()
    others = [d for d in found if not is_own_move(d, name)]
    return bool(others) and all(is_handed_out_again(site, definition) for definition in others)


def is_own_move(definition: Definition, name: str) -> bool:
    """`model = model.cuda()`: what a method of it gives back."""
    return isinstance(definition.value, ast.Call) and chain(definition.value.func).startswith(f"{name}.")


def is_handed_out_again(site: Site, definition: Definition) -> bool:
    """Whether a name is bound to what a function of the project keeps, or to one of several such things."""
    call = definition.value
    if not isinstance(call, ast.Call) or definition.how not in ("assign", "item") or len(definition.index) > 1:
        return False
    place = definition.index[0] if definition.index else None
    keys = site.file.project.types.targets(site.file.path, site.function, chain(call.func))
    return bool(keys) and all(_keeps(site, key, place) for key in keys)


def _keeps(site: Site, key: FunctionKey, place: int | None) -> bool:
    body = site.file.project.body(key.path)
    if body is None:
        return False
    if keeps_what_it_gave(site.file.project.index.function(key)):
        return True
    returned = [_one_of(node, place) for node in body.returns(key.index)]
    return bool(returned) and all(node is not None and _is_of_a_table(body, key.index, node) for node in returned)


def _one_of(node: ast.expr, place: int | None) -> ast.expr | None:
    if place is None:
        return node
    return node.elts[place] if isinstance(node, ast.Tuple) and place < len(node.elts) else None


def _is_of_a_table(body: Body, function: int, node: ast.expr) -> bool:
    """`MODELS[name]["model"]`: an entry of a dict that the Python module, and no function, has made."""
    if not isinstance(node, ast.Subscript):
        return False
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Name) or body.definitions(function).get(node.id):
        return False
    made = body.definitions(0).get(node.id, ())
    return bool(made) and all(d.value is not None and _is_table(d.value) for d in made)


def _is_table(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and chain(node.func) in _TABLES)
