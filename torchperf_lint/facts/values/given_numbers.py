"""Objects to which the function at hand gives numbers only: `losses = AverageMeter()`, `losses.update(loss.item(), n)`.

What a class gathers counts as a tensor where any caller gives it tensors: beside the meter of the losses there may be
one of accuracies, which stay on the device. Of an object that is made here, what it is given here says more.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.call_graph.passed import comes_by_a_call
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_SHOWS = frozenset({"print", "str", "repr", "format"})


def only_numbers_given(values: Values, owner: ast.expr, cls: Thing, shown: Value, frame: Frame) -> bool:
    """Whether a tensor that the class of `owner` shows comes from callers who have an object of their own."""
    body = values.body(frame.path)
    if body is None or not isinstance(owner, ast.Name) or not comes_by_a_call(shown):
        return False
    bound = body.definitions(frame.function).get(owner.id, ())
    if not bound or not all(isinstance(d.value, ast.Call) and d.how == "assign" for d in bound):
        return False
    uses = _Uses(values, owner.id, cls)
    for node in nodes_of(body.functions[frame.function]):
        uses.see(node)
    if any(read not in uses.seen for read in body.reads(frame.function, owner.id)):
        return False
    given = [argument for call in uses.calls for argument in arguments(call)]
    return bool(given) and all(_is_number(values, a, frame, body) for a in given)


class _Uses:
    """The uses of an object that give it nothing but what is seen.

    Who has the object itself, or one of its methods, may give it anything: `record(losses, loss)`,
    `update = losses.update`. What shows it does not, nor does who gets it in the end.
    """

    def __init__(self, values: Values, name: str, cls: Thing) -> None:
        self._values, self._name, self._cls = values, name, cls
        self.calls: list[ast.Call] = []
        """Of the object's methods."""
        self.seen: set[ast.expr] = set()
        """The reads of its name in such uses."""

    def see(self, node: ast.AST) -> None:
        """Look at one node of the function."""
        if self._is_read(node):
            self._take(node.value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call):
            if last_part(chain(node.func)) in _SHOWS:
                for argument in arguments(node):
                    self._take(argument)
            if isinstance(node.func, ast.Attribute) and self._take(node.func.value) and self._is_method(node.func):
                self.calls.append(node)

    def _is_read(self, node: ast.AST) -> bool:
        """Whether a node shows or hands back its value, or is an attribute of it that gives a result."""
        result = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not self._is_method(node)
        return result or isinstance(node, ast.FormattedValue | ast.Return)

    def _take(self, node: ast.expr | None) -> bool:
        is_it = isinstance(node, ast.Name) and node.id == self._name
        if is_it and node is not None:
            self.seen.add(node)
        return is_it

    def _is_method(self, node: ast.Attribute) -> bool:
        method = self._values.index.method(self._cls, node.attr)
        return method is not None and "property" not in self._values.index.function(method).decorators


def _is_number(values: Values, node: ast.expr, frame: Frame, body: Body) -> bool:
    return values.of(node, frame.hop(frame.path, frame.function, body.at(node))).kind == "plain"
