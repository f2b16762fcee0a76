"""What a name, or an attribute of an object, is bound to: the expressions as written, and where each stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.outlines.records import END_OF_FILE, Position
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values



class Bound(NamedTuple):
    """One expression that a name or an attribute is bound to."""

    value: ast.expr | None
    """None for what no plain assignment binds: a loop's variable, a part of a tuple, an import."""
    frame: Frame
    """Where it stands, one hop or step on; where the name is read, if there is no expression."""
    default: bool = False
    """Whether it is the default of a parameter that nothing rebinds: a caller may give something else."""


def name_bound_to(values: Values, name: str, frame: Frame) -> Iterator[Bound]:
    """What a name is bound to that may hold at a place, in this function or the next one around that binds it."""
    body = values.body(frame.path)
    scope, at = frame.function, frame.at
    while body is not None and scope >= 0:
        reaching = body.reaching(scope, name, at)
        if reaching is not None:
            for d in reaching:
                plain = d.value if d.how == "assign" else None
                yield Bound(plain, frame if plain is None else _place(frame, scope, body.at(plain)))
            return
        default = default_of(body.functions.get(scope), name)
        if default is not None:
            yield Bound(default, frame.hop(frame.path, scope, frame.at), default=True)
            return
        scope, at = values.index.outlines[frame.path].functions[scope].parent, END_OF_FILE


def _place(frame: Frame, scope: int, at: Position) -> Frame:
    return frame.back(at) if scope == frame.function else frame.hop(frame.path, scope, at)


def attribute_bound_to(values: Values, owner: Thing, name: str, frame: Frame) -> Iterator[Bound]:
    """What the methods of an object's class, and of its bases, set one of its attributes to: `self.name = ...`."""
    for cls in values.index.ancestry(owner):
        body = values.body(cls.path) if cls.kind == "class" else None
        if body is None:
            continue
        for method, expression, _ in setters(values, cls, name):
            yield Bound(expression, frame.hop(cls.path, method, body.at(expression)))
