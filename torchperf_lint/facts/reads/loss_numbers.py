"""Whether a number that is read from the device is a loss, or a mean of what a step computes.

    loss_value = loss.item()                          # the function calls `loss.backward()`, or the name says so
    for key, values in losses.items():
        log(key, values.mean().item())

Nothing on the host knows such a number before the device has computed it, as it may know a size.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_LOSS = pattern(r"(?:^|_)(?:loss(?:es)?|nll|mse|mae|kl|kld|entropy|perplexity|ppl)(?:_|$)")
"""Names of losses, and of functions that compute them: `loss_real`, `cross_entropy`."""
_NOT_THE_LOSS = pattern(r"(?:^|_)(?:n|num|count|counts|idx|index|step|steps|len|length|lengths|size|sizes)(?:_|$)")
"""`num_losses`, `loss_steps`: of losses, and none."""
_MEANS = frozenset({"mean", "nanmean", "std", "var"})
_KEEPS = frozenset(
    "detach data cpu cuda float double half to clone sum mean nanmean squeeze view reshape flatten sqrt exp log max "
    "min abs values".split()
)
"""Methods and attributes that make a loss of losses."""
_OF_DICTS = frozenset({"items", "values"})
_HOPS = 3


def reads_a_loss(place: Place) -> bool:
    """Whether one number is read, and that is a loss or a mean."""
    node = place.expression
    read: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        read = node.value  # `loss.data[0]`
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
        read = node.func.value
    elif isinstance(node, ast.Call) and chain(node.func) == "float" and len(node.args) == 1:
        read = node.args[0]
    return read is not None and _is_loss(place, read, _HOPS)


def _is_loss(place: Place, node: ast.expr, hops: int) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_loss(place, node.left, hops) or _is_loss(place, node.right, hops)
    if isinstance(node, ast.Name):
        return _names_one(node.id) or _is_bound_to_one(place, node, hops)
    if isinstance(node, ast.Subscript):
        return _is_a_part(node) and _is_loss(place, node.value, hops)
    if isinstance(node, ast.Attribute):
        return _names_one(node.attr) or (node.attr in _KEEPS and _is_loss(place, node.value, hops))
    if not isinstance(node, ast.Call):
        return False
    called = last_part(chain(node.func))
    if called in _MEANS or _names_one(called):
        return True
    method = isinstance(node.func, ast.Attribute) and called in _KEEPS
    return method and _is_loss(place, node.func.value, hops)  # type: ignore[attr-defined]


def _names_one(name: str) -> bool:
    return _LOSS.search(name) is not None and _NOT_THE_LOSS.search(name) is None


def _is_a_part(node: ast.Subscript) -> bool:
    """`losses["box"]`, `out[0]`: one of them, and not what a mask picks."""
    return isinstance(node.slice, ast.Constant | ast.Name)


def _is_bound_to_one(place: Place, node: ast.Name, hops: int) -> bool:
    """Whether a name is differentiated by, or what it stands for is a loss."""
    body = place.file.project.body(place.file.path)
    if body is None:
        return False
    if any(attribute == "backward" for attribute, _ in body.uses(place.function, node.id)):
        return True
    found = body.reaching(place.function, node.id, body.at(node)) or ()
    made = [value for definition in found for value in _values(definition)]
    return hops > 0 and bool(made) and all(_is_loss(place, value, hops - 1) for value in made)


def _values(definition: Definition) -> Iterator[ast.expr]:
    """What a name is bound to; of a loop over a dict of losses, `for k, v in losses.items()`, the dict."""
    value = definition.value
    if value is None:
        return
    walked = definition.how == "loop" and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    if walked and value.func.attr in _OF_DICTS and definition.index != (0,):  # type: ignore[attr-defined]
        yield value.func.value  # type: ignore[attr-defined]
    elif definition.how in ("assign", "loop"):
        yield value
