"""Parameters that a function only hands on, `def get_loss(self, kind, x): return self.losses[kind](x)`.

What the last in such a line gets is what its first was given: following the line costs nothing, as long as it ends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_of, call_at, place_of
from torchperf_lint.facts.values.value import DEVICE, UNKNOWN, Value
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

Parameter = tuple[FunctionKey, str]
_DATA = frozenset(("tensor", "batch", "sequence", "array", "plain", "loader", "nothing"))
_MAX_LINE = 24
"""Parameters looked at, up the line of callers."""
_FEW = 12
"""Callers of a function; of one with more, nobody asks what each hands on."""


def relays(values: Values, site: CallSite, argument: ast.expr) -> bool:
    """Whether a call hands on a parameter of the function that it stands in, which nobody hands on to itself."""
    if not isinstance(argument, ast.Name):
        return False
    of = (FunctionKey(site.path, site.call.function), argument.id)
    known = values.relayed.get(of)
    if known is None:
        known = values.relayed[of] = _is_untouched(values, of) and _ends(values, of)
    return known


def tells(value: Value) -> bool:
    """Whether a value says what the last of a line gets.

    A batch on the device may be a tensor or hold several, as may one by its name only; of a container with what nobody
    knows in it, and of what is only possible, nothing can be built: what a function does with its parameter says more.
    Objects are known by their classes, near as well as far.
    """
    if value.kind == "sequence":
        if value.entries:  # other entries are put in on the way
            return False
        return all(tells(part) for part in (value.item or UNKNOWN, *value.items))
    if value.kind == "batch" and (value.device == DEVICE or value.confidence is not Confidence.CERTAIN):
        return False
    return value.kind in _DATA and value.confidence is not Confidence.POSSIBLE


def _is_untouched(values: Values, of: Parameter) -> bool:
    """Whether a name is a parameter that its function binds to nothing else."""
    key, name = of
    body = values.body(key.path)
    if body is None or all(p.name != name for p in values.index.function(key).parameters):
        return False
    return not body.definitions(key.index).get(name)


def _ends(values: Values, of: Parameter) -> bool:
    """Whether the line of those that hand a parameter on comes to an end, and not back to it."""
    line = [of]
    for one in line:
        for before in _before(values, one):
            if before == of or len(line) >= _MAX_LINE:
                return False
            if before not in line:
                line.append(before)
    return True


def _before(values: Values, of: Parameter) -> Iterator[Parameter]:
    """The parameters that callers hand on for one."""
    key, name = of
    function = values.index.function(key)
    position = place_of(function, name)
    for site in values.hotness.callers.get(key, ())[:_FEW]:
        node = call_at(values, site)
        argument = argument_of(node, position, name) if node is not None else None
        given = (FunctionKey(site.path, site.call.function), argument.id) if isinstance(argument, ast.Name) else None
        if given is not None and _is_untouched(values, given):
            yield given
