"""Classes that are no modules and have a `register_buffer` of their own: it keeps what it is given, moved perhaps.

    class Sampler:
        def register_buffer(self, name, attr):
            if type(attr) == torch.Tensor:
                attr = attr.to(torch.device("cuda"))
            setattr(self, name, attr)                  # an array stays one

        def make_schedule(self):
            self.register_buffer("alphas", self.model.alphas)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import by_place
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_NAME = "register_buffer"
_OF_SETATTR = 3
"""Arguments."""


def own_register(values: Values, cls: Thing) -> FunctionKey | None:
    """The method of a class's own that sets an attribute by a name that it is given; None where torch's registers."""
    found = values.index.method(cls, _NAME)
    return found if found is not None and list(_kept(values, found)) else None


def as_kept(values: Values, register: FunctionKey, value: Value) -> Value:
    """What such a method keeps of a value: a tensor may be moved."""
    body, given = values.body(register.path), by_place(values.index.function(register))[1]
    if body is None or value.kind != "tensor":
        return value
    bound = [d.value for d in body.definitions(register.index).get(given, ())]
    for made in (*bound, *_kept(values, register)):
        if isinstance(made, ast.Call) and chain(made.func) in (f"{given}.to", f"{given}.cuda"):
            where, frame = moved_to(made), Frame(register.path, register.index, body.at(made))
            there = DEVICE if where is None else device_of(values, where, frame) or ANYWHERE
            return value._replace(device=there)
    return value


def _kept(values: Values, register: FunctionKey) -> Iterator[ast.expr]:
    """What a method sets attributes to that are named by its first parameter."""
    body, names = values.body(register.path), by_place(values.index.function(register))
    if body is None or len(names) < len(("name", "value")):
        return
    for statement in body.statements(register.index):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or chain(call.func) != "setattr" or len(call.args) != _OF_SETATTR:
            continue
        if [chain(argument) for argument in call.args[:2]] == ["self", names[0]]:
            yield call.args[2]
