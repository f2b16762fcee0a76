"""Lists of words or characters that are indexed by the elements of a tensor: `vocab.itos[i]`, `alphabet[i - 1]`.

Nobody may know what `vocab` is; that what it gives is joined to a text, or looked through for one, says that it is no
tensor. A tensor is the key of no dict, so whatever holds texts needs an integer, which is read from the device.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.files.source import Place, SourceFile

_CALLERS = 8


def gives_text(file: SourceFile, place: Place, taken: ast.Subscript) -> bool:
    """Whether the function uses what an index takes as a text."""
    enclosing = file.enclosing(place.function)
    parent = enclosing.parents.get(taken)
    if isinstance(parent, ast.ListComp | ast.GeneratorExp):
        return parent.elt is taken and _is_join(enclosing.parents.get(parent), parent)
    nodes = [n for n in enclosing.of_kinds((ast.Call, ast.Compare)) if isinstance(n, ast.Call | ast.Compare)]
    if isinstance(parent, ast.Call):
        return _goes_into_text(nodes, parent, taken)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    name = parent.targets[0].id
    return any(_asks_for_text(node, name) for node in nodes) or any(
        isinstance(node, ast.Call) and _is_name(argument, name) and _goes_into_text(nodes, node, argument)
        for node in nodes
        for argument in (node.args if isinstance(node, ast.Call) else ())
    )


def is_given_one_tensor(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether a hot call passes one tensor on the device, and no list of them, for a parameter as it is used here."""
    project, record = file.project, file.outline.functions[place.function]
    body = project.body(file.path)
    if body is None or not isinstance(node, ast.Name) or body.definitions(place.function).get(node.id):
        return False
    if node.id not in {p.name for p in record.parameters}:
        return False
    for caller in project.hotness.callers.get(FunctionKey(file.path, place.function), ())[:_CALLERS]:
        other = file if caller.path == file.path else SourceFile(project, caller.path, project.text(caller.path))
        for site in other.calls_among([caller.call]):
            given = argument_for(site.call, record, node.id)
            there = given is not None and site.hot is not None and other.value(given, site).on_device
            if there and given is not None and is_one_tensor(other, site, given):
                return True
    return False


def _is_join(node: ast.AST | None, joined: ast.expr) -> bool:
    """`" ".join(joined)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "join":
        return False
    between = node.func.value
    written = isinstance(between, ast.Constant) and isinstance(between.value, str)
    return written and len(node.args) == 1 and ast.dump(node.args[0]) == ast.dump(joined)


def _goes_into_text(nodes: list[ast.Call | ast.Compare], call: ast.Call, added: ast.expr) -> bool:
    """Whether `words.append(added)` adds to a list that is joined to a text."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "append" or call.args != [added]:
        return False
    return any(_is_join(node, call.func.value) for node in nodes)


def _asks_for_text(node: ast.AST, name: str) -> bool:
    """`"<" not in word`."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.In | ast.NotIn):
        return False
    left = node.left
    return isinstance(left, ast.Constant) and isinstance(left.value, str) and _is_name(node.comparators[0], name)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
